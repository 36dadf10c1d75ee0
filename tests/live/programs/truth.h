/*
 * What the programs of known truth share: work whose CPU time is measured around it with the
 * thread's own clock, in pieces of changing length so that no sampling rate beats with them.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/*
 * Defines `name`: it burns about `n` dependent multiplications and is found under this name.
 * Asking for its frame makes one, though it is a leaf: the kernel's chain has the caller then.
 */
#define BURN(name)                                                                             \
	NOINLINE uint64_t name(uint64_t n, uint64_t x)                                         \
	{                                                                                      \
		for (uint64_t i = 0; i < n; i++)                                               \
			x = x * 6364136223846793005u + 1442695040888963407u;                   \
		__asm__ volatile("" : "+r"(x) : "r"(__builtin_frame_address(0)));              \
		return x;                                                                      \
	}

typedef uint64_t (*burn_fn)(uint64_t n, uint64_t x);

struct part {
	const char *name;
	burn_fn burn;
	unsigned weight;
	uint64_t cpu_ns; /* out: what it really took */
};

/* A pseudo random number in [1, 2), in 1/1024. */
static inline uint64_t jitter(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return 1024 + (*state >> 54);
}

/* Runs the parts by their weights until the thread has used `cpu_ns`. */
static inline void run_parts(struct part *parts, int count, uint64_t cpu_ns)
{
	uint64_t start = thread_cpu_ns(), now = start, seed = 1, x = 1;

	while (now - start < cpu_ns) {
		for (int i = 0; i < count; i++) {
			uint64_t before = now;

			x = parts[i].burn(parts[i].weight * 30 * jitter(&seed), x);
			now = thread_cpu_ns();
			parts[i].cpu_ns += now - before;
		}
	}
	if (x == 42)
		puts("");
}

static inline void print_parts(const struct part *parts, int count)
{
	for (int i = 0; i < count; i++)
		printf("\"%s\": %llu, ", parts[i].name, (unsigned long long)parts[i].cpu_ns);
}

static inline uint64_t timeval_ns(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000u;
}
