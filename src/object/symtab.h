/*
 * The symbol-table type: functions by address. Whatever has functions (ELF, kallsyms, perf
 * maps) is put into a builder in any order and becomes one compact, sorted, immutable table.
 *
 *     symbols  | addr size name | addr size name | ...   sorted, one an address, 16 bytes each
 *     outer    | index          | index          | ...   only where functions are nested
 *     names    main\0frobnicate\0...                     of the kept symbols only
 *
 * What an address belongs to: the last function that starts at or before it, if it reaches that
 * far; else the function around that one, and so on. How far a function reaches:
 *
 *   - with a size: to its end, and over the padding up to the next multiple of 16, but not into
 *     the next function (compilers align functions; the no-ops between belong to nobody else);
 *   - without a size (assembly): to the next symbol, or to its limit (the end of its section);
 *   - a label (no size, no type) inside a function with a size is part of it and dropped.
 *
 * Aliases (several names for one address): a function wins over an untyped symbol, then one
 * with a size, then GLOBAL over WEAK over LOCAL, then fewer leading underscores, then the
 * shorter, then the alphabetically smaller. Names stay as they are: no underscore is ever taken
 * off.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SYMTAB_SYMBOLS_MAX = 20 * 1000 * 1000 };

/* Bits of symbol_in.rank, the better the higher. */
enum {
	SYMBOL_LOCAL = 1,
	SYMBOL_WEAK = 2,
	SYMBOL_GLOBAL = 3,
	SYMBOL_SIZED = 4, /* set by the builder */
	SYMBOL_TYPED = 8,
};

struct symbol_in {
	uint64_t addr;
	uint64_t size;	/* 0: unknown */
	uint64_t limit; /* it cannot reach beyond this address; 0: unknown */
	const char *name;
	uint32_t name_len;
	uint8_t rank;
};

struct symbol_raw; /* the builder's own */

/* A zeroed struct is an empty builder. */
struct symtab_builder {
	struct symbol_raw *raw;
	char *names;
	uint32_t count, cap, names_len, names_cap;
	uint64_t refused; /* additions beyond a limit */
};

struct symbol {
	uint64_t addr;
	uint32_t size; /* how far it reaches, padding included */
	uint32_t name; /* offset in names */
};

/* A zeroed struct is an empty table. */
struct symtab {
	struct symbol *symbols;
	uint32_t *outer; /* the symbol around this one, UINT32_MAX: none; NULL: no nesting at
			    all */
	char *names;
	uint32_t count, names_bytes;
	uint32_t last; /* the last hit of symtab_find() */
};

/* Copies the name (cut at 64 KiB). 0, -ENOMEM, or -ENOSPC at a limit (counted; building goes
 * on). */
int symtab_add(struct symtab_builder *builder, const struct symbol_in *in);

/*
 * Lowers the limit of the symbol that was added last: for sources that list data between
 * functions (kallsyms), in order of address. Nothing happens when `addr` is not above it.
 */
void symtab_limit_last(struct symtab_builder *builder, uint64_t addr);

/* The address that was added under a name, by looking at all of them. */
bool symtab_added(const struct symtab_builder *builder, const char *name, uint64_t *ret_addr);

/* Makes the table and empties the builder, also on failure (-ENOMEM). */
int symtab_build(struct symtab_builder *builder, struct symtab *ret_table);
void symtab_builder_done(struct symtab_builder *builder);
void symtab_done(struct symtab *table);

/* The function at `addr`, or NULL. Remembers the hit: a table is for one thread at a time. */
const struct symbol *symtab_find(struct symtab *table, uint64_t addr);

static inline const char *symbol_name(const struct symtab *table, const struct symbol *symbol)
{
	return table->names + symbol->name;
}

/* Memory held, for reports. */
size_t symtab_bytes(const struct symtab *table);
