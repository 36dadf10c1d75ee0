/*
 * Small profiles for the unit tests of this room: stacks written as text. To be included behind
 * tests/unit_test.h.
 */
#pragma once

#include "profile/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline uint32_t make_module(struct profile *p, enum module_kind kind, const char *path)
{
	struct module module = {.kind = kind};
	uint32_t id;

	assert_int_equal(profile_string(p, path, &module.path), 0);
	assert_int_equal(profile_module(p, &module, &id), 0);
	return id;
}

static inline uint32_t make_function(
	struct profile *p, uint32_t module, const char *name, uint64_t addr)
{
	struct function function = {.module = module, .addr = addr};
	uint32_t id;

	assert_int_equal(profile_string(p, name, &function.name), 0);
	function.linkage_name = function.name;
	assert_int_equal(profile_function(p, &function, &id), 0);
	return id;
}

/* A frame with one name; "" is a frame without. The same name and module give the same frame.
 */
static inline uint32_t make_frame(struct profile *p, uint32_t module, const char *name)
{
	struct line line = {0};
	uint32_t string, id;

	assert_int_equal(profile_string(p, name, &string), 0);
	assert_int_equal(profile_frame(p, module, 0x1000 + string * 0x100, true, 0, &id), 0);
	if (*name && !p->frames[id].resolved) {
		line.function = make_function(p, module, name, 0x1000 + string * 0x100);
		assert_int_equal(profile_resolve(p, id, &line, 1), 0);
	}
	return id;
}

/* "main work leaf", root first, all in one module. */
static inline uint32_t make_stack(struct profile *p, uint32_t module, const char *names)
{
	uint32_t stack = PROFILE_NONE;
	char name[64];

	while (*names) {
		size_t len = strcspn(names, " ");

		assert_true(len < sizeof(name));
		memcpy(name, names, len);
		name[len] = '\0';
		assert_int_equal(
			profile_stack(p, stack, make_frame(p, module, name), &stack), 0);
		names += len + (names[len] == ' ');
	}
	return stack;
}

static inline void make_sample(
	struct profile *p, const char *comm, uint32_t stack, uint64_t weight)
{
	struct sample sample = {.stack = stack, .weight = weight, .time_ns = 5000001234};
	uint32_t thread, event;

	assert_int_equal(profile_thread(p, 42, 42, comm, &thread), 0);
	assert_int_equal(profile_event(p, "cpu-clock:u", true, &event), 0);
	sample.thread = thread;
	sample.event = (uint16_t)event;
	assert_int_equal(profile_add(p, &sample), 0);
}

/* What a writer of this room wrote; free() it. */
struct written {
	char *text;
	size_t len;
};

static inline FILE *written_open(struct written *written)
{
	FILE *out = open_memstream(&written->text, &written->len);

	assert_non_null(out);
	return out;
}
