/*
 * Threads come and go while we attach. A thread that shows up in a later scan was either
 * created by a thread that had its event already: then it inherited one, and the kernel wrote a
 * FORK record into our rings; or by one that had none yet: then it needs its own. So each scan
 * reads the FORK records first, and attaches what is neither attached nor forked, until a scan
 * finds nothing new.
 */
#include "session/attach.h"

#include "abi/perf_abi.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "wick/record.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { SCANS_MAX = 64 };

/* Thread numbers that are covered: attached, or seen in a FORK record. */
struct tid_set {
	struct hash_index index;
};

static bool tid_has(const struct tid_set *set, int32_t tid)
{
	struct hash_probe probe = hash_probe(&set->index, hash_u64((uint32_t)tid));
	uint32_t id;

	while (hash_next(&set->index, &probe, &id))
		if (id == (uint32_t)tid)
			return true;
	return false;
}

static int tid_put(struct tid_set *set, int32_t tid)
{
	return tid_has(set, tid)
		       ? 0
		       : hash_add(&set->index, hash_u64((uint32_t)tid), (uint32_t)tid);
}

static void tid_set_done(struct tid_set *set)
{
	hash_done(&set->index);
}

/* Looks through what is in the rings, and leaves it there for the recording. */
static int read_forks(struct capture *capture, struct tid_set *covered)
{
	int rc = 0;

	for (uint32_t r = 0; r < capture_ring_count(capture); r++) {
		struct perf_ringbuf *ring = capture_ring(capture, r);
		const void *bytes;
		int size;

		perf_ringbuf_fetch(ring);
		while (rc == 0 && (size = perf_ringbuf_peek(ring, &bytes)) > 0) {
			struct wick_record record;

			if (((const struct perf_event_header *)bytes)->type ==
					PERF_RECORD_FORK &&
				wick_record_decode(capture_layout(capture), bytes, (size_t)size,
					&record) > 0)
				rc = tid_put(covered, (int32_t)record.task.tid);
			perf_ringbuf_next(ring);
		}
		perf_ringbuf_rewind(ring);
	}
	return rc;
}

/* Attaches what a scan found. Returns how many threads were new, attached or not. */
static int scan_attach(struct capture *capture, const struct pid_list *tids,
	struct tid_set *covered, int *attached, struct error *err)
{
	int fresh = 0;

	for (uint32_t i = 0; i < tids->count; i++) {
		int rc;

		if (tid_has(covered, tids->pids[i]))
			continue;
		fresh++;
		rc = capture_attach(capture, tids->pids[i], err);
		if (rc < 0 && rc != -ESRCH)
			return rc;
		*attached += rc == 0;
		if (tid_put(covered, tids->pids[i]) < 0)
			return error_set(err, -ENOMEM, "out of memory while attaching");
	}
	return fresh;
}

/* Puts whom it was about before the sentence of whoever found the fault. */
static int attach_failed(const char *what, int32_t id, int code, struct error *err)
{
	struct error cause = err ? *err : (struct error){.text = ""};

	return error_set(err, code, "%s %d: %.400s", what, id, cause.text);
}

int attach_process(
	struct capture *capture, const struct proc *proc, int32_t pid, struct error *err)
{
	cleanup_with(tid_set_done) struct tid_set covered = {{0}};
	int attached = 0;

	for (int scan = 0; scan < SCANS_MAX; scan++) {
		cleanup_with(pid_list_done) struct pid_list tids = {0};
		int rc = proc_tasks(proc, pid, &tids);

		if (rc == -ESRCH && scan)
			break;
		if (rc == -ESRCH)
			return error_set(
				err, rc, "process %d: there is none (it may have ended)", pid);
		if (rc < 0)
			return error_set(err, rc,
				"process %d: its threads cannot be listed: %s", pid,
				strerror(-rc));
		if (scan) /* a thread is listed a moment before its FORK record is written */
			nanosleep(&(struct timespec){.tv_nsec = 1000 * 1000}, NULL);
		rc = read_forks(capture, &covered);
		if (rc < 0)
			return error_set(err, rc, "out of memory while attaching");
		rc = scan_attach(capture, &tids, &covered, &attached, err);
		if (rc < 0)
			return attach_failed("process", pid, rc, err);
		if (!rc)
			break;
	}
	return attached;
}

int attach_thread(struct capture *capture, int32_t tid, struct error *err)
{
	int rc = capture_attach(capture, tid, err);

	if (rc == -ESRCH)
		return error_set(err, rc, "thread %d: there is none (it may have ended)", tid);
	return rc < 0 ? attach_failed("thread", tid, rc, err) : rc;
}
