/* Cleanup attributes for locals, and the small macros that everybody needs. */
#pragma once

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static inline void cleanup_free_ptr(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose_file(FILE **f)
{
	if (*f)
		fclose(*f);
}

#define cleanup_free	 __attribute__((cleanup(cleanup_free_ptr)))
#define cleanup_close	 __attribute__((cleanup(cleanup_close_fd)))
#define cleanup_fclose	 __attribute__((cleanup(cleanup_fclose_file)))
#define cleanup_with(fn) __attribute__((cleanup(fn)))

/* Hands the value of a cleanup variable to the caller. */
static inline int take_fd(int *fd)
{
	int out = *fd;

	*fd = -1;
	return out;
}

static inline void *take_ptr(void *pp)
{
	void **slot = pp, *out = *slot;

	*slot = NULL;
	return out;
}
