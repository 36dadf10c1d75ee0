/*
 * At 997 Hz:    24 KiB a sample:  8 MiB hold 340 ms      (the default)
 *               62 KiB            32 MiB     540 ms      nothing can be read late
 * At 10 kHz:    24 KiB            32 MiB     136 ms
 *                                  4 MiB      17 ms ->   4 KiB, 93 ms: an ordinary user's
 */
#include "session/copies.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	WANTED_MS = 300, /* a ring of our own choice holds so much, if it may be so large */
	LEAST_MS = 100,	 /* and no ring less, as far as that is possible */
	RING_MOST = 32 << 20,
	RECORD_BESIDES = 512,  /* bytes of a sample without its stack */
	SMALL = 4 << 10,       /* nothing is smaller for the sake of time alone */
	SMALL_ALONE = 8 << 10, /* where nothing is read late */
	SAMPLES_A_RING = 16,
	WATCHED = 512,	   /* stacks, of which */
	MUCH_PERMILLE = 5, /* are too many to lose */
	MUCH_AT_ONCE = 16, /* and so many need no further proof */
};

/* Address 0 is nobody's: EFAULT tells that reading would be permitted. */
static int try_read(int32_t pid)
{
	char byte;
	struct iovec local = {&byte, 1}, remote = {NULL, 1};

	if (process_vm_readv(pid, &local, 1, &remote, 1, 0) >= 0)
		return 0;
	return errno == EPERM || errno == ENOSYS ? -errno : 0;
}

/* May this process read those of others? */
static bool may_read_others(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};

	return syscall(SYS_capget, &header, data) < 0 ||
	       (data[0].effective >> CAP_SYS_PTRACE & 1);
}

int copies_late_refused(const struct record_options *options, int32_t *ret_pid)
{
	int rc = try_read(getpid()); /* a seccomp filter, or a kernel without the call */

	*ret_pid = rc < 0 ? -1 : 0;
	if (rc == 0 && !options->command && !options->pid_count && !options->tid_count)
		return may_read_others() ? 0 : -EPERM;
	for (uint32_t i = 0; rc == 0 && i < options->pid_count; i++)
		if ((rc = try_read(options->pids[i])) < 0)
			*ret_pid = options->pids[i];
	for (uint32_t i = 0; rc == 0 && i < options->tid_count; i++)
		if ((rc = try_read(options->tids[i])) < 0)
			*ret_pid = options->tids[i];
	return rc;
}

/* A ring that the user made small still holds some samples. */
static uint32_t fit_samples(uint32_t pages, uint32_t bytes)
{
	uint64_t most = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) / SAMPLES_A_RING;

	if (bytes <= most)
		return bytes;
	return most < COPY_LEAST ? COPY_LEAST : (uint32_t)most / 8 * 8;
}

uint32_t copies_first(const struct record_options *options, bool late_refused)
{
	uint32_t bytes = late_refused ? COPY_LARGE : RECORD_STACK_BYTES;

	if (options->stack_bytes)
		return options->stack_bytes;
	return options->pages ? fit_samples(options->pages, bytes) : bytes;
}

uint32_t copies_fit(size_t ring_bytes, uint64_t hz, uint32_t bytes, bool late_refused)
{
	uint32_t least = late_refused ? SMALL_ALONE : SMALL;
	uint64_t most = hz ? ring_bytes * 1000 / LEAST_MS / hz : UINT64_MAX;

	most = most > RECORD_BESIDES ? (most - RECORD_BESIDES) / 1024 * 1024 : 0;
	if (bytes <= most || bytes <= least)
		return bytes;
	return most < least ? least : (uint32_t)most;
}

size_t copies_ring_bytes(uint64_t hz, uint32_t bytes, size_t least)
{
	uint64_t want = hz * (bytes + RECORD_BESIDES) / 1000 * WANTED_MS;
	size_t ring = least;

	while (ring < want && ring < RING_MOST)
		ring *= 2;
	return ring;
}

bool copies_run_out(struct copies_watch *watch, uint64_t seen, uint64_t ran_out)
{
	uint64_t stacks = seen - watch->seen, out = ran_out - watch->ran_out;

	if (out < MUCH_AT_ONCE && stacks < WATCHED)
		return false;
	*watch = (struct copies_watch){seen, ran_out};
	return out >= MUCH_AT_ONCE || out * 1000 >= stacks * MUCH_PERMILLE;
}
