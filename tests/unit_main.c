/* Runs every group of unit tests that is linked in; see unit_test.h. */
#include "tests/unit_test.h"

#include <stdio.h>
#include <string.h>

static struct unit_group *groups;

void unit_register(struct unit_group *group)
{
	group->next = groups;
	groups = group;
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (const struct unit_group *group = groups; group; group = group->next) {
		if (argc > 1 && strcmp(argv[1], group->name) != 0)
			continue;
		failed += _cmocka_run_group_tests(
			group->name, group->tests, group->count, NULL, NULL);
	}
	return failed ? 1 : 0;
}
