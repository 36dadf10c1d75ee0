/*
 * A library to preload into wick: it fails one call, the nth of its kind.
 *
 *     WICK_NTH=KIND:N:ERRNO    the Nth call of this kind fails with ERRNO; 0: a short write
 *     WICK_NTH=count:0:0       nothing fails; each call is written to the log
 *     WICK_NTH_LOG=FILE        "KIND N PLACE": PLACE is a hash of the return addresses,
 *                            which stand behind it where the call failed
 *
 * Only the process that it was preloaded into is meant: the environment is cleaned at once, so
 * a command that is exec'ed knows nothing of it, and a forked child is known by its pid. Other
 * libraries (zlib, zstd, a sanitizer's) call through here, too, where they use the same names.
 * A call inside the real function (fopen's malloc) counts as well, where the C library makes it
 * by name. Memory that elfutils asks for is always there: libdw does not survive without.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

enum kind {
	ALLOC,
	OPEN,
	READ,
	WRITE,
	MMAP,
	IOCTL,
	POLL,
	FORK,
	PIPE,
	FCNTL,
	SIGNALFD,
	VMREAD,
	SYSCALL,
	SPACE,
	NAMES,
	STAT,
	WAIT,
	KINDS
};

static const char *const kind_names[KINDS] = {"alloc", "open", "read", "write", "mmap", "ioctl",
	"poll", "fork", "pipe", "fcntl", "signalfd", "vmread", "syscall", "space", "names",
	"stat", "wait"};

enum { DEPTH = 12, SKIP = 2 };

static struct {
	bool counting, armed, inside;
	pid_t pid;
	int kind, code, log_fd;
	unsigned long n, counts[KINDS];
	struct range {
		uintptr_t start, end;
	} spared[4];
	int spared_count;
} plan;

#define REAL(name)                                                                             \
	static __typeof__(name) *real;                                                         \
	if (!real)                                                                             \
	*(void **)&real = dlsym(RTLD_NEXT, #name)

struct walk {
	uint64_t hash, frames[DEPTH];
	int depth;
};

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *arg)
{
	struct walk *walk = arg;

	if (walk->depth >= SKIP)
		walk->hash = (walk->hash ^ _Unwind_GetIP(context)) * 1099511628211u;
	walk->frames[walk->depth++] = _Unwind_GetIP(context);
	return walk->depth < DEPTH ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static bool is_spared(uintptr_t addr)
{
	for (int i = 0; i < plan.spared_count; i++)
		if (addr >= plan.spared[i].start && addr < plan.spared[i].end)
			return true;
	return false;
}

/*
 * Writes where a call comes from: the same in every run while addresses are not randomized.
 * False when it shall not fail.
 */
static bool tell(int kind, bool fails)
{
	struct walk walk = {.hash = 14695981039346656037u};
	char line[400];
	int len;
	REAL(write);

	_Unwind_Backtrace(step, &walk);
	for (int i = SKIP; i < walk.depth; i++)
		if (kind == ALLOC && is_spared(walk.frames[i]))
			return false;
	len = snprintf(line, sizeof(line), "%s %lu %016llx", kind < 0 ? "" : kind_names[kind],
		kind < 0 ? 0 : plan.counts[kind], (unsigned long long)walk.hash);
	for (int i = SKIP; fails && i < walk.depth; i++)
		len += snprintf(line + len, sizeof(line) - (size_t)len, " %llx",
			(unsigned long long)walk.frames[i]);
	line[len++] = '\n';
	if (kind >= 0)
		real(plan.log_fd, line, (size_t)len);
	return true;
}

static int find_spared(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct range range = {UINTPTR_MAX, 0};

	(void)size;
	(void)arg;
	if (!strstr(info->dlpi_name, "/libdw.") && !strstr(info->dlpi_name, "/libelf."))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + phdr->p_vaddr;

		if (phdr->p_type != PT_LOAD)
			continue;
		range.start = start < range.start ? start : range.start;
		range.end =
			start + phdr->p_memsz > range.end ? start + phdr->p_memsz : range.end;
	}
	plan.spared[plan.spared_count++] = range;
	return plan.spared_count == 4;
}

/* Is this the call that shall fail? */
static bool due(int kind)
{
	bool fails;
	int saved = errno;

	if (!(plan.counting || plan.armed) || plan.inside || getpid() != plan.pid)
		return false;
	plan.inside = true;
	plan.counts[kind]++;
	fails = plan.armed && kind == plan.kind && plan.counts[kind] == plan.n;
	if (fails || plan.counting)
		fails &= tell(kind, fails);
	plan.inside = false;
	errno = fails ? plan.code : saved;
	return fails;
}

__attribute__((constructor)) static void nth_start(void)
{
	const char *what = getenv("WICK_NTH"), *log = getenv("WICK_NTH_LOG");
	char *end;
	size_t len;

	if (!what || !log)
		return;
	tell(-1, false); /* loads what it needs */
	plan.log_fd = open64(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	plan.log_fd = fcntl64(plan.log_fd, F_DUPFD_CLOEXEC, 700);
	dl_iterate_phdr(find_spared, NULL);
	len = strcspn(what, ":");
	plan.kind = -1;
	for (int i = 0; i < KINDS; i++)
		if (strlen(kind_names[i]) == len && !memcmp(kind_names[i], what, len))
			plan.kind = i;
	plan.n = strtoul(what + len + 1, &end, 10);
	plan.code = (int)strtol(end + 1, NULL, 10);
	plan.counting = !strncmp(what, "count:", 6);
	plan.armed = plan.kind >= 0;
	plan.pid = getpid();
	unsetenv("WICK_NTH");
	unsetenv("WICK_NTH_LOG");
	unsetenv("LD_PRELOAD");
}

/* ---- memory */

void *malloc(size_t size)
{
	REAL(malloc);
	return due(ALLOC) ? NULL : real(size);
}

void *calloc(size_t count, size_t size)
{
	REAL(calloc);
	return due(ALLOC) ? NULL : real(count, size);
}

void *realloc(void *old, size_t size)
{
	REAL(realloc);
	return due(ALLOC) ? NULL : real(old, size);
}

void *reallocarray(void *old, size_t count, size_t size)
{
	REAL(reallocarray);
	return due(ALLOC) ? NULL : real(old, count, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	REAL(aligned_alloc);
	return due(ALLOC) ? NULL : real(alignment, size);
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
	REAL(posix_memalign);
	return due(ALLOC) ? ENOMEM : real(ret, alignment, size);
}

char *strdup(const char *text)
{
	REAL(strdup);
	return due(ALLOC) ? NULL : real(text);
}

char *strndup(const char *text, size_t len)
{
	REAL(strndup);
	return due(ALLOC) ? NULL : real(text, len);
}

int vasprintf(char **ret, const char *fmt, va_list ap)
{
	REAL(vasprintf);
	return due(ALLOC) ? -1 : real(ret, fmt, ap);
}

int asprintf(char **ret, const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(ret, fmt, ap);
	va_end(ap);
	return len;
}

/* ---- files */

int open64(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;
	REAL(open64);

	va_start(ap, flags);
	mode = va_arg(ap, mode_t);
	va_end(ap);
	return due(OPEN) ? -1 : real(path, flags, mode);
}

int openat64(int dirfd, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;
	REAL(openat64);

	va_start(ap, flags);
	mode = va_arg(ap, mode_t);
	va_end(ap);
	return due(OPEN) ? -1 : real(dirfd, path, flags, mode);
}

FILE *fopen64(const char *path, const char *mode)
{
	REAL(fopen64);
	return due(OPEN) ? NULL : real(path, mode);
}

DIR *opendir(const char *path)
{
	REAL(opendir);
	return due(OPEN) ? NULL : real(path);
}

DIR *fdopendir(int fd)
{
	REAL(fdopendir);
	return due(OPEN) ? NULL : real(fd);
}

ssize_t read(int fd, void *buf, size_t len)
{
	REAL(read);
	return due(READ) ? -1 : real(fd, buf, len);
}

ssize_t pread64(int fd, void *buf, size_t len, off64_t offset)
{
	REAL(pread64);
	return due(READ) ? -1 : real(fd, buf, len, offset);
}

ssize_t write(int fd, const void *buf, size_t len)
{
	REAL(write);

	if (!due(WRITE))
		return real(fd, buf, len);
	return plan.code || len < 2 ? -1 : real(fd, buf, len / 2);
}

ssize_t pwrite64(int fd, const void *buf, size_t len, off64_t offset)
{
	REAL(pwrite64);

	if (!due(WRITE))
		return real(fd, buf, len, offset);
	return plan.code || len < 2 ? -1 : real(fd, buf, len / 2, offset);
}

int stat64(const char *path, struct stat64 *st)
{
	REAL(stat64);
	return due(STAT) ? -1 : real(path, st);
}

int lstat64(const char *path, struct stat64 *st)
{
	REAL(lstat64);
	return due(STAT) ? -1 : real(path, st);
}

int fstat64(int fd, struct stat64 *st)
{
	REAL(fstat64);
	return due(STAT) ? -1 : real(fd, st);
}

int access(const char *path, int mode)
{
	REAL(access);
	return due(STAT) ? -1 : real(path, mode);
}

ssize_t readlinkat(int dirfd, const char *path, char *buf, size_t len)
{
	REAL(readlinkat);
	return due(STAT) ? -1 : real(dirfd, path, buf, len);
}

off64_t lseek64(int fd, off64_t offset, int whence)
{
	REAL(lseek64);
	return due(STAT) ? -1 : real(fd, offset, whence);
}

int fallocate64(int fd, int mode, off64_t offset, off64_t len)
{
	REAL(fallocate64);
	return due(SPACE) ? -1 : real(fd, mode, offset, len);
}

int ftruncate64(int fd, off64_t len)
{
	REAL(ftruncate64);
	return due(SPACE) ? -1 : real(fd, len);
}

int rename(const char *from, const char *to)
{
	REAL(rename);
	return due(NAMES) ? -1 : real(from, to);
}

int unlink(const char *path)
{
	REAL(unlink);
	return due(NAMES) ? -1 : real(path);
}

int mkdir(const char *path, mode_t mode)
{
	REAL(mkdir);
	return due(NAMES) ? -1 : real(path, mode);
}

int fchown(int fd, uid_t uid, gid_t gid)
{
	REAL(fchown);
	return due(NAMES) ? -1 : real(fd, uid, gid);
}

/* ---- the rest of the kernel */

void *mmap64(void *addr, size_t len, int prot, int flags, int fd, off64_t offset)
{
	REAL(mmap64);
	return due(MMAP) ? MAP_FAILED : real(addr, len, prot, flags, fd, offset);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;
	REAL(ioctl);

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	return due(IOCTL) ? -1 : real(fd, request, arg);
}

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	REAL(poll);
	return due(POLL) ? -1 : real(fds, count, timeout);
}

pid_t fork(void)
{
	REAL(fork);
	return due(FORK) ? -1 : real();
}

int pipe2(int fds[2], int flags)
{
	REAL(pipe2);
	return due(PIPE) ? -1 : real(fds, flags);
}

int fcntl64(int fd, int command, ...)
{
	va_list ap;
	void *arg;
	REAL(fcntl64);

	va_start(ap, command);
	arg = va_arg(ap, void *);
	va_end(ap);
	return due(FCNTL) ? -1 : real(fd, command, arg);
}

int dup(int fd)
{
	REAL(dup);
	return due(FCNTL) ? -1 : real(fd);
}

int signalfd(int fd, const sigset_t *mask, int flags)
{
	REAL(signalfd);
	return due(SIGNALFD) ? -1 : real(fd, mask, flags);
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
	const struct iovec *remote, unsigned long remote_count, unsigned long flags)
{
	REAL(process_vm_readv);
	return due(VMREAD) ? -1 : real(pid, local, local_count, remote, remote_count, flags);
}

pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	REAL(wait4);
	return due(WAIT) ? -1 : real(pid, status, options, usage);
}

/* perf_event_open, pidfd_open, clone3, ... */
long syscall(long number, ...)
{
	va_list ap;
	long a[6];
	REAL(syscall);

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	return due(SYSCALL) ? -1 : real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
