#include "perfdata/syncer.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

struct syncer {
	pthread_t thread;
	sem_t asked;
	int fd;
	bool stop; /* atomic */
};

static void *syncer_run(void *ctx)
{
	struct syncer *syncer = ctx;

	for (;;) {
		while (sem_wait(&syncer->asked) < 0 && errno == EINTR)
			;
		while (sem_trywait(&syncer->asked) == 0)
			; /* one sync serves all who asked */
		if (__atomic_load_n(&syncer->stop, __ATOMIC_ACQUIRE))
			return NULL;
		fdatasync(syncer->fd); /* where it fails there is nothing better to do */
	}
}

struct syncer *syncer_start(int fd)
{
	struct syncer *syncer = calloc(1, sizeof(*syncer));

	if (!syncer)
		return NULL;
	syncer->fd = fd;
	if (sem_init(&syncer->asked, 0, 0) < 0) {
		free(syncer);
		return NULL;
	}
	if (pthread_create(&syncer->thread, NULL, syncer_run, syncer) != 0) {
		sem_destroy(&syncer->asked);
		free(syncer);
		return NULL;
	}
	return syncer;
}

void syncer_ask(struct syncer *syncer)
{
	if (syncer)
		sem_post(&syncer->asked);
}

void syncer_stop(struct syncer *syncer)
{
	if (!syncer)
		return;
	__atomic_store_n(&syncer->stop, true, __ATOMIC_RELEASE);
	sem_post(&syncer->asked);
	pthread_join(syncer->thread, NULL);
	sem_destroy(&syncer->asked);
	free(syncer);
}
