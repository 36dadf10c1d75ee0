/* Who a process is: what it calls itself, whose it is, since when it has been there. */
#pragma once

#include <stdint.h>

struct proc_identity {
	int32_t own_pid; /* in the innermost pid namespace: what it knows itself */
	uint32_t uid;	 /* its effective user */
	/* CLOCK_REALTIME, as well as the kernel's ticks and the clock's steps let it be; 0: not
	 * known. An exec leaves it. */
	uint64_t started_ns;
};

/* `proc_root`: a descriptor of /proc. 0, or -ESRCH: it is gone. */
int proc_identity_read(int proc_root, int32_t pid, struct proc_identity *ret_identity);
