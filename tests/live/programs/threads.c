/*
 * usage: threads COUNT LATE MSEC [wait]
 *
 * COUNT threads named "early-N" and the main thread burn MSEC of their CPU time each. When half
 * of that is done, each of the first LATE of them creates a thread "late-N" that burns as much.
 * With "wait" all of it begins when a line arrives on stdin; "ready" is said when the threads
 * exist. Odd threads burn in burn_odd, even ones in burn_even, the main thread in burn_main.
 */
#include "truth.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

BURN(burn_odd)
BURN(burn_even)
BURN(burn_main)

#define MOST 256

struct thread {
	pthread_t handle;
	struct part part;
	char name[16];
	int tid;
	struct thread *child; /* created in the middle of its work */
	uint64_t cpu_ns;
};

static struct thread early[MOST], late[MOST];
static uint64_t budget_ns;
static pthread_barrier_t created, go;

static void create_late(struct thread *thread);

static void burn_thread(struct thread *thread)
{
	uint64_t half = budget_ns / 2;

	thread->tid = (int)syscall(SYS_gettid);
	run_parts(&thread->part, 1, half);
	if (thread->child)
		create_late(thread->child);
	run_parts(&thread->part, 1, half);
	if (thread->child)
		pthread_join(thread->child->handle, NULL);
	thread->cpu_ns = thread_cpu_ns();
}

static void *late_main(void *arg)
{
	struct thread *thread = arg;

	pthread_setname_np(pthread_self(), thread->name);
	burn_thread(thread);
	return NULL;
}

static void *early_main(void *arg)
{
	struct thread *thread = arg;

	pthread_setname_np(pthread_self(), thread->name);
	pthread_barrier_wait(&created);
	pthread_barrier_wait(&go);
	burn_thread(thread);
	return NULL;
}

static void create_late(struct thread *thread)
{
	pthread_create(&thread->handle, NULL, late_main, thread);
}

static void fill(struct thread *thread, const char *kind, int number)
{
	snprintf(thread->name, sizeof(thread->name), "%s-%d", kind, number);
	thread->part.burn = number % 2 ? burn_odd : burn_even;
	thread->part.name = number % 2 ? "burn_odd" : "burn_even";
	thread->part.weight = 50;
}

static void print_thread(const struct thread *thread, const char *end)
{
	printf("{\"name\": \"%s\", \"tid\": %d, \"function\": \"%s\", \"cpu_ns\": %llu}%s",
		thread->name, thread->tid, thread->part.name,
		(unsigned long long)thread->cpu_ns, end);
}

int main(int argc, char **argv)
{
	int count = atoi(argv[1]), late_count = atoi(argv[2]);
	struct thread self = {.part = {"burn_main", burn_main, 50, 0}};
	char line[16];

	budget_ns = strtoull(argv[3], NULL, 10) * 1000000u;
	pthread_barrier_init(&created, NULL, (unsigned)count + 1);
	pthread_barrier_init(&go, NULL, (unsigned)count + 1);
	for (int i = 0; i < count; i++) {
		fill(&early[i], "early", i);
		fill(&late[i], "late", i);
		early[i].child = i < late_count ? &late[i] : NULL;
		pthread_create(&early[i].handle, NULL, early_main, &early[i]);
	}
	pthread_barrier_wait(&created);
	printf("ready\n");
	fflush(stdout);
	if (argc > 4 && !fgets(line, sizeof(line), stdin))
		return 1;
	pthread_barrier_wait(&go);
	snprintf(self.name, sizeof(self.name), "threads");
	burn_thread(&self);
	for (int i = 0; i < count; i++)
		pthread_join(early[i].handle, NULL);
	printf("{\"threads\": [");
	for (int i = 0; i < count; i++)
		print_thread(&early[i], ", ");
	for (int i = 0; i < late_count; i++)
		print_thread(&late[i], ", ");
	print_thread(&self, "]");
	printf(", \"pid\": %d, \"cpu_ns\": %llu}\n", (int)getpid(),
		(unsigned long long)clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	(void)argc;
	return 0;
}
