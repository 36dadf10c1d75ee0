/*
 * Processes and threads as two arrays, each with an index by number, a chain of free slots, and
 * a graveyard: a ring of the last TARGET_DEAD_LIMIT deaths.
 *
 *     free --made--> alive --exit--> remembered --number reused, or pushed out of the ring-->
 * free ^                  |
 *                      `--exec, or a thread that nobody knew turns up
 *
 * A remembered one is in its index as if it lived, so late records find it by the same look-up.
 * A grave says which death it stands for (`died`); one that came back to life or whose slot was
 * freed has another number there by now, and the grave is passed over.
 *
 * A thread is in the list of its process until its slot is free. Freeing leaves `next` as it
 * was: a walk through the list survives it, since nothing is made meanwhile.
 *
 * Everything is addressed by id: making a process or a thread may move the arrays.
 */
#include "target/target.h"

#include "base/array.h"
#include "target/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void target_done(struct target *target)
{
	for (uint32_t i = 0; i < target->process_count; i++)
		maps_put(target->processes[i].maps);
	maps_put(target->kernel);
	free(target->processes);
	free(target->threads);
	free(target->dsos);
	free(target->dead_processes.at);
	free(target->dead_threads.at);
	hash_done(&target->by_pid);
	hash_done(&target->by_tid);
	hash_done(&target->by_dso);
	strings_done(&target->strings);
	*target = (struct target){0};
}

static uint32_t next_serial(struct target *target)
{
	return ++target->serial ? target->serial : ++target->serial;
}

static uint32_t number_hash(int32_t number)
{
	return hash_u64((uint32_t)number);
}

static uint32_t find_process(const struct target *target, int32_t pid)
{
	struct hash_probe probe = hash_probe(&target->by_pid, number_hash(pid));
	uint32_t id;

	while (hash_next(&target->by_pid, &probe, &id)) {
		if (target->processes[id].pid == pid)
			return id;
	}
	return TARGET_NONE;
}

static uint32_t find_thread(const struct target *target, int32_t tid)
{
	struct hash_probe probe = hash_probe(&target->by_tid, number_hash(tid));
	uint32_t id;

	while (hash_next(&target->by_tid, &probe, &id)) {
		if (target->threads[id].tid == tid)
			return id;
	}
	return TARGET_NONE;
}

/* ---- graves */

/* Before anything lives: the dead must be remembered, or late records would lose their names.
 */
static bool graves_ready(struct graveyard *yard)
{
	if (!yard->at)
		yard->at = calloc(TARGET_DEAD_LIMIT, sizeof(*yard->at));
	return yard->at != NULL;
}

/* Writes a death down and says which one is forgotten for it: its id, or TARGET_NONE. */
static struct grave bury(struct graveyard *yard, uint32_t id, uint32_t died)
{
	struct grave oldest = {TARGET_NONE, 0};

	if (yard->at[yard->next].died)
		oldest = yard->at[yard->next];
	yard->at[yard->next] = (struct grave){id, died};
	yard->next = (yard->next + 1) % TARGET_DEAD_LIMIT;
	return oldest;
}

static void thread_free(struct target *target, uint32_t id)
{
	struct thread *thread = &target->threads[id];
	struct process *process = &target->processes[thread->process];

	if (thread->alive)
		process->live_threads--;
	if (thread->prev == TARGET_NONE)
		process->first_thread = thread->next;
	else
		target->threads[thread->prev].next = thread->next;
	if (thread->next != TARGET_NONE)
		target->threads[thread->next].prev = thread->prev;
	hash_remove(&target->by_tid, number_hash(thread->tid), id);
	thread->alive = false;
	thread->died = 0;
	thread->next_free = target->free_thread_plus_1;
	target->free_thread_plus_1 = id + 1;
}

static void process_free(struct target *target, uint32_t id)
{
	struct process *process = &target->processes[id];

	for (uint32_t t = process->first_thread; t != TARGET_NONE; t = target->threads[t].next)
		thread_free(target, t);
	hash_remove(&target->by_pid, number_hash(process->pid), id);
	maps_put(process->maps);
	process->maps = NULL;
	process->alive = false;
	process->died = 0;
	process->next_free = target->free_process_plus_1;
	target->free_process_plus_1 = id + 1;
}

static void process_die(struct target *target, uint32_t id)
{
	struct process *process = &target->processes[id];
	struct grave forget;

	process->alive = false;
	process->died = next_serial(target);
	forget = bury(&target->dead_processes, id, process->died);
	if (forget.id != TARGET_NONE && target->processes[forget.id].died == forget.died)
		process_free(target, forget.id);
}

/* The thread only; what it means for its process is the caller's. */
static void thread_die(struct target *target, uint32_t id)
{
	struct thread *thread = &target->threads[id];
	struct grave forget;

	thread->alive = false;
	thread->died = next_serial(target);
	target->processes[thread->process].live_threads--;
	forget = bury(&target->dead_threads, id, thread->died);
	if (forget.id != TARGET_NONE && target->threads[forget.id].died == forget.died)
		thread_free(target, forget.id);
}

/* ---- births */

static uint32_t process_new(struct target *target, int32_t pid)
{
	uint32_t id = target->free_process_plus_1 - 1;
	bool reuse = target->free_process_plus_1;
	struct process *process;

	if (!graves_ready(&target->dead_processes) || !graves_ready(&target->dead_threads))
		return TARGET_NONE;
	if (!reuse) {
		id = target->process_count;
		if (array_reserve(&target->processes, &target->process_cap, (uint64_t)id + 1,
			    sizeof(*process), TARGET_PROCESSES_LIMIT) < 0)
			return TARGET_NONE;
	}
	if (hash_add(&target->by_pid, number_hash(pid), id) < 0)
		return TARGET_NONE;
	process = &target->processes[id];
	if (reuse)
		target->free_process_plus_1 = process->next_free;
	else
		target->process_count++;
	*process = (struct process){
		.pid = pid,
		.alive = true,
		.birth = next_serial(target),
		.first_thread = TARGET_NONE,
	};
	process->generation = next_serial(target);
	return id;
}

static uint32_t thread_new(struct target *target, uint32_t process, int32_t tid, uint32_t comm)
{
	uint32_t id = target->free_thread_plus_1 - 1;
	bool reuse = target->free_thread_plus_1;
	struct process *home = &target->processes[process];
	struct thread *thread;

	if (!reuse) {
		id = target->thread_count;
		if (array_reserve(&target->threads, &target->thread_cap, (uint64_t)id + 1,
			    sizeof(*thread), TARGET_PROCESSES_LIMIT) < 0)
			return TARGET_NONE;
	}
	if (hash_add(&target->by_tid, number_hash(tid), id) < 0)
		return TARGET_NONE;
	thread = &target->threads[id];
	if (reuse)
		target->free_thread_plus_1 = thread->next_free;
	else
		target->thread_count++;
	*thread = (struct thread){
		.tid = tid,
		.process = process,
		.comm = comm,
		.alive = true,
		.birth = next_serial(target),
		.next = home->first_thread,
		.prev = TARGET_NONE,
	};
	if (thread->next != TARGET_NONE)
		target->threads[thread->next].prev = id;
	home->first_thread = id;
	home->live_threads++;
	home->alive = true;
	home->died = 0;
	return id;
}

/* Makes the number `tid` free: its thread, dead or alive, is another one than the one to come.
 */
static void forget_thread(struct target *target, uint32_t id)
{
	uint32_t process = target->threads[id].process;
	bool was_alive = target->threads[id].alive;

	thread_free(target, id);
	if (was_alive && !target->processes[process].live_threads)
		process_die(target, process);
}

static int refuse(struct target *target, int code)
{
	target->refused++;
	return code;
}

uint32_t target_process(struct target *target, int32_t pid)
{
	uint32_t id = find_process(target, pid);

	if (id != TARGET_NONE)
		return id;
	id = process_new(target, pid);
	if (id == TARGET_NONE)
		refuse(target, -ENOMEM);
	/* The idle tasks of all CPUs; no record and no /proc names them. */
	else if (!pid &&
		 strings_add(&target->strings, "swapper", 7, &target->processes[id].comm) < 0)
		target->refused++;
	return id;
}

uint32_t target_thread(struct target *target, int32_t pid, int32_t tid)
{
	uint32_t id = find_thread(target, tid), process;

	if (id != TARGET_NONE) {
		if (target->processes[target->threads[id].process].pid == pid)
			return id;
		forget_thread(target, id);
	}
	process = target_process(target, pid);
	if (process == TARGET_NONE)
		return TARGET_NONE;
	id = thread_new(target, process, tid, target->processes[process].comm);
	if (id == TARGET_NONE)
		refuse(target, -ENOMEM);
	return id;
}

/* ---- events */

/* What a new task has from the one that forked it; `maps` is a reference of its own. */
struct heritage {
	uint32_t comm;
	struct maps *maps;
	bool known;
};

static struct heritage heritage_of(const struct target *target, int32_t ppid, int32_t ptid)
{
	uint32_t process = find_process(target, ppid), thread = find_thread(target, ptid);
	struct heritage heritage = {0};

	if (process == TARGET_NONE)
		return heritage;
	heritage.comm = target->processes[process].comm;
	heritage.known = target->processes[process].known;
	heritage.maps = maps_get(target->processes[process].maps);
	if (thread != TARGET_NONE && target->threads[thread].process == process)
		heritage.comm = target->threads[thread].comm;
	return heritage;
}

static int fork_process(struct target *target, int32_t ppid, int32_t pid, struct heritage *from)
{
	uint32_t id = find_process(target, pid);

	if (id != TARGET_NONE)
		process_free(target, id);
	id = process_new(target, pid);
	if (id == TARGET_NONE)
		return -ENOMEM;
	target->processes[id].ppid = ppid;
	target->processes[id].comm = from->comm;
	target->processes[id].known = from->known;
	target->processes[id].maps = from->maps;
	from->maps = NULL;
	return 0;
}

int target_fork(struct target *target, int32_t ppid, int32_t ptid, int32_t pid, int32_t tid)
{
	struct heritage from = heritage_of(target, ppid, ptid);
	uint32_t thread = find_thread(target, tid), process;
	int rc = 0;

	if (thread != TARGET_NONE && pid == ppid && target->threads[thread].alive &&
		target->processes[target->threads[thread].process].pid == pid)
		goto out; /* /proc told of it before */
	if (thread != TARGET_NONE)
		forget_thread(target, thread);
	if (pid != ppid)
		rc = fork_process(target, ppid, pid, &from);
	process = rc < 0 ? TARGET_NONE : target_process(target, pid);
	if (process == TARGET_NONE ||
		thread_new(target, process, tid, from.comm) == TARGET_NONE)
		rc = refuse(target, -ENOMEM);
out:
	maps_put(from.maps);
	return rc;
}

int target_exit(struct target *target, int32_t pid, int32_t tid)
{
	uint32_t process = find_process(target, pid), thread = find_thread(target, tid);

	if (process == TARGET_NONE || !target->processes[process].alive)
		return 0;
	if (thread != TARGET_NONE && target->threads[thread].process == process &&
		target->threads[thread].alive)
		thread_die(target, thread);
	if (!target->processes[process].live_threads)
		process_die(target, process);
	return 0;
}

static void drop_maps(struct target *target, uint32_t id)
{
	struct process *process = &target->processes[id];

	maps_put(process->maps);
	process->maps = NULL;
	process->generation = next_serial(target);
}

/* The thread goes on alone, in a process without mappings. */
static void exec_thread(struct target *target, uint32_t id)
{
	struct thread *thread = &target->threads[id];
	struct process *process = &target->processes[thread->process];

	if (!thread->alive)
		process->live_threads++; /* the leader may have ended before another one execs
					  */
	thread->alive = process->alive = true;
	thread->died = process->died = 0;
	for (uint32_t t = process->first_thread; t != TARGET_NONE;
		t = target->threads[t].next) {
		if (t != id && target->threads[t].alive)
			thread_die(target, t);
	}
	process->known = true;
	drop_maps(target, thread->process);
}

int target_comm(struct target *target, int32_t pid, int32_t tid, const char *comm, bool exec)
{
	uint32_t name, thread;
	int rc = strings_add(&target->strings, comm, strlen(comm), &name);

	if (rc < 0)
		return refuse(target, rc);
	thread = target_thread(target, pid, tid);
	if (thread == TARGET_NONE)
		return -ENOMEM;
	target->threads[thread].comm = name;
	if (tid == pid)
		target->processes[target->threads[thread].process].comm = name;
	if (exec)
		exec_thread(target, thread);
	return 0;
}

/* Where the file can be seen while a process has it mapped. */
static void remember_place(struct target *target, int32_t pid, const struct mapping *mapping)
{
	struct dso *dso = &target->dsos[mapping->dso];
	uint32_t process = dso->map_end ? find_process(target, (int32_t)dso->pid) : TARGET_NONE;

	if (process != TARGET_NONE && target->processes[process].alive)
		return;
	dso->pid = (uint32_t)pid;
	dso->map_start = mapping->start;
	dso->map_end = mapping->end;
}

int target_map(struct target *target, int32_t pid, const struct mapping *mapping)
{
	struct maps **maps = &target->kernel;
	uint32_t process = TARGET_NONE;
	int rc;

	if (mapping->start >= mapping->end || mapping->dso >= target->dso_count)
		return refuse(target, -EINVAL);
	if (pid != -1) {
		process = target_process(target, pid);
		if (process == TARGET_NONE)
			return -ENOMEM;
		maps = &target->processes[process].maps;
	}
	rc = maps_insert(maps, mapping);
	if (rc < 0)
		return refuse(target, rc);
	if (process != TARGET_NONE)
		target->processes[process].generation = next_serial(target);
	else
		target->kernel_generation = next_serial(target);
	remember_place(target, pid, mapping);
	return 0;
}

void target_unmap_all(struct target *target, uint32_t process)
{
	if (process < target->process_count)
		drop_maps(target, process);
}

const struct mapping *target_find(const struct target *target, uint32_t process, uint64_t addr)
{
	return process < target->process_count
		       ? maps_find(target->processes[process].maps, addr)
		       : NULL;
}

const struct mapping *target_find_kernel(const struct target *target, uint64_t addr)
{
	return maps_find(target->kernel, addr);
}
