#include "target/maps.h"
#include "tests/unit_test.h"

#include <errno.h>
#include <string.h>

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t address(uint32_t i)
{
	return 0x10000 + (uint64_t)i * 0x1000;
}

/* One cell an address: what a mapping says of it, told by the dso and the file offset. */
struct cell {
	uint32_t dso;
	uint64_t foff;
};

enum { CELLS = 40, EDGE = 3, NOTHING = UINT32_MAX };

static void check_against(struct maps *maps, const struct cell *cells)
{
	for (uint32_t i = 0; maps && i < maps->count; i++) {
		assert_true(maps->at[i].start < maps->at[i].end);
		if (i)
			assert_true(maps->at[i - 1].end <= maps->at[i].start);
	}
	for (uint32_t round = 0; round < 2; round++) { /* the second answers come by hints */
		for (uint32_t i = 0; i < CELLS; i++) {
			const struct mapping *found = maps_find(maps, address(i) + 0xfff);

			assert_int_equal(found ? found->dso : NOTHING, cells[i].dso);
			if (!found)
				continue;
			assert_int_equal(
				address(i) - found->start + found->pgoff, cells[i].foff);
			assert_ptr_equal(maps_find(maps, address(i)), found);
		}
	}
	assert_null(maps_find(maps, 0));
	assert_null(maps_find(maps, UINT64_MAX));
}

static void insert_both(
	struct maps **maps, struct cell *cells, uint32_t from, uint32_t to, uint32_t dso)
{
	const struct mapping mapping = {
		address(from), address(to), (uint64_t)dso << 32, dso, 0};

	assert_int_equal(maps_insert(maps, &mapping), 0);
	for (uint32_t i = from; i < to; i++)
		cells[i] = (struct cell){dso, mapping.pgoff + address(i) - address(from)};
}

static void maps_agree_with_a_naive_model(void **state)
{
	uint64_t seed = 88172645463325252u;

	(void)state;
	for (uint32_t run = 0; run < 300; run++) {
		struct maps *maps = NULL;
		struct cell cells[CELLS];

		for (uint32_t i = 0; i < CELLS; i++)
			cells[i] = (struct cell){NOTHING, 0};
		for (uint32_t step = 0; step < 60; step++) {
			uint32_t from = (uint32_t)(next_random(&seed) % CELLS);
			uint32_t longest = run % 2 ? 3 : CELLS;
			uint32_t len = 1 + (uint32_t)(next_random(&seed) % longest);
			uint32_t to = from + len < CELLS ? from + len : CELLS;

			insert_both(&maps, cells, from, to, step);
			check_against(maps, cells);
		}
		maps_put(maps);
	}
}

/* Every pair of mappings over every third one in a small space. */
static void every_overlap_of_three_is_right(void **state)
{
	enum { N = 6 };
	uint32_t range[3][2], tried = 0;

	(void)state;
	for (uint32_t code = 0; code < N * N * N * N * N * N; code++) {
		struct maps *maps = NULL;
		struct cell cells[CELLS];
		uint32_t rest = code;
		bool sane = true;

		for (uint32_t i = 0; i < 3; i++) {
			range[i][0] = rest % N;
			range[i][1] = rest / N % N + 1;
			rest /= N * N;
			sane = sane && range[i][0] < range[i][1];
		}
		if (!sane)
			continue;
		for (uint32_t i = 0; i < CELLS; i++)
			cells[i] = (struct cell){NOTHING, 0};
		for (uint32_t i = 0; i < 3; i++)
			insert_both(&maps, cells, range[i][0], range[i][1], i);
		check_against(maps, cells);
		maps_put(maps);
		tried++;
	}
	assert_int_equal(tried, 21 * 21 * 21);
}

static void shared_maps_part_at_the_first_change(void **state)
{
	struct mapping mapping = {0x1000, 0x2000, 0, 1, 0};
	struct maps *parent = NULL, *child;

	(void)state;
	assert_int_equal(maps_insert(&parent, &mapping), 0);
	child = maps_get(parent);
	assert_int_equal(parent->refs, 2);
	mapping.dso = 2;
	assert_int_equal(maps_insert(&child, &mapping), 0);
	assert_ptr_not_equal(child, parent);
	assert_int_equal(parent->refs, 1);
	assert_int_equal(maps_find(parent, 0x1800)->dso, 1);
	assert_int_equal(maps_find(child, 0x1800)->dso, 2);
	maps_put(parent);
	maps_put(child);
}

/* From below, from above, and then one too many in each place: nothing may change. */
static void the_limit_holds_and_both_directions_are_cheap(void **state)
{
	(void)state;
	for (uint32_t downwards = 0; downwards < 2; downwards++) {
		struct maps *maps = NULL;
		struct mapping mapping = {0, 0, 0, 7, 0};

		for (uint32_t i = 0; i < TARGET_MAPPINGS_LIMIT; i++) {
			uint64_t at = downwards ? TARGET_MAPPINGS_LIMIT - i : i + 1;

			mapping.start = at * 0x2000;
			mapping.end = mapping.start + 0x1000;
			assert_int_equal(maps_insert(&maps, &mapping), 0);
		}
		assert_int_equal(maps->count, TARGET_MAPPINGS_LIMIT);
		mapping.start = 0x1000;
		mapping.end = 0x2000;
		assert_int_equal(maps_insert(&maps, &mapping), -ENOSPC);
		mapping.start = 0x2400; /* would split one into three */
		mapping.end = 0x2800;
		assert_int_equal(maps_insert(&maps, &mapping), -ENOSPC);
		assert_int_equal(maps->count, TARGET_MAPPINGS_LIMIT);
		mapping.start = 0x2000; /* in place of one: fits */
		mapping.end = 0x3000;
		mapping.dso = 8;
		assert_int_equal(maps_insert(&maps, &mapping), 0);
		assert_int_equal(maps_find(maps, 0x2fff)->dso, 8);
		assert_null(maps_find(maps, 0x3000));
		assert_int_equal(
			maps_find(maps, (uint64_t)TARGET_MAPPINGS_LIMIT * 0x2000)->dso, 7);
		maps_put(maps);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(maps_agree_with_a_naive_model),
	cmocka_unit_test(every_overlap_of_three_is_right),
	cmocka_unit_test(shared_maps_part_at_the_first_change),
	cmocka_unit_test(the_limit_holds_and_both_directions_are_cheap),
};
UNIT_TESTS("maps", tests)
