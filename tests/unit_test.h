/*
 * The frame of a room's unit tests. A foo_test.c registers a group with UNIT_TESTS(); the
 * room's test program (tests/unit_main.c) runs all groups that were linked into it.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct unit_group {
	const char *name;
	const struct CMUnitTest *tests;
	size_t count;
	struct unit_group *next;
};

void unit_register(struct unit_group *group);

/*
 *     static const struct CMUnitTest tests[] = {
 *             cmocka_unit_test(finds_what_was_added),
 *     };
 *     UNIT_TESTS("hash", tests)
 */
#define UNIT_TESTS(group_name, test_array)                                                     \
	static struct unit_group unit_group_here = {                                           \
		group_name, test_array, sizeof(test_array) / sizeof((test_array)[0]), NULL};   \
	__attribute__((constructor)) static void unit_group_register(void)                     \
	{                                                                                      \
		unit_register(&unit_group_here);                                               \
	}
