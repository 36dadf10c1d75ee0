/*
 * Every function work_X is reached on one way only, so a sample inside it has one right stack.
 * Each phase spends about the same CPU time (argument 1, ms). tests/unwind/test_truth.py knows
 * the ways.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#ifndef NO_UCONTEXT
#include <ucontext.h>
#endif
#ifndef NO_DLOPEN
#include <dlfcn.h>
#endif

#define NOINLINE __attribute__((noinline, noclone, noipa))
#ifdef __clang__
#undef NOINLINE
#define NOINLINE __attribute__((noinline))
#endif

static long spend_ms = 60;
static volatile uint64_t sink;
static char *self;

static inline __attribute__((always_inline)) int64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Burns in the function itself, in libc and in the vdso. */
#define BURN(share)                                                                            \
	do {                                                                                   \
		int64_t end_ = cpu_ns() + spend_ms * 1000000ll / (share);                      \
		static char from_[4096], to_[4096];                                            \
		while (cpu_ns() < end_) {                                                      \
			for (int i_ = 0; i_ < 20000; i_++)                                     \
				sink += sink * 31 + (uint64_t)i_;                              \
			for (int i_ = 0; i_ < 20; i_++) {                                      \
				memcpy(to_, from_, sizeof(to_) - (sink & 1));                  \
				sink += strlen(to_);                                           \
			}                                                                      \
			for (int i_ = 0; i_ < 20; i_++) {                                      \
				struct timespec t_;                                            \
				clock_gettime(CLOCK_MONOTONIC, &t_);                           \
				sink += (uint64_t)t_.tv_nsec;                                  \
			}                                                                      \
		}                                                                              \
	} while (0)

/* Keeps the call before it from becoming a jump. */
#define AFTER() (sink++)

NOINLINE static void work_plain(void)
{
	BURN(1);
	AFTER();
}
NOINLINE static void plain_3(int n)
{
	char buf[64];
	snprintf(buf, sizeof(buf), "%d", n);
	work_plain();
	sink += (uint64_t)buf[0];
}
NOINLINE static void plain_2(int a, int b, int c)
{
	plain_3(a + b);
	sink += (uint64_t)(a + b + c);
}
NOINLINE static void plain_1(void)
{
	plain_2(1, 2, 3);
	AFTER();
}

NOINLINE static void work_alloca(char *p, size_t n)
{
	memset(p, 1, n);
	BURN(1);
	sink += (uint64_t)p[n - 1];
}
NOINLINE static void alloca_mid(size_t n)
{
	char *p = alloca(n);
	char vla[n + 3];
	work_alloca(p, n);
	work_alloca(vla, n);
	sink += (uint64_t)p[0] + (uint64_t)vla[1];
}

NOINLINE static void work_aligned(char *p)
{
	if ((uintptr_t)p % 64)
		abort();
	BURN(1);
	sink += (uint64_t)p[3];
}
NOINLINE static void aligned_mid(size_t n)
{
	_Alignas(64) char buf[128];
	char *more = alloca(n);
	memset(buf, 2, sizeof(buf));
	memset(more, 3, n);
	work_aligned(buf);
	sink += (uint64_t)more[0];
}
NOINLINE static void aligned_args(
	long a, long b, long c, long d, long e, long f, long g, long h)
{
	_Alignas(128) char buf[256];
	memset(buf, (int)(a + b + c + d + e + f), sizeof(buf));
	aligned_mid((size_t)(g + h));
	sink += (uint64_t)buf[1] + (uint64_t)h;
}

NOINLINE static void work_tail(void)
{
	BURN(1);
	AFTER();
}
NOINLINE static void tail_mid(void)
{
	work_tail(); /* a jump when optimised */
}
NOINLINE static void tail_top(void)
{
	tail_mid();
	AFTER();
}

static int compares;
NOINLINE static int work_compare(const void *a, const void *b)
{
	if (++compares % 64 == 0)
		BURN(20);
	return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}
NOINLINE static void qsort_top(void)
{
	static int numbers[256];
	for (int i = 0; i < 256; i++)
		numbers[i] = (i * 7919) % 257;
	qsort(numbers, 256, sizeof(int), work_compare);
	AFTER();
}

NOINLINE static void work_handler(void)
{
	BURN(1);
	AFTER();
}
static void on_signal(int sig)
{
	work_handler();
	sink += (uint64_t)sig;
}
NOINLINE static void signal_top(void)
{
	struct sigaction sa = {.sa_handler = on_signal};
	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
	AFTER();
}

NOINLINE static void work_on_fault(void)
{
	BURN(1);
	AFTER();
}
static char *fault_page;
static void on_fault(int sig)
{
	work_on_fault();
	mprotect(fault_page, 4096, PROT_READ | PROT_WRITE);
	sink += (uint64_t)sig;
}
NOINLINE static void fault_here(char *p)
{
	*(volatile char *)p = 1; /* interrupted at the function's first instructions */
}
NOINLINE static void fault_top(void)
{
	struct sigaction sa = {.sa_handler = on_fault};
	fault_page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, &sa, NULL);
	fault_here(fault_page);
	AFTER();
}

NOINLINE static void work_altstack(void)
{
	BURN(1);
	AFTER();
}
static void on_altstack(int sig)
{
	work_altstack();
	sink += (uint64_t)sig;
}
NOINLINE static void altstack_top(void)
{
	stack_t ss = {.ss_sp = malloc(65536), .ss_size = 65536};
	struct sigaction sa = {.sa_handler = on_altstack, .sa_flags = SA_ONSTACK};
	sigaltstack(&ss, NULL);
	sigaction(SIGUSR2, &sa, NULL);
	raise(SIGUSR2);
	AFTER();
}

NOINLINE static void work_deep(void)
{
	BURN(1);
	AFTER();
}
NOINLINE static int deep(int n)
{
	volatile char pad[32];
	pad[0] = (char)n;
	if (!n)
		work_deep();
	else
		deep(n - 1);
	return pad[0];
}
NOINLINE static void deep_top(void)
{
	deep(2999);
	AFTER();
}

#ifndef NO_UCONTEXT
static ucontext_t main_context, coro_context;
NOINLINE static void work_coro(void)
{
	BURN(1);
	AFTER();
}
static void coro_body(void)
{
	work_coro();
	AFTER();
}
NOINLINE static void coro_top(void)
{
	getcontext(&coro_context);
	coro_context.uc_stack.ss_sp = malloc(65536);
	coro_context.uc_stack.ss_size = 65536;
	coro_context.uc_link = &main_context;
	makecontext(&coro_context, coro_body, 0);
	swapcontext(&main_context, &coro_context);
	AFTER();
}
#endif

NOINLINE static void work_thread(void)
{
	BURN(1);
	AFTER();
}
static void *thread_body(void *arg)
{
	work_thread();
	AFTER();
	return arg;
}
NOINLINE static void thread_top(void)
{
	pthread_t t;
	pthread_create(&t, NULL, thread_body, NULL);
	pthread_join(t, NULL);
}

#ifndef NO_DLOPEN
NOINLINE static void work_from_plugin(void)
{
	BURN(1);
	AFTER();
}
NOINLINE static void plugin_top(void)
{
	char path[4096];
	void *lib;
	void (*call)(void (*)(void));

	snprintf(path, sizeof(path), "%s.so", self);
	lib = dlopen(path, RTLD_NOW);
	if (!lib)
		return;
	*(void **)&call = dlsym(lib, "plugin_call");
	call(work_from_plugin);
	dlclose(lib);
	AFTER();
}
#endif

int main(int argc, char **argv)
{
	self = argv[0];
	if (argc > 1)
		spend_ms = atol(argv[1]);
	plain_1();
	alloca_mid((size_t)(100 + argc));
	aligned_args(1, 2, 3, 4, 5, 6, 70, argc);
	tail_top();
	qsort_top();
	signal_top();
	fault_top();
	altstack_top();
	deep_top();
#ifndef NO_UCONTEXT
	coro_top();
#endif
	thread_top();
#ifndef NO_DLOPEN
	plugin_top();
#endif
	return sink == 42;
}
