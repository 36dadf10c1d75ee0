/*
 * Each fact is one small file. Two are not small: /proc/kallsyms (ten megabytes, 40 ms of
 * kernel time) is read only as far as its first symbols, and /proc/modules is read whole.
 */
#include "proc/facts.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/fileio.h"
#include "proc/cpus.h"
#include "proc/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

enum {
	FILE_LIMIT = 16 * 1024 * 1024,
	KALLSYMS_BYTES = 1024 * 1024, /* _text is behind the per-CPU symbols, not further */
	KALLSYMS_AFTER = 4096,	      /* how far the second one may be behind the first */
};

/* ---- knobs */

static int64_t knob(const struct proc *proc, const char *name)
{
	int64_t value;

	return file_read_number(proc->root, name, &value) < 0 ? FACT_NONE : value;
}

void perf_limits_read(const struct proc *proc, struct perf_limits *ret_limits)
{
	*ret_limits = (struct perf_limits){
		.paranoid = knob(proc, "sys/kernel/perf_event_paranoid"),
		.mlock_kb = knob(proc, "sys/kernel/perf_event_mlock_kb"),
		.max_sample_rate = knob(proc, "sys/kernel/perf_event_max_sample_rate"),
		.max_stack = knob(proc, "sys/kernel/perf_event_max_stack"),
		.kptr_restrict = knob(proc, "sys/kernel/kptr_restrict"),
		.ptrace_scope = knob(proc, "sys/kernel/yama/ptrace_scope"),
	};
}

uint64_t nofile_raise(uint64_t want)
{
	struct rlimit limit, raised;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	if (limit.rlim_cur >= want)
		return limit.rlim_cur;
	raised = limit;
	raised.rlim_cur = want < limit.rlim_max ? want : limit.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &raised) < 0 ? limit.rlim_cur : raised.rlim_cur;
}

/* ---- the kernel */

static bool take_padded(
	struct bytes *notes, uint64_t len, size_t align, const uint8_t **ret_bytes)
{
	uint64_t padding = (align - len % align) % align;

	*ret_bytes = bytes_take(notes, len);
	if (!*ret_bytes)
		return false;
	/* The last note may go without its padding. */
	(void)bytes_skip(notes, padding < bytes_left(notes) ? padding : bytes_left(notes));
	return true;
}

int notes_build_id(
	const void *notes, size_t len, size_t align, uint8_t ret_id[KERNEL_BUILD_ID_MAX])
{
	enum { NT_GNU_BUILD_ID = 3 };
	struct bytes rest = bytes_of(notes, len);

	while (bytes_left(&rest)) {
		uint32_t name_len = bytes_u32(&rest), desc_len = bytes_u32(&rest);
		uint32_t type = bytes_u32(&rest);
		const uint8_t *name, *desc;

		if (rest.bad || !take_padded(&rest, name_len, align, &name) ||
			!take_padded(&rest, desc_len, align, &desc))
			return -EBADMSG;
		if (type != NT_GNU_BUILD_ID || name_len != 4 || memcmp(name, "GNU", 4) != 0)
			continue;
		if (!desc_len || desc_len > KERNEL_BUILD_ID_MAX)
			return -EBADMSG;
		memcpy(ret_id, desc, desc_len);
		return (int)desc_len;
	}
	return -ENOENT;
}

int kernel_build_id(const struct proc *proc, uint8_t ret_id[KERNEL_BUILD_ID_MAX])
{
	cleanup_with(strbuf_done) struct strbuf notes = {0};
	int rc = proc->sys < 0 ? -ENOENT
			       : file_read(proc->sys, "kernel/notes", FILE_LIMIT, &notes);

	return rc < 0 ? rc : notes_build_id(strbuf_text(&notes), notes.len, 4, ret_id);
}

/* "ffffffff81000000 T _text" */
static bool symbol_line(struct span line, struct kernel_text *text)
{
	uint64_t addr;

	if (!span_hex(&line, &addr) || line.end - line.at < 3)
		return false;
	line.at += 3; /* blank, type, blank */
	if (span_skip(&line, "_text") && line.at == line.end)
		text->text = addr;
	else if (span_skip(&line, "_stext") && line.at == line.end)
		text->stext = addr;
	else
		return false;
	return true;
}

int kernel_text_read(const struct proc *proc, struct kernel_text *ret_text)
{
	cleanup_close int fd = openat(proc->root, "kallsyms", O_RDONLY | O_CLOEXEC);
	struct kernel_text text = {0};
	size_t kept = 0, total = 0, most = KALLSYMS_BYTES;
	char bytes[4096];
	uint32_t found = 0;

	if (fd < 0)
		return -errno;
	while (found < 2 && total < most) {
		ssize_t got = read(fd, bytes + kept, sizeof(bytes) - kept);
		struct span buffer = {bytes, bytes + kept}, line;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		total += (size_t)got;
		buffer.end += got;
		while (memchr(buffer.at, '\n', (size_t)(buffer.end - buffer.at)) &&
			span_line(&buffer, &line))
			found += symbol_line(line, &text);
		if (found && most == KALLSYMS_BYTES)
			most = total + KALLSYMS_AFTER;
		kept = (size_t)(buffer.end - buffer.at);
		if (kept == sizeof(bytes))
			return -EBADMSG; /* no symbol's line is that long */
		memmove(bytes, buffer.at, kept);
	}
	*ret_text = text;
	return 0;
}

int kernel_modules_read(const struct proc *proc, kernel_module_fn visit, void *ctx)
{
	cleanup_with(strbuf_done) struct strbuf text = {0};
	struct span rest, line;
	int count = 0, rc = file_read(proc->root, "modules", FILE_LIMIT, &text);

	if (rc < 0)
		return rc == -ENOENT ? 0 : rc;
	rest = span_of(&text);
	while (span_line(&rest, &line)) {
		struct kernel_module module = {0};
		char name[64] = "";
		const char *end = memchr(line.at, ' ', (size_t)(line.end - line.at));

		if (!end || end == line.at || (size_t)(end - line.at) >= sizeof(name))
			continue;
		memcpy(name, line.at, (size_t)(end - line.at));
		module.name = name;
		line.at = end;
		if (!span_decimal(&line, &module.size))
			continue;
		/* The address is behind the state; the list of users has no blanks in it. */
		for (uint32_t i = 0; i < 4; i++)
			(void)(span_skip_past_first(&line, ' '));
		if (!span_skip(&line, "0x") || !span_hex(&line, &module.addr))
			continue;
		rc = visit(ctx, &module);
		if (rc < 0)
			return rc;
		count++;
	}
	return count;
}

/* ---- the machine */

/* The value of the first "key : value" line; an empty string when there is none. */
static void colon_value(struct span text, const char *key, char *ret_value, size_t size)
{
	struct span line;

	*ret_value = '\0';
	while (span_line(&text, &line)) {
		size_t len;

		if (!span_skip(&line, key))
			continue;
		span_blanks(&line);
		if (!span_skip(&line, ":"))
			continue;
		span_blanks(&line);
		len = (size_t)(line.end - line.at);
		if (len >= size)
			len = size - 1;
		memcpy(ret_value, line.at, len);
		ret_value[len] = '\0';
		return;
	}
}

static void cpu_description(const struct proc *proc, char *ret_text, size_t size)
{
	/* x86 and newer arm64; older arm; MIPS; POWER; boards */
	static const char *const keys[] = {
		"model name", "Processor", "cpu model", "cpu", "Hardware", "CPU implementer"};
	cleanup_with(strbuf_done) struct strbuf text = {0};

	*ret_text = '\0';
	if (file_read(proc->root, "cpuinfo", FILE_LIMIT, &text) < 0)
		return;
	for (uint32_t i = 0; i < ARRAY_LEN(keys) && !*ret_text; i++)
		colon_value(span_of(&text), keys[i], ret_text, size);
}

static uint64_t memory_kb(const struct proc *proc)
{
	cleanup_with(strbuf_done) struct strbuf text = {0};
	struct span rest, line;
	uint64_t kb;

	if (file_read(proc->root, "meminfo", FILE_LIMIT, &text) < 0)
		return 0;
	rest = span_of(&text);
	while (span_line(&rest, &line)) {
		if (span_skip(&line, "MemTotal:") && span_decimal(&line, &kb))
			return kb;
	}
	return 0;
}

void host_facts_read(const struct proc *proc, struct host_facts *ret_facts)
{
	cleanup_with(strbuf_done) struct strbuf release = {0};
	cleanup_with(cpu_list_done) struct cpu_list cpus = {0};
	struct host_facts facts = {0};
	struct utsname name;

	if (uname(&name) == 0) {
		(void)snprintf(facts.hostname, sizeof(facts.hostname), "%s", name.nodename);
		(void)snprintf(facts.osrelease, sizeof(facts.osrelease), "%s", name.release);
		(void)snprintf(facts.version, sizeof(facts.version), "%s", name.version);
		(void)snprintf(facts.arch, sizeof(facts.arch), "%s", name.machine);
	}
	if (file_read(proc->root, "sys/kernel/osrelease", 4096, &release) == 0)
		(void)snprintf(facts.osrelease, sizeof(facts.osrelease), "%.*s",
			(int)strcspn(strbuf_text(&release), "\n"), strbuf_text(&release));
	cpu_description(proc, facts.cpudesc, sizeof(facts.cpudesc));
	if (cpus_online(proc, &cpus) == 0)
		facts.cpus_online = cpus.count;
	if (cpus_possible(proc, &cpus) == 0)
		facts.cpus_possible = cpus.count;
	facts.mem_kb = memory_kb(proc);
	*ret_facts = facts;
}
