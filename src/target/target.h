/*
 * What ran: processes, threads, and who has what mapped, as tables that follow the records.
 *
 * The caller applies events in the order of their time (src/record merges them), so the tables
 * are always "now" and no history is kept: a sample is looked up between the events around it.
 * Pure: knows no process but by number, reads nothing, keeps what it is told.
 *
 *     process --> maps (sorted, disjoint mappings; shared by forked children until one changes)
 *        ^            `-> dso (a file, the kernel, the vdso, anonymous memory)
 *     thread
 *
 * All ids are dense u32s; TARGET_NONE is no id. A dead process or thread stays where it is,
 * maps and all, for the records that come a little late, until its number is given to another
 * or TARGET_DEAD_LIMIT others have died since. Then its slot is used again, so the tables do
 * not grow with the length of a recording. An id that is kept longer must be kept with `birth`,
 * which no two lives of a slot share. The ids of dsos and strings are valid until
 * target_done().
 *
 * One thread at a time; only target_find() and target_find_kernel() may run in several while no
 * event is applied.
 */
#pragma once

#include "base/hash.h"
#include "base/strings.h"

#include <stdbool.h>
#include <stdint.h>

#define TARGET_NONE UINT32_MAX

enum {
	TARGET_MAPPINGS_LIMIT = 1 << 20,  /* of one process */
	TARGET_PROCESSES_LIMIT = 1 << 22, /* the kernel's PID_MAX_LIMIT; threads, too */
	TARGET_DSOS_LIMIT = 1 << 20,
	TARGET_DEAD_LIMIT = 1024,
	TARGET_BUILD_ID_MAX = 20,
};

enum dso_kind {
	DSO_FILE,    /* an ELF file (or another file that is mapped executable) */
	DSO_KERNEL,  /* [kernel.kallsyms] */
	DSO_KMODULE, /* [ext4]: a loaded module, mapped at its run-time address */
	DSO_VDSO,    /* [vdso] */
	DSO_ANON,    /* //anon, [heap], [stack], /memfd: without an ELF, /dev/zero: JIT code */
};

/*
 * What makes a dso itself: two records with equal keys name the same object. An ino_generation
 * of 0
 * (/proc does not tell it) equals every other, and is replaced by the first that is told.
 */
struct dso_key {
	enum dso_kind kind;
	uint32_t path;	   /* id in target.strings */
	uint32_t maj, min; /* 0 where a build id was given in place of the inode */
	uint64_t ino, ino_generation;
	uint8_t build_id[TARGET_BUILD_ID_MAX];
	uint8_t build_id_bytes;
	uint32_t anon_pid; /* DSO_ANON: the process, since its code is its own; else 0 */
};

struct dso {
	struct dso_key key;
	/*
	 * The first mapping seen whose process is not known to be dead: where a live process
	 * shows the file (/proc/PID/map_files).
	 */
	uint32_t pid;
	uint64_t map_start, map_end;
	uint64_t reloc; /* DSO_KERNEL: the run-time address of _stext when recorded, or 0 */
};

/* [start, end) of run-time addresses; file offset = addr - start + pgoff. */
struct mapping {
	uint64_t start, end, pgoff;
	uint32_t dso;
	uint32_t prot; /* PROT_*, 0 where the record does not say */
};

enum { MAPS_HINT_BITS = 8, MAPS_HINTS = 1 << MAPS_HINT_BITS };

/* Sorted by start, disjoint. Shared between processes: change only through target_map(). */
struct maps {
	uint32_t refs, count;
	struct mapping *at;
	/* the room's own */
	struct mapping *block;	    /* what `at` points into, with room at both ends */
	uint32_t cap;		    /* of the block */
	uint32_t hints[MAPS_HINTS]; /* where an address was last found; checked, may be wrong */
};

struct process {
	int32_t pid;
	int32_t ppid;	   /* who forked it; 0: not known */
	uint32_t comm;	   /* string of the main thread */
	struct maps *maps; /* NULL: none */
	bool alive;
	bool known;	/* its maps were told from its beginning, or read from /proc (the reader
			   sets it) */
	uint32_t birth; /* of this life of the slot; never 0 */
	uint32_t generation; /* new with every change of its maps, unique in the target: tags
				caches */
	/* the room's own */
	uint32_t live_threads, first_thread; /* the list holds the remembered dead, too */
	uint32_t next_free, died;
};

struct thread {
	int32_t tid;
	uint32_t process;
	uint32_t comm;
	bool alive;
	uint32_t birth;
	/* the room's own */
	uint32_t next, prev; /* in the list of its process */
	uint32_t next_free, died;
};

/* The last TARGET_DEAD_LIMIT burials; an entry counts while the slot still has that `died`. */
struct graveyard {
	struct grave {
		uint32_t id, died;
	} * at; /* a ring */
	uint32_t next;
};

struct target {
	struct strings strings;
	struct process *processes;
	uint32_t process_count, process_cap;
	struct thread *threads;
	uint32_t thread_count, thread_cap;
	struct dso *dsos;
	uint32_t dso_count, dso_cap;
	struct hash_index by_pid, by_tid, by_dso; /* the living and the remembered dead */
	struct maps *kernel; /* the kernel's and its modules' mappings, for all processes */
	uint32_t kernel_generation; /* new with every change of them */
	uint64_t
		refused; /* events dropped: a table was full, memory out, or the event absurd */
	/* the room's own */
	struct graveyard dead_processes, dead_threads;
	uint32_t free_process_plus_1, free_thread_plus_1; /* 0: none */
	uint32_t serial; /* the last birth, death or generation */
};

/* A zeroed struct is a valid empty target. */
void target_done(struct target *target);

/*
 * The process or thread with that number, also when it is dead and still remembered; made when
 * it is not there (a process: known = false, comm "", or "swapper" for 0; a thread: named as
 * its process). TARGET_NONE when memory is out (counted in `refused`). target_thread() also
 * moves a thread that was believed in another process (numbers are reused), and a thread that
 * nobody knew brings a dead process back: it was not the last one that died.
 */
uint32_t target_process(struct target *target, int32_t pid);
uint32_t target_thread(struct target *target, int32_t pid, int32_t tid);

/*
 * Events, applied in the order of their time. 0, -ENOMEM, -ENOSPC, and -EINVAL for a mapping
 * whose end is not above its start or whose dso does not exist (all counted in `refused`).
 *
 * fork: pid == ppid is a new thread, else a new process that shares its parent's maps (and is
 *       known when the parent is); one of that number that was believed alive is forgotten.
 *       The new thread inherits the name of `ptid`.
 * exit: the thread is dead; the process when its last thread is. Nothing when it is not known.
 * comm: renames; with `exec` the process also loses its maps and its other threads, and is
 * known. map:  replaces what it overlaps: head and tail of an older mapping stay, as mmap()
 * leaves them. pid -1 is the kernel.
 */
int target_fork(struct target *target, int32_t ppid, int32_t ptid, int32_t pid, int32_t tid);
int target_exit(struct target *target, int32_t pid, int32_t tid);
int target_comm(struct target *target, int32_t pid, int32_t tid, const char *comm, bool exec);
int target_map(struct target *target, int32_t pid, const struct mapping *mapping);

/* The dso with that key; made when it is not there. 0 or -ENOMEM, -ENOSPC. */
int target_dso(struct target *target, const struct dso_key *key, uint32_t *ret_dso);

/*
 * DSO_* by the name that a mapping record carries: "[kernel.kallsyms]_text", "[vdso]",
 * "//anon".
 * "/memfd:x" is DSO_ANON by its name alone; one that has a build id is an ELF file: DSO_FILE.
 */
enum dso_kind dso_kind_of(const char *filename, bool in_kernel);

/*
 * The mapping that holds a user (kernel) address; NULL: none. Valid until the next event. A few
 * ns: no lock, no allocation; the hint it leaves in the maps is a relaxed atomic.
 */
const struct mapping *target_find(const struct target *target, uint32_t process, uint64_t addr);
const struct mapping *target_find_kernel(const struct target *target, uint64_t addr);

/* Removes everything from the maps of a process, for a fresh reading of /proc or after exec. */
void target_unmap_all(struct target *target, uint32_t process);
