/*
 * usage: chains ROUNDS        every kind of stack in turn, each ending in a function of its own
 *
 * judge.py knows who calls whom. First the program says whether return addresses are signed
 * here: what was built for pointer authentication runs on any CPU, and signs nothing where
 * there is none.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noipa))

enum { BURN = 20000, DEPTH = 150, STACK_BYTES = 256 << 10 };

static uint64_t rounds, sum;

/* A leaf without a frame: its return address is in x30 all the time. */
#define WORK(name)                                                                             \
	NOINLINE static uint64_t name(uint64_t x)                                              \
	{                                                                                      \
		for (int i = 0; i < BURN; i++)                                                 \
			x = x * 6364136223846793005u + 1442695040888963407u;                   \
		return x;                                                                      \
	}

#define CALLS(name, callee)                                                                    \
	NOINLINE static uint64_t name(uint64_t x)                                              \
	{                                                                                      \
		return callee(x + 1) ^ x;                                                      \
	}

WORK(work_chain)
CALLS(chain_4, work_chain)
CALLS(chain_3, chain_4)
CALLS(chain_2, chain_3)
CALLS(chain_1, chain_2)

WORK(work_deep)

NOINLINE static uint64_t descend(uint64_t x, int left)
{
	volatile uint64_t kept[4] = {x, x, x, x}; /* a frame of some size, and no tail call */

	return (left ? descend(x + 1, left - 1) : work_deep(x)) ^ kept[left & 3];
}

/* A frame that moves with its argument: its CFA is told from x29. */
WORK(work_array)

NOINLINE static uint64_t with_array(uint64_t x, size_t n)
{
	uint64_t *array = __builtin_alloca(n * sizeof(*array));

	memset(array, (int)x, n * sizeof(*array));
	return work_array(x) ^ array[x % n];
}

WORK(work_signal)

static void on_signal(int number)
{
	sum ^= work_signal((uint64_t)number);
}

#ifdef __GLIBC__ /* musl has no contexts */
WORK(work_context)

static ucontext_t main_context, other_context;

static void in_context(void)
{
	for (;;) {
		sum ^= work_context(sum);
		swapcontext(&other_context, &main_context);
	}
}

NOINLINE static uint64_t part_context(uint64_t x)
{
	swapcontext(&main_context, &other_context);
	return x + 1;
}

static void prepare_context(void)
{
	static char stack[STACK_BYTES];

	getcontext(&other_context);
	other_context.uc_stack = (stack_t){.ss_sp = stack, .ss_size = sizeof(stack)};
	makecontext(&other_context, in_context, 0);
}
#else
static uint64_t part_context(uint64_t x)
{
	return x;
}

static void prepare_context(void)
{
}
#endif

WORK(work_thread)

static void *in_thread(void *arg)
{
	uint64_t x = (uint64_t)(uintptr_t)arg;

	for (uint64_t i = 0; i < rounds; i++)
		x ^= work_thread(x);
	return (void *)(uintptr_t)x;
}

WORK(work_sort)

static int compare(const void *a, const void *b)
{
	sum ^= work_sort(*(const int *)a);
	return *(const int *)a - *(const int *)b;
}

NOINLINE static uint64_t part_chain(uint64_t x)
{
	return chain_1(x) + 1;
}

NOINLINE static uint64_t part_deep(uint64_t x)
{
	return descend(x, DEPTH) + 1;
}

NOINLINE static uint64_t part_array(uint64_t x)
{
	return with_array(x, 32 + x % 64) + 1;
}

NOINLINE static uint64_t part_signal(uint64_t x)
{
	raise(SIGUSR1);
	return x + 1;
}

NOINLINE static uint64_t part_sort(uint64_t x)
{
	int two[2] = {(int)x & 1, 1};

	qsort(two, 2, sizeof(two[0]), compare);
	return x + 1;
}

/* Through the procedure linkage table, where there is one. */
NOINLINE static uint64_t part_calls(uint64_t x)
{
	unsigned seed = (unsigned)x;

	for (int i = 0; i < BURN / 10; i++)
		x += (uint64_t)rand_r(&seed);
	return x;
}

NOINLINE static uint64_t part_vdso(uint64_t x)
{
	struct timespec now;

	for (int i = 0; i < BURN / 50; i++) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		x ^= (uint64_t)now.tv_nsec;
	}
	return x;
}

NOINLINE static uint64_t part_kernel(uint64_t x)
{
	static char buf[64 << 10];
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	while (read(fd, buf, sizeof(buf)) > 0)
		x ^= (uint64_t)buf[0];
	close(fd);
	return x;
}

/* What paciasp makes of a return address. hint #25, for older assemblers do not know its name.
 */
static uint64_t sign(uint64_t address)
{
	uint64_t after;

	__asm__ volatile("mov x30, %1\n\thint #25\n\tmov %0, x30"
			 : "=r"(after)
			 : "r"(address)
			 : "x30");
	return after;
}

/* With addresses of 52 bits three are left to sign with: one in eight looks as before. */
static void say_whether_signed(void)
{
	uint64_t address = (uint64_t)(uintptr_t)say_whether_signed, last = address;
	int changed = 0;

	for (int i = 0; i < 64; i++) {
		uint64_t after = sign(address + 4 * (uint64_t)i);

		changed += after != address + 4 * (uint64_t)i;
		last = after != address + 4 * (uint64_t)i ? after : last;
	}
	printf("paciasp changed %d of 64 addresses from %#llx on, the last to %#llx\n", changed,
		(unsigned long long)address, (unsigned long long)last);
}

static void prepare(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGUSR1, &action, NULL);
	prepare_context();
}

int main(int argc, char **argv)
{
	uint64_t (*const parts[])(uint64_t) = {part_chain, part_deep, part_array, part_signal,
		part_context, part_sort, part_calls, part_vdso, part_kernel};
	pthread_t thread;
	uint64_t x = 1;

	rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 10;
	say_whether_signed();
	fflush(stdout);
	prepare();
	if (pthread_create(&thread, NULL, in_thread, NULL) != 0)
		return 1;
	for (uint64_t i = 0; i < rounds; i++)
		for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++)
			x = parts[k](x);
	pthread_join(thread, NULL);
	return x + sum == 42;
}
