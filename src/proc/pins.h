/*
 * Files behind mappings, held open while they are mapped: a short-lived process, a package
 * upgrade or another mount namespace then takes nothing away.
 */
#pragma once

#include "base/hash.h"
#include "proc/proc.h"

/* How sure it is that a descriptor shows the file that was mapped. */
enum pin_trust {
	PIN_MAPPED, /* by /proc/PID/map_files (needs privilege) or /proc/PID/exe: the very file
		     */
	PIN_INODE,  /* by its path, and the inode is the one in the record */
	PIN_NAME,   /* by its path alone: nothing was known to compare; compare the build id */
};

struct pin_request {
	int32_t pid;
	uint64_t start, end; /* of the mapping as it is now */
	const char *path;    /* as mapped */
	uint64_t ino;	     /* 0: not known */
};

/*
 * Opens the file behind a mapping: map_files, else exe, else the path below /proc/PID/root
 * (never leaving it), else the path here. Only regular files are ever opened, so it cannot hang
 * on a FIFO or wake a device. The fd (O_RDONLY, close on exec) is the caller's. 0; -ESTALE:
 * there is a file of that name, but with another inode; else the error of the last attempt,
 * -ENOENT mostly.
 */
int pin_open(const struct proc *proc, const struct pin_request *request, int *ret_fd,
	enum pin_trust *ret_trust);

/* Descriptors by dso id. Nothing is ever thrown out: what came first was sampled first. */
struct pins {
	struct hash_index by_dso;
	struct pin {
		uint32_t dso;
		int fd;
		enum pin_trust trust;
	} * at;
	uint32_t count, cap;
	uint32_t limit; /* 0: nothing fits */
};

/* At most `most` descriptors, and at most a quarter of RLIMIT_NOFILE's soft limit. */
void pins_init(struct pins *pins, uint32_t most);
void pins_done(struct pins *pins); /* closes all */

/* Takes the fd over. 0; -EEXIST, -ENOSPC, -ENOMEM: it stays the caller's. */
int pins_add(struct pins *pins, uint32_t dso, int fd, enum pin_trust trust);

/* The fd of a dso, which stays the table's, or -1. `ret_trust` may be NULL. */
int pins_fd(const struct pins *pins, uint32_t dso, enum pin_trust *ret_trust);
