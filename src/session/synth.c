/*
 * Each record is filled as a struct, encoded by the layout of the recording's first event and
 * handed on as bytes: from there on it is like any other.
 */
#include "session/synth.h"

#include "abi/perf_abi.h"
#include "base/cleanup.h"
#include "object/elf.h"
#include "proc/facts.h"
#include "proc/pins.h"
#include "record/encode.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum { RECORD_CAP = 8192 };

struct synth_call {
	const struct synth *synth;
	int32_t pid;
	uint64_t time_ns;
};

static int synth_emit(const struct synth_call *call, int32_t tid, struct wick_record *record)
{
	_Alignas(8) uint8_t buf[RECORD_CAP];
	int size;

	record->id = (struct wick_sample_id){.time = call->time_ns,
		.id = call->synth->event_id,
		.stream_id = call->synth->event_id,
		.pid = (uint32_t)call->pid,
		.tid = (uint32_t)tid};
	size = record_encode(call->synth->layout, record, buf, sizeof(buf));
	if (size < 0) /* a path that no record can hold */
		return 0;
	return call->synth->emit(call->synth->ctx, buf, (uint32_t)size);
}

static struct wick_name name_of(const char *text)
{
	return (struct wick_name){text, (uint32_t)strlen(text)};
}

/* Replaces the inode by the build id, where the file has one and is the one that is mapped. */
static void mmap_build_id(const struct synth_call *call, struct wick_record_mmap *mmap)
{
	struct pin_request request = {
		call->pid, mmap->addr, mmap->addr + mmap->len, mmap->filename.text, mmap->ino};
	cleanup_close int fd = -1;
	enum pin_trust trust;
	struct elf elf;

	if (!mmap->ino || pin_open(call->synth->proc, &request, &fd, &trust) < 0)
		return;
	if (elf_open_fd(fd, &elf, NULL) == 0 && elf.build_id_bytes) {
		memcpy(mmap->build_id, elf.build_id, sizeof(mmap->build_id));
		mmap->build_id_bytes = elf.build_id_bytes;
	}
	elf_close(&elf);
}

static int synth_mapping(void *ctx, const struct proc_mapping *mapping)
{
	const struct synth_call *call = ctx;
	struct wick_record record = {
		.type = PERF_RECORD_MMAP2,
		.misc = PERF_RECORD_MISC_USER,
		.mmap =
			{
				.pid = (uint32_t)call->pid,
				.tid = (uint32_t)call->pid,
				.addr = mapping->start,
				.len = mapping->end - mapping->start,
				.pgoff = mapping->pgoff,
				.maj = mapping->maj,
				.min = mapping->min,
				.ino = mapping->ino,
				.prot = mapping->prot,
				.flags = mapping->flags,
				.has_inode = true,
				.filename = name_of(mapping->path),
			},
	};

	if (call->synth->build_ids)
		mmap_build_id(call, &record.mmap);
	return synth_emit(call, call->pid, &record);
}

static int synth_comm(const struct synth_call *call, int32_t tid)
{
	char comm[PROC_COMM_MAX];
	struct wick_record record = {.type = PERF_RECORD_COMM};

	if (proc_comm(call->synth->proc, call->pid, tid, comm) < 0)
		return 0;
	record.comm.pid = (uint32_t)call->pid;
	record.comm.tid = (uint32_t)tid;
	record.comm.name = name_of(comm);
	return synth_emit(call, tid, &record);
}

int synth_name(const struct synth *synth, int32_t pid, const char *name)
{
	struct synth_call call = {synth, pid, 0};
	struct wick_record record = {.type = PERF_RECORD_COMM};

	record.comm.pid = record.comm.tid = (uint32_t)pid;
	record.comm.name = name_of(name);
	return synth_emit(&call, pid, &record);
}

static int synth_thread(const struct synth_call *call, int32_t tid)
{
	struct wick_record record = {.type = PERF_RECORD_FORK};
	int rc;

	record.task = (struct wick_record_task){(uint32_t)call->pid, (uint32_t)call->pid,
		(uint32_t)tid, (uint32_t)call->pid, call->time_ns};
	rc = synth_emit(call, tid, &record);
	return rc < 0 ? rc : synth_comm(call, tid);
}

int synth_process(const struct synth *synth, int32_t pid, uint64_t time_ns)
{
	struct synth_call call = {synth, pid, time_ns};
	cleanup_with(pid_list_done) struct pid_list tids = {0};
	int rc = synth_comm(&call, pid);

	if (rc == 0 && proc_tasks(synth->proc, pid, &tids) == 0)
		for (uint32_t i = 0; rc == 0 && i < tids.count; i++)
			if (tids.pids[i] != pid)
				rc = synth_thread(&call, tids.pids[i]);
	if (rc == 0)
		rc = proc_read_maps(synth->proc, pid, synth_mapping, &call);
	return rc == -ENOMEM ? rc : 0;
}

/* ---- the kernel */

struct kernel_call {
	struct synth_call call;
	uint64_t lowest_module;
};

static int kernel_record(const struct synth_call *call, const char *name, uint64_t start,
	uint64_t end, uint64_t pgoff, const uint8_t *build_id, int build_id_bytes)
{
	struct wick_record record = {
		.type = PERF_RECORD_MMAP2,
		.misc = PERF_RECORD_MISC_KERNEL,
		.mmap =
			{
				.pid = UINT32_MAX,
				.addr = start,
				.len = end - start,
				.pgoff = pgoff,
				.prot = PROT_READ | PROT_EXEC,
				.flags = MAP_PRIVATE,
				.has_inode = true,
				.filename = name_of(name),
			},
	};

	if (build_id_bytes > 0) {
		memcpy(record.mmap.build_id, build_id, (size_t)build_id_bytes);
		record.mmap.build_id_bytes = (uint8_t)build_id_bytes;
	}
	return synth_emit(call, 0, &record);
}

static int synth_module(void *ctx, const struct kernel_module *module)
{
	struct kernel_call *kernel = ctx;
	char name[128];

	if (!module->addr || !module->size)
		return 0;
	if (module->addr < kernel->lowest_module)
		kernel->lowest_module = module->addr;
	snprintf(name, sizeof(name), "[%.100s]", module->name);
	return kernel_record(
		&kernel->call, name, module->addr, module->addr + module->size, 0, NULL, 0);
}

int synth_kernel(const struct synth *synth)
{
	struct kernel_call kernel = {{synth, -1, 0}, UINT64_MAX};
	uint8_t build_id[KERNEL_BUILD_ID_MAX];
	struct kernel_text text;
	uint64_t end;
	int id_bytes, rc;

	if (kernel_text_read(synth->proc, &text) < 0 || !text.stext)
		return 0; /* hidden: kernel frames will have no names, and that is said */
	rc = kernel_modules_read(synth->proc, synth_module, &kernel);
	if (rc == -ENOMEM)
		return rc;
	id_bytes = kernel_build_id(synth->proc, build_id);
	/* Up to the modules, where they lie above; else the whole upper half. */
	end = kernel.lowest_module > text.stext ? kernel.lowest_module : UINT64_MAX;
	if (end == UINT64_MAX)
		end = 0xffffffffffff0000u;
	return kernel_record(&kernel.call, "[kernel.kallsyms]_stext", text.stext, end,
		text.stext, build_id, synth->build_ids ? id_bytes : 0);
}
