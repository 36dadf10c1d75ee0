/*
 * How: one walk over the unit's tree of entries, which goes into whatever may hold functions.
 *
 *     compile_unit                          scopes       ranges
 *       subprogram a      [10, 90)          0            [10 20) = 0
 *         lexical_block                                  [20 30) = 1
 *           inlined b     [20, 40)          1, in 0      [30 40) = 2
 *             inlined c   [30, 40)          2, in 1      [40 90) = 0
 *
 * The line table comes from libdw sorted by address; the rows that say nothing new are dropped.
 */
#include "object/debug_internal.h"

#include "base/array.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

struct walk {
	struct debug_unit *unit;
	uint64_t entries_left; /* no more entries than the unit has bytes: no endless walk */
};

uint32_t debug_number(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if (!dwarf_attr(die, attribute, &attr) || dwarf_formudata(&attr, &value) != 0 ||
		value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

int debug_ranges_add(struct intervals *list, Dwarf_Die *die, uint32_t value, uint64_t *ret_lo)
{
	Dwarf_Addr base = 0, lo, hi;
	ptrdiff_t at = 0;
	int n = 0, r;

	*ret_lo = 0;
	while (n < DEBUG_RANGES_MAX && (at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0) {
		/* All ones, and on top of that an offset: code that the linker threw away. */
		if (lo >= hi || lo >= UINT64_MAX - 1)
			continue;
		r = intervals_add(list, lo, hi, value);
		if (r == -ENOMEM)
			return r;
		if (!n++ || lo < *ret_lo)
			*ret_lo = lo;
	}
	return n;
}

static bool may_hold_functions(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		return true;
	default:
		return false;
	}
}

static int scope_add(struct walk *w, Dwarf_Die *die, bool inlined, uint32_t *parent)
{
	struct debug_unit *unit = w->unit;
	struct debug_scope *scope;
	uint64_t lo;
	int n = debug_ranges_add(&unit->ranges, die, unit->scope_count, &lo), r;

	if (n < 0)
		return n;
	if (!inlined)
		*parent = UINT32_MAX; /* a function in a function is not inlined into it */
	if (!n && *parent == UINT32_MAX)
		return 0;
	r = array_reserve(&unit->scopes, &unit->scope_cap, (uint64_t)unit->scope_count + 1,
		sizeof(*unit->scopes), DEBUG_SCOPES_MAX);
	if (r < 0) {
		while (unit->ranges.count &&
			unit->ranges.items[unit->ranges.count - 1].value == unit->scope_count)
			unit->ranges.count--;
		return r == -ENOMEM ? r : 0;
	}
	scope = &unit->scopes[unit->scope_count];
	*scope = (struct debug_scope){.die = *die, .lo = lo, .parent = *parent};
	if (inlined) {
		scope->call_file = debug_number(die, DW_AT_call_file);
		scope->call_line = debug_number(die, DW_AT_call_line);
		scope->call_column = debug_number(die, DW_AT_call_column);
	}
	*parent = unit->scope_count++;
	return 0;
}

static int walk_children(struct walk *w, Dwarf_Die *die, uint32_t parent, int depth)
{
	Dwarf_Die child;
	int r;

	if (depth > DEBUG_DEPTH_MAX || dwarf_child(die, &child) != 0)
		return 0;
	do {
		int tag = dwarf_tag(&child);
		uint32_t scope = parent;

		if (!w->entries_left)
			return -ELOOP;
		w->entries_left--;
		if (!may_hold_functions(tag))
			continue;
		r = 0;
		if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
			r = scope_add(w, &child, tag == DW_TAG_inlined_subroutine, &scope);
		if (!r && dwarf_haschildren(&child) > 0)
			r = walk_children(w, &child, scope, depth + 1);
		if (r < 0)
			return r;
	} while (!dwarf_siblingof(&child, &child));
	return 0;
}

static bool row_is_news(const struct debug_row *last, const struct debug_row *row)
{
	return row->end != last->end || row->line != last->line || row->file != last->file ||
	       row->column != last->column;
}

static struct debug_row row_of(Dwarf_Lines *lines, size_t i)
{
	Dwarf_Line *line = dwarf_onesrcline(lines, i);
	struct debug_row row = {.file = dwarf_linesrc(line, NULL, NULL)};
	Dwarf_Addr addr = 0;
	int number = 0, column = 0;
	bool end = false;

	dwarf_lineaddr(line, &addr);
	dwarf_lineno(line, &number);
	dwarf_linecol(line, &column);
	dwarf_lineendsequence(line, &end);
	row.addr = addr;
	row.line = number > 0 ? (uint32_t)number : 0;
	row.column = column > 0 && column < UINT16_MAX ? (uint16_t)column : 0;
	row.end = end;
	return row;
}

static int rows_read(struct debug_unit *unit, Dwarf_Die *die)
{
	Dwarf_Lines *lines;
	size_t n;

	if (dwarf_getsrclines(die, &lines, &n) != 0 || !n || n > UINT32_MAX)
		return 0;
	unit->rows = malloc(n * sizeof(*unit->rows));
	if (!unit->rows)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct debug_row row = row_of(lines, i), *last;

		last = unit->row_count ? &unit->rows[unit->row_count - 1] : NULL;
		if (last && last->addr == row.addr)
			*last = row; /* the last row of an address counts */
		else if (!last || row_is_news(last, &row))
			unit->rows[unit->row_count++] = row;
	}
	return 0;
}

int debug_unit_walk(
	struct debug_unit *unit, Dwarf_Die *die, Dwarf_Die *lines_die, uint64_t unit_bytes)
{
	struct walk walk = {.unit = unit, .entries_left = unit_bytes};
	Dwarf_Attribute attr;
	int r;

	unit->die = *die;
	unit->walked = true;
	if (dwarf_attr(lines_die, DW_AT_comp_dir, &attr))
		unit->comp_dir = dwarf_formstring(&attr);
	if (dwarf_getsrcfiles(die, &unit->files, &unit->file_count) != 0)
		unit->files = NULL;
	r = walk_children(&walk, die, UINT32_MAX, 0);
	if (r == -ELOOP)
		r = 0;
	if (!r)
		r = intervals_flatten(&unit->ranges);
	return r ? r : rows_read(unit, lines_die);
}

void debug_unit_done(struct debug_unit *unit)
{
	struct debug_unit kept = {
		.offset = unit->offset, .bytes = unit->bytes, .dwo_name = unit->dwo_name};

	free(unit->scopes);
	free(unit->rows);
	intervals_done(&unit->ranges);
	*unit = kept;
}

/* libdw keeps its own rows, of about twice the size, until its handle is closed. */
uint64_t debug_unit_bytes(const struct debug_unit *unit)
{
	return unit->scope_cap * sizeof(*unit->scopes) +
	       unit->row_count * 3 * sizeof(*unit->rows) +
	       unit->ranges.cap * sizeof(*unit->ranges.items);
}
