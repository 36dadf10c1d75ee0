/*
 * How: one pass over the text with a hand-written parser, a line at a time. The kernel proper
 * comes first and in order of address; a module's lines follow in one run each, so "the current
 * builder" changes rarely. A module that comes back later (it should not) becomes a second
 * entry of the name.
 */
#include "object/kallsyms.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LAST_FUNCTION_MAX = 64 << 10 /* a last function ends somewhere: at most this far */ };

struct line {
	uint64_t addr;
	char type;
	const char *name, *module; /* module: NULL, or behind the '[' */
	size_t name_len, module_len;
};

struct parse {
	struct kallsyms *out;
	struct symtab_builder builder; /* of the current module, or of the kernel */
	char current[sizeof(((struct kallsyms_module *)0)->name)]; /* "": the kernel proper */
	bool any, nonzero;
};

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* "addr type name[\t[module]]" without the newline; false when it does not read so. */
static bool line_parse(const char *at, const char *end, struct line *ret)
{
	const char *start = at, *tab;
	int digit;

	for (ret->addr = 0; at < end && (digit = hex_digit(*at)) >= 0; at++)
		ret->addr = ret->addr << 4 | (uint64_t)digit;
	if (at == start || at - start > 16 || end - at < 4 || at[0] != ' ' || at[2] != ' ')
		return false;
	ret->type = at[1];
	ret->name = at + 3;
	tab = memchr(ret->name, '\t', (size_t)(end - ret->name));
	ret->name_len = (size_t)((tab ? tab : end) - ret->name);
	ret->module = NULL;
	ret->module_len = 0;
	if (tab && end - tab > 3 && tab[1] == '[' && end[-1] == ']') {
		ret->module = tab + 2;
		ret->module_len = (size_t)(end - 1 - ret->module);
	}
	return ret->name_len > 0;
}

static bool is_code(char type)
{
	return strchr("tTwWiIuU", type) && type;
}

static uint64_t table_end(const struct symtab *table)
{
	const struct symbol *last = &table->symbols[table->count - 1];

	return last->addr + last->size;
}

/* The builder's functions become the kernel's table or a new module's. */
static int flush(struct parse *p)
{
	struct kallsyms *out = p->out;
	struct kallsyms_module *module;
	struct symtab table = {0};
	int r;

	if (!p->builder.count)
		return 0;
	r = symtab_build(&p->builder, &table);
	if (r < 0)
		return r;
	if (!p->current[0] && !out->kernel.count) {
		out->kernel = table;
		return 0;
	}
	r = array_reserve(&out->modules, &out->module_cap, (uint64_t)out->module_count + 1,
		sizeof(*out->modules), KALLSYMS_MODULES_MAX);
	if (r < 0) {
		symtab_done(&table);
		return r == -ENOSPC ? 0 : r;
	}
	module = &out->modules[out->module_count++];
	*module = (struct kallsyms_module){
		.low = table.symbols[0].addr,
		.high = table_end(&table),
		.table = table,
	};
	memcpy(module->name, p->current, sizeof(module->name));
	return 0;
}

static bool is_current(const struct parse *p, const struct line *line)
{
	size_t len = line->module ? line->module_len : 0;

	return len < sizeof(p->current) && !p->current[len] &&
	       !memcmp(p->current, line->module ? line->module : "", len);
}

static int line_add(struct parse *p, const struct line *line)
{
	struct symbol_in in = {
		.addr = line->addr,
		.limit = line->addr + LAST_FUNCTION_MAX,
		.name = line->name,
		.name_len = (uint32_t)line->name_len,
	};
	int r;

	p->any = true;
	if (!line->addr)
		return 0;
	p->nonzero = true;
	if (!is_current(p, line)) {
		size_t len = line->module ? line->module_len : 0;

		r = flush(p);
		if (r < 0)
			return r;
		memset(p->current, 0, sizeof(p->current));
		if (len >= sizeof(p->current))
			len = sizeof(p->current) - 1;
		if (len)
			memcpy(p->current, line->module, len);
	}
	symtab_limit_last(&p->builder, line->addr);
	if (!is_code(line->type))
		return 0;
	if (!line->module && line->name_len == 6 && !memcmp(line->name, "_stext", 6))
		p->out->stext = line->addr;
	/* w and W are weak; of the rest the capital letter is the global one. */
	in.rank = SYMBOL_TYPED | (line->type == 'w' || line->type == 'W' ? SYMBOL_WEAK
					 : line->type < 'a'		 ? SYMBOL_GLOBAL
									 : SYMBOL_LOCAL);
	r = symtab_add(&p->builder, &in);
	return r == -ENOMEM ? r : 0;
}

int kallsyms_parse(const char *text, size_t len, struct kallsyms *ret_kallsyms)
{
	struct kallsyms out = {0};
	struct parse p = {.out = &out};
	const char *at = text, *end = text + len;
	int r = 0;

	while (at < end && r >= 0) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		const char *line_end = nl ? nl : end;
		struct line line;

		if (line_parse(at, line_end, &line))
			r = line_add(&p, &line);
		else if (line_end != at)
			out.bad_lines++;
		at = line_end + 1;
	}
	if (r >= 0)
		r = flush(&p);
	symtab_builder_done(&p.builder);
	if (r < 0) {
		kallsyms_done(&out);
		return r;
	}
	out.state = p.nonzero ? KALLSYMS_FULL : p.any ? KALLSYMS_HIDDEN : KALLSYMS_EMPTY;
	*ret_kallsyms = out;
	return 0;
}

void kallsyms_done(struct kallsyms *kallsyms)
{
	for (uint32_t i = 0; i < kallsyms->module_count; i++)
		symtab_done(&kallsyms->modules[i].table);
	free(kallsyms->modules);
	symtab_done(&kallsyms->kernel);
	*kallsyms = (struct kallsyms){0};
}

const struct symbol *kallsyms_find_in_modules(
	struct kallsyms *kallsyms, const char *name, uint64_t addr, struct symtab **ret_table)
{
	for (uint32_t i = 0; i < kallsyms->module_count; i++) {
		struct kallsyms_module *module = &kallsyms->modules[i];
		const struct symbol *symbol;

		if (addr < module->low || addr >= module->high ||
			(name && strcmp(name, module->name) != 0))
			continue;
		symbol = symtab_find(&module->table, addr);
		if (symbol) {
			*ret_table = &module->table;
			return symbol;
		}
	}
	return NULL;
}
