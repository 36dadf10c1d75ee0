/*
 * perf reads what we write, without a complaint: a file with everything in it that a recording
 * has (two events with ids, side-band, samples in rounds, all the features, the sections of our
 * own) goes through `perf report`, `perf script`, `perf evlist -v`, `perf buildid-list` and
 * `perf report --header-only`. Nothing may come on their stderr, and what they print is
 * compared. So does what a recorder leaves that is killed behind any of its writes.
 *
 * Skips aloud (exit 77) where there is no perf.
 */
#include "base/cleanup.h"
#include "base/fileio.h"
#include "config.h"
#include "perfdata/perfdata.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIP = 77, SAMPLES = 5000, PID = 4242 };

static unsigned failures;
static char dir[] = "/tmp/wick-perf-XXXXXX";

#define TEXT(literal) ((char *)(uintptr_t)(literal))

static uint64_t ids[2][2] = {{11, 12}, {21, 22}};
static struct perfdata_event events[2] = {
	{.attr = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK}, .name = NULL},
	{.attr = {.type = PERF_TYPE_HARDWARE}, .name = TEXT("cycles:u")},
};

static void fill_attrs(void)
{
	for (int i = 0; i < 2; i++) {
		struct perf_event_attr *attr = &events[i].attr;

		attr->sample_period = 1000000;
		attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
				    PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
		attr->flags = ATTR_MMAP | ATTR_COMM | ATTR_TASK | ATTR_MMAP2 |
			      ATTR_SAMPLE_ID_ALL | ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV |
			      ATTR_EXCLUDE_GUEST;
		events[i].ids = ids[i];
		events[i].id_count = 2;
	}
}

static void put_u64(struct strbuf *out, uint64_t value)
{
	strbuf_add(out, &value, sizeof(value));
}

static void put_pair(struct strbuf *out, uint32_t a, uint32_t b)
{
	strbuf_add(out, &a, sizeof(a));
	strbuf_add(out, &b, sizeof(b));
}

/* The header, the body, and the trailer that ATTR_SAMPLE_ID_ALL asks for. */
static void put_record(
	struct strbuf *out, uint32_t type, const struct strbuf *body, bool trailer)
{
	struct perf_event_header header = {.type = type,
		.misc = PERF_RECORD_MISC_USER,
		.size = (uint16_t)(sizeof(header) + body->len + (trailer ? 32 : 0))};

	strbuf_add(out, &header, sizeof(header));
	strbuf_add(out, body->text, body->len);
	if (!trailer)
		return;
	put_pair(out, PID, PID);
	put_u64(out, 1);     /* time */
	put_pair(out, 0, 0); /* cpu */
	put_u64(out, ids[0][0]);
}

static void put_sideband(struct strbuf *out)
{
	cleanup_with(strbuf_done) struct strbuf body = {0};

	put_pair(&body, PID, PID);
	strbuf_add(&body, "wicktest\0\0\0\0\0\0\0", 16);
	put_record(out, PERF_RECORD_COMM, &body, true);
	strbuf_reset(&body);
	put_pair(&body, PID, PID);
	put_u64(&body, 0x400000); /* addr, len, pgoff */
	put_u64(&body, 0x10000);
	put_u64(&body, 0);
	put_pair(&body, 8, 1); /* device, inode, generation */
	put_u64(&body, 77);
	put_u64(&body, 0);
	put_pair(&body, 5, 2); /* r-x, private */
	strbuf_add(&body, "/no/such/bin\0\0\0", 16);
	put_record(out, PERF_RECORD_MMAP2, &body, true);
}

static void put_sample(struct strbuf *out, int i)
{
	cleanup_with(strbuf_done) struct strbuf body = {0};

	put_u64(&body, ids[i % 5 == 0][i % 2]);
	put_u64(&body, 0x401000 + (uint64_t)(i % 16) * 16); /* ip */
	put_pair(&body, PID, PID);
	put_u64(&body, 1000 + (uint64_t)i * 1000); /* time */
	put_pair(&body, (uint32_t)i % 2, 0);
	put_u64(&body, 1000000);
	put_record(out, PERF_RECORD_SAMPLE, &body, false);
}

static struct perfdata_features all_features(void)
{
	static char *cmdline[] = {TEXT("wick"), TEXT("record"), TEXT("--"), TEXT("a b")};
	static struct perfdata_build_id build_ids[] = {{.pid = -1,
		.misc = PERF_RECORD_MISC_USER,
		.bytes = {0xde, 0xad, 0xbe, 0xef},
		.len = 20,
		.filename = TEXT("/no/such/bin")}};

	return (struct perfdata_features){.hostname = TEXT("testhost"),
		.osrelease = TEXT("6.1.0"),
		.version = TEXT("wick-test"),
		.arch = TEXT("x86_64"),
		.cpudesc = TEXT("a CPU of the test"),
		.cpuid = TEXT("Test,1,2,3"),
		.nrcpus_online = 2,
		.nrcpus_available = 4,
		.total_mem_kb = 1234567,
		.cmdline = cmdline,
		.cmdline_count = ARRAY_LEN(cmdline),
		.build_ids = build_ids,
		.build_id_count = 1,
		.first_sample_ns = 1000,
		.last_sample_ns = 1000 + SAMPLES * 1000,
		.clockid_res_ns = 1,
		.has_clock_data = true,
		.clockid = 1,
		.wall_clock_ns = 1700000000000000000,
		.clockid_ns = 5000,
		.quality = TEXT("quality=1\n"),
		.quality_bytes = 10,
		.names = TEXT("names"),
		.names_bytes = 5};
}

/* How a file is made; each kind is read by perf. */
struct kind {
	const char *name;
	int level;	      /* of compression */
	int checkpoint_every; /* so many samples; 0: never */
	bool killed;	      /* it is not finished: the last checkpoint counts */
	bool between;	      /* killed between the two last writes of a checkpoint */
	bool pipe;	      /* through a pipe */
};

/* What is on the disk when a checkpoint's last write, the header, has not been made. */
static void restore_header(const char *path, const char header[104])
{
	cleanup_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || fd_pwrite_all(fd, header, 104, 0) < 0) {
		printf("FAIL %s: cannot be changed\n", path);
		failures++;
	}
}

/* In a child that is traced: the tracer takes over at the last checkpoint. */
static bool stop_at_last;

static int write_checkpoint(struct perfdata_writer *writer, const char *path, int samples,
	const struct kind *kind, struct error *err)
{
	struct perfdata_features features = all_features();
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	char header[104];
	int rc = fd < 0 || pread(fd, header, sizeof(header), 0) != sizeof(header) ? -EIO : 0;

	features.last_sample_ns = 1000 + (uint64_t)samples * 1000;
	features.names_bytes = 0;
	if (stop_at_last && samples == SAMPLES)
		raise(SIGSTOP);
	if (rc == 0)
		rc = perfdata_checkpoint(writer, &features, err);
	if (rc == 0 && kind->between && samples == SAMPLES)
		restore_header(path, header);
	return rc;
}

static int write_file(const char *path, const struct kind *kind, struct error *err)
{
	const struct perfdata_writer_options options = {.path = path,
		.events = events,
		.event_count = 2,
		.owner_uid = -1,
		.owner_gid = -1,
		.compression_level = kind->level};
	const struct perfdata_features features = all_features();
	cleanup_with(strbuf_done) struct strbuf out = {0};
	struct perfdata_writer *writer;
	int rc = perfdata_create(&options, &writer, err);

	if (rc < 0)
		return rc;
	put_sideband(&out);
	for (int i = 0; i < SAMPLES && rc == 0; i++) {
		put_sample(&out, i);
		rc = perfdata_write(writer, out.text, out.len, err);
		if (rc == 0 && i % 100 == 99)
			rc = perfdata_write_round(writer, err);
		if (rc == 0 && kind->checkpoint_every && (i + 1) % kind->checkpoint_every == 0)
			rc = write_checkpoint(writer, path, i + 1, kind, err);
		strbuf_reset(&out);
	}
	if (rc == 0 && !kind->killed)
		rc = perfdata_finish(writer, &features, err);
	perfdata_writer_free(writer);
	return rc;
}

/* Runs `perf ARGS`, with its output and its complaints into texts. */
static int run_perf(const char *args, struct strbuf *ret_out, struct strbuf *ret_complaints)
{
	char command[1000], errors[100];
	FILE *out;
	char block[4096];
	size_t got;
	int status;

	snprintf(errors, sizeof(errors), "%s/stderr", dir);
	snprintf(command, sizeof(command), "cd %s && PERF_BUILDID_DIR=%s HOME=%s perf %s 2>%s",
		dir, dir, dir, args, errors);
	out = popen(command, "r"); /* NOLINT(cert-env33-c): a test's fixed words */
	if (!out)
		return -1;
	while ((got = fread(block, 1, sizeof(block), out)) > 0)
		strbuf_add(ret_out, block, got);
	status = pclose(out);
	file_read(AT_FDCWD, errors, 1 << 20, ret_complaints);
	unlink(errors);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static unsigned count_text(const char *text, const char *what)
{
	unsigned n = 0;

	for (const char *p = text; (p = strstr(p, what)); p += strlen(what))
		n++;
	return n;
}

/* perf must be content, and print `text` `times` times (0: at least once). */
static void expect(const char *args, const char *text, unsigned times)
{
	cleanup_with(strbuf_done) struct strbuf out = {0}, complaints = {0};
	int status = run_perf(args, &out, &complaints);
	unsigned n = count_text(strbuf_text(&out), text);

	if (status == 0 && !complaints.len && (times ? n == times : n > 0))
		return;
	failures++;
	printf("FAIL perf %s: exit %d, \"%s\" %u times; stderr: %s\n", args, status, text, n,
		strbuf_text(&complaints));
}

/* One of two numbers of samples, without a complaint. */
static void expect_samples(unsigned few, unsigned many)
{
	cleanup_with(strbuf_done) struct strbuf out = {0}, complaints = {0};
	int status = run_perf("script -i perf.data -F comm,ip", &out, &complaints);
	unsigned n = count_text(strbuf_text(&out), "wicktest");

	if (status == 0 && !complaints.len && (n == few || n == many))
		return;
	failures++;
	printf("FAIL perf script: exit %d, %u samples; stderr: %s\n", status, n,
		strbuf_text(&complaints));
}

static void expect_header(void)
{
	static const char *const header[] = {"# hostname : testhost", "# os release : 6.1.0",
		"# perf version : wick-test", "# arch : x86_64", "# nrcpus online : 2",
		"# nrcpus avail : 4", "# cpudesc : a CPU of the test", "# cpuid : Test,1,2,3",
		"# total memory : 1234567 kB", "# cmdline : wick record -- a b",
		"# event : name = cpu-clock:u, ", "# event : name = cycles:u, ",
		"id = { 11, 12 }", "# clockid frequency: 1000 MHz"};

	for (size_t i = 0; i < ARRAY_LEN(header); i++)
		expect("report -i perf.data --header-only", header[i], 0);
}

static void expect_records(const struct kind *kind, unsigned samples)
{
	expect("script -i perf.data -F comm,pid,event,ip", "cpu-clock:u", samples * 4 / 5);
	expect("script -i perf.data -F comm,pid,event,ip", "cycles:u", samples / 5);
	expect("script -i perf.data -F comm,pid,event,ip", "wicktest", samples);
	expect("report -i perf.data --stdio --sort comm", "of event 'cpu-clock:u'", 1);
	expect("report -i perf.data --stdio --sort comm", "100.00%  wicktest", 2);
	/* Of a pipe it makes its own names from the attrs. */
	expect("evlist -i perf.data", kind->pipe ? "cycles:u" : "cpu-clock:u\ncycles:u\n", 1);
	expect("evlist -v -i perf.data", "IDENTIFIER", 2);
	if (kind->pipe && kind->level)
		return; /* perf 6.1's buildid-list fails at its own compressed pipes */
	expect("buildid-list -i perf.data",
		"deadbeef00000000000000000000000000000000 /no/such/bin", 1);
}

/* ---- killed between any two writes */

/* A child that writes the file, and stops before its last checkpoint. */
static void write_traced(const char *path, int level)
{
	const struct kind kind = {.level = level, .checkpoint_every = 500, .killed = true};
	struct error err;

	stop_at_last = true;
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		_exit(SKIP);
	_exit(write_file(path, &kind, &err) < 0);
}

/* Lets it make `most` writes and kills it then. How many it made before it ended, -1: no
 * ptrace. */
static int run_traced(const char *path, int level, int most)
{
	int status, made = 0;
	bool inside = false;
	pid_t pid = fork();

	if (pid == 0)
		write_traced(path, level);
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return -1;
	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	while (made < most && ptrace(PTRACE_SYSCALL, pid, NULL, NULL) == 0 &&
		waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		struct __ptrace_syscall_info info = {.op = PTRACE_SYSCALL_INFO_NONE};

		if (WSTOPSIG(status) != (SIGTRAP | 0x80))
			continue;
		ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info);
		if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
			inside = info.entry.nr == SYS_pwrite64;
		else if (info.op == PTRACE_SYSCALL_INFO_EXIT && inside)
			made++;
	}
	if (WIFSTOPPED(status)) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	return made;
}

/* What is there up to then is read, by perf and by us, wherever the kill came. */
static void check_killed(const char *path, int level)
{
	unsigned before = failures;
	int most = 0, made;

	do {
		struct perfdata_reader *reader = NULL;
		struct error err = {.text = ""};

		made = run_traced(path, level, most);
		if (made < 0) {
			printf("killed between writes: not checked, ptrace is not allowed\n");
			break;
		}
		/* All of the last checkpoint's samples, or those up to the one before. */
		expect_samples(SAMPLES - 500, SAMPLES);
		if (perfdata_open(path, &reader, &err) < 0) {
			printf("FAIL killed behind write %d: %s\n", made, err.text);
			failures++;
		}
		perfdata_close(reader);
		unlink(path);
	} while (made == most++);
	printf("killed behind each of %d writes%s: %s\n", made, level ? ", compressed" : "",
		failures == before ? "read by perf" : "FAILED");
}

/* Writes into a FIFO that `cat` empties into the file. */
static int write_pipe(const char *path, const struct kind *kind, struct error *err)
{
	char command[500], fifo[100];
	FILE *cat;
	int rc;

	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	snprintf(command, sizeof(command), "cat %s > %s", fifo, path);
	if (mkfifo(fifo, 0600) < 0)
		return error_set(err, -errno, "%s: %s", fifo, strerror(errno));
	cat = popen(command, "w"); /* NOLINT(cert-env33-c): a test's fixed words */
	rc = cat ? write_file(fifo, kind, err) : -errno;
	if (cat)
		pclose(cat);
	unlink(fifo);
	return rc;
}

static void check_kind(const char *path, const struct kind *kind)
{
	struct error err;
	unsigned before = failures;

	if ((kind->pipe ? write_pipe(path, kind, &err) : write_file(path, kind, &err)) < 0) {
		printf("FAIL %s: %s\n", kind->name, err.text);
		failures++;
	} else {
		if (!kind->pipe)
			expect_header();
		expect_records(kind, kind->between ? SAMPLES - SAMPLES / 10 : SAMPLES);
	}
	printf("%s: %s\n", kind->name, failures == before ? "read by perf" : "FAILED");
	unlink(path);
}

int main(void)
{
	static const struct kind kinds[] = {
		{.name = "plain"},
		{.name = "pipe", .pipe = true},
		{.name = "checkpoints", .checkpoint_every = 250},
		{.name = "killed behind a checkpoint", .checkpoint_every = 500, .killed = true},
#if HAVE_ZSTD
		{.name = "compressed", .level = 1},
		{.name = "compressed pipe", .level = 1, .pipe = true},
		{.name = "compressed, checkpoints", .level = 3, .checkpoint_every = 250},
		{.name = "compressed, killed in a checkpoint",
			.level = 3,
			.checkpoint_every = SAMPLES / 10,
			.killed = true,
			.between = true},
#endif
	};
	cleanup_with(strbuf_done) struct strbuf version = {0}, complaints = {0};
	char path[100];

	if (!mkdtemp(dir) || run_perf("version", &version, &complaints) != 0) {
		rmdir(dir);
		printf("SKIPPED: no perf here that runs\n");
		return SKIP;
	}
	fill_attrs();
	snprintf(path, sizeof(path), "%s/perf.data", dir);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		check_kind(path, &kinds[i]);
	check_killed(path, 0);
#if HAVE_ZSTD
	check_killed(path, 3);
#endif
	rmdir(dir);
	printf("%s%u failed\n", strbuf_text(&version), failures);
	return failures != 0;
}
