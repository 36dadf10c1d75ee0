/*
 * From an address to its rule.
 *
 * The cache has sets of RULE_WAYS rules by (address, exact). A rule whose generation is the
 * process's is right as it is. After a change of the maps (or for another process with the same
 * file at the same place) a look at the mappings tells whether it still is. Else the rule is
 * worked out: mapping -> module -> CFI row, or what the code does.
 *
 * Where a thread was interrupted is another address nearly every time, but mostly in a row that
 * was worked out before. So a rule that holds for all of its row is kept a second time, with
 * the row's range, under the block of code that it was asked for.
 */
#include "unwind/starts.h"
#include "unwind/unwinder.h"

#include <errno.h>
#include <sys/mman.h>

/* A file's first instructions, where they have no CFI: written by hand, and called by nobody.
 */
enum { ENTRY_BYTES = 64 };

static bool is_code(const struct mapping *mapping)
{
	return mapping && (!mapping->prot || (mapping->prot & PROT_EXEC));
}

/* The module's vaddr of a run-time address; false: no segment of the file holds it. */
static bool vaddr_of(
	const struct module *module, const struct rule *rule, uint64_t addr, uint64_t *ret)
{
	return elf_foff_to_vaddr(
		module->elf.segments, module->elf.segment_count, addr - rule->bias, ret);
}

static struct module *module_of(struct walk *walk, const struct rule *rule)
{
	struct module *module;

	if (rule->dso == TARGET_NONE)
		return NULL;
	module = modules_get(&walk->unwinder->modules, walk->in->target, rule->dso);
	return module && module->elf.machine == walk->arch->machine ? module : NULL;
}

static int row_at(struct walk *walk, struct module *module, uint64_t vaddr)
{
	struct unwinder *u = walk->unwinder;
	struct cfi *cfi = modules_cfi(&u->modules, module);
	size_t had;
	int rc;

	if (!cfi)
		return -ENOENT;
	had = cfi_bytes(cfi);
	rc = cfi_find(cfi, vaddr, &u->row);
	if (cfi_bytes(cfi) != had)
		modules_recount(&u->modules, module);
	return rc;
}

/* As unwinder_options.code_row, for code without a file; -ENODATA for everything else. */
static int row_of_code(struct walk *walk, const struct rule *rule, uint64_t addr)
{
	const struct unwinder_options *options = &walk->unwinder->modules.options;
	const struct target *target = walk->in->target;

	if (!options->code_row || rule->dso == TARGET_NONE ||
		target->dsos[rule->dso].key.kind != DSO_ANON)
		return -ENODATA;
	return options->code_row(
		options->ctx, target, walk->in->process, addr, &walk->unwinder->row);
}

int lookup_row(struct walk *walk, const struct rule *rule)
{
	struct module *module = module_of(walk, rule);
	uint64_t vaddr;

	if (rule == &walk->unwinder->passing)
		return row_of_code(walk, rule, walk->pc - !walk->exact);
	if (!module || !vaddr_of(module, rule, walk->pc - !walk->exact, &vaddr))
		return -ENOENT;
	return row_at(walk, module, vaddr);
}

/* ---- what the code does */

struct code_source {
	struct walk *walk;
	const struct module *module; /* NULL: the process's memory */
};

static size_t source_read(void *ctx, uint64_t at, void *ret_bytes, size_t len)
{
	struct code_source *source = ctx;
	const struct unwind_input *in = source->walk->in;

	if (source->module)
		return code_read(&source->module->elf, at, ret_bytes, len);
	if (!in->read_memory)
		return 0;
	if (in->read_memory(in->read_ctx, at, ret_bytes, len) == (int)len)
		return len;
	/* The rest of the page. */
	len = MEMORY_PAGE - (at & (MEMORY_PAGE - 1)) < len
		      ? MEMORY_PAGE - (at & (MEMORY_PAGE - 1))
		      : len;
	return in->read_memory(in->read_ctx, at, ret_bytes, len) == (int)len ? len : 0;
}

/* `at`: pc, as a vaddr where there is a module. */
static void rule_by_code(
	struct walk *walk, struct module *module, struct rule *rule, uint64_t at, bool exact)
{
	struct code_source source = {walk, module};
	struct code_view view = {
		.read = source_read, .ctx = &source, .at = at, .after_call = !exact};
	struct code_result code;

	if (!walk->arch->code_frame)
		return;
	if (module) {
		modules_starts(&walk->unwinder->modules, module);
		view.starts = module->starts;
		view.start_count = module->start_count;
		view.function_start =
			function_start_before(view.starts, view.start_count, at - !exact);
	}
	if (walk->arch->code_frame(&view, &code))
		rule_of_code(walk->arch, &code, rule);
	else if (code.no_return)
		rule->flags |= RULE_NO_RETURN;
}

/*
 * A return address that nobody's call left: makecontext() and its like put the start of a
 * function where theirs will return to. What lies before it is something else.
 */
static bool starts_a_root(struct walk *walk, struct module *module, uint64_t vaddr)
{
	const struct cfi_row *row = &walk->unwinder->row;
	uint8_t bytes[8];
	size_t len = walk->arch->call_bytes_max;

	if (row_at(walk, module, vaddr) < 0 || row->function_start != vaddr)
		return false;
	return code_read(&module->elf, vaddr - len, bytes, len) != len ||
	       !walk->arch->ends_in_call(bytes, len);
}

/* The instructions that end a signal handler, in a libc that has no CFI for them. */
static bool is_sigreturn(struct walk *walk, const struct module *module, uint64_t vaddr)
{
	uint8_t bytes[16];

	return walk->arch->is_sigreturn(
		bytes, code_read(&module->elf, vaddr, bytes, sizeof(bytes)));
}

/* Go knows more than what it writes into .debug_frame: where stacks are switched and end. */
static bool rule_by_go(
	struct walk *walk, struct module *module, struct rule *rule, uint64_t vaddr, bool exact)
{
	struct gopclntab *go = modules_go(&walk->unwinder->modules, module);
	struct go_function function;

	if (!go)
		return false;
	/* The first instruction of runtime.sigreturn, so the address before is another's. */
	if (is_sigreturn(walk, module, vaddr + !exact)) {
		rule->kind = RULE_SIGRETURN;
		rule->flags |= RULE_STARTS;
		return true;
	}
	if (gopclntab_find(go, vaddr, &function) < 0)
		return false;
	rule_of_go(walk->arch, &function, exact, rule);
	return true;
}

/* ---- rules of whole rows; `addr`: that is looked up, at run time */

static struct row_rule *row_rule_of(struct unwinder *u, uint64_t addr)
{
	return &u->row_rules[hash_u64(addr / ROW_BLOCK) & (ROW_RULES - 1)];
}

/* Expressions may count from the address: what comes from them holds for one only. */
static void row_rule_keep(
	struct walk *walk, const struct rule *rule, uint64_t addr, uint64_t vaddr)
{
	const struct cfi_row *row = &walk->unwinder->row;

	if (rule->kind != RULE_FRAME || row->cfa.kind == CFI_VAL_EXPR ||
		(rule->flags & RULE_FROM_REG) || vaddr < row->start || vaddr >= row->end)
		return;
	*row_rule_of(walk->unwinder, addr) = (struct row_rule){
		addr - (vaddr - row->start), addr + (row->end - vaddr), *rule};
}

/* False as well for a return address behind the row's last instruction: see starts_a_root(). */
static bool row_rule_find(struct walk *walk, struct rule *rule, uint64_t addr, bool exact)
{
	const struct row_rule *kept = row_rule_of(walk->unwinder, addr);
	struct rule found = kept->rule;

	if (addr < kept->lo || addr + !exact >= kept->hi || found.dso != rule->dso ||
		found.bias != rule->bias)
		return false;
	found.key = rule->key;
	found.generation = rule->generation;
	*rule = found;
	walk->unwinder->stats.from_rows++;
	return true;
}

static void rule_make(struct walk *walk, struct rule *rule, uint64_t pc, bool exact)
{
	struct module *module = module_of(walk, rule);
	uint64_t vaddr;
	int rc;

	rule->kind = RULE_NONE;
	if (!module) {
		rule_by_code(walk, NULL, rule, pc, exact);
		return;
	}
	if (!vaddr_of(module, rule, pc - !exact, &vaddr))
		return;
	if (rule_by_go(walk, module, rule, vaddr, exact))
		return;
	rc = row_at(walk, module, vaddr);
	if (!exact && (rc == -ENOENT || walk->unwinder->row.function_end == vaddr + 1)) {
		if (starts_a_root(walk, module, vaddr + 1)) {
			rule->kind = RULE_ROOT;
			rule->flags |= RULE_STARTS;
			return;
		}
		rc = row_at(walk, module, vaddr);
	}
	if (rc == 0)
		rule_of_row(walk->arch, &walk->unwinder->row, pc, rule);
	else if (rc != -ENOENT)
		rule->kind = RULE_BAD;
	else if (is_sigreturn(walk, module, vaddr + !exact))
		rule->kind = RULE_SIGRETURN;
	else if (vaddr - module->elf.entry < ENTRY_BYTES)
		rule->kind = RULE_ROOT;
	else
		rule_by_code(walk, module, rule, vaddr + !exact, exact);
	if (!exact &&
		(rule->kind == RULE_SIGRETURN || (rc == 0 && walk->unwinder->row.signal_frame)))
		rule->flags |= RULE_STARTS;
	if (rc == 0)
		row_rule_keep(walk, rule, pc - !exact, vaddr);
}

/*
 * Code that was compiled while the program ran, where somebody knows such code: as its compiler
 * says, else as it reads. False: nobody does.
 */
static bool rule_make_passing(struct walk *walk, struct rule *rule, uint64_t pc, bool exact)
{
	int rc = row_of_code(walk, rule, pc - !exact);

	if (rc == -ENODATA)
		return false;
	if (rc == 0)
		rule->kind = RULE_SLOW;
	else
		rule_make(walk, rule, pc, exact);
	return true;
}

/* Not in the cache as it is: look at the mappings, and work it out if need be. */
static struct rule *rule_fetch(struct walk *walk, struct rule *set, uint64_t pc, bool exact)
{
	struct unwinder *u = walk->unwinder;
	uint64_t key = pc << 1 | exact, bias = 0;
	uint32_t generation = walk->process->generation, dso = TARGET_NONE;
	const struct mapping *mapping =
		target_find(walk->in->target, walk->in->process, pc - !exact);

	if (is_code(mapping)) {
		dso = mapping->dso;
		bias = mapping->start - mapping->pgoff;
	}
	for (unsigned i = 0; i < RULE_WAYS; i++) {
		struct rule *rule = &set[i];

		if (rule->key == key && rule->kind != RULE_EMPTY && rule->dso == dso &&
			rule->bias == bias) {
			rule->generation = generation;
			u->stats.rechecked++;
			return rule;
		}
	}
	u->stats.misses++;
	u->passing =
		(struct rule){.key = key, .bias = bias, .generation = generation, .dso = dso};
	if (rule_make_passing(walk, &u->passing, pc, exact))
		return &u->passing;
	/* The one that was worked out last goes on for another while. */
	for (unsigned i = RULE_WAYS - 1; i > 0; i--)
		set[i] = set[i - 1];
	set[0] = u->passing;
	if (dso == TARGET_NONE)
		set[0].kind = RULE_UNMAPPED;
	else if (!row_rule_find(walk, &set[0], pc - !exact, exact))
		rule_make(walk, &set[0], pc, exact);
	return &set[0];
}

struct rule *lookup_rule(struct walk *walk, uint64_t pc, bool exact)
{
	struct unwinder *u = walk->unwinder;
	uint64_t key = pc << 1 | exact;
	struct rule *set = &u->rules[(hash_u64(key) & (RULE_SETS - 1)) * RULE_WAYS];
	uint32_t generation = walk->process->generation;

	for (unsigned i = 0; i < RULE_WAYS; i++) {
		if (set[i].key == key && set[i].generation == generation &&
			set[i].kind != RULE_EMPTY) {
			u->stats.hits++;
			return &set[i];
		}
	}
	return rule_fetch(walk, set, pc, exact);
}

/* The bytes before an address; 0: not to be had. */
static size_t bytes_before(
	struct walk *walk, const struct rule *rule, uint64_t addr, uint8_t *ret_bytes)
{
	uint64_t len = walk->arch->call_bytes_max, vaddr;
	struct module *module = module_of(walk, rule);

	if (module) {
		if (!vaddr_of(module, rule, addr - len, &vaddr))
			return 0;
		return code_read(&module->elf, vaddr, ret_bytes, len) == len ? len : 0;
	}
	if (!walk->in->read_memory || walk->in->read_memory(walk->in->read_ctx, addr - len,
					      ret_bytes, len) != (int)len)
		return 0;
	return len;
}

enum call_check lookup_is_call(struct walk *walk, uint64_t addr)
{
	struct rule *rule;
	uint8_t bytes[8];
	size_t len;

	if (addr < MEMORY_PAGE || addr >> 56)
		return CALL_NO;
	rule = lookup_rule(walk, addr, false);
	if (rule->kind == RULE_UNMAPPED)
		return CALL_NO;
	if (!(rule->flags & RULE_CALL_ASKED)) {
		len = bytes_before(walk, rule, addr, bytes);
		rule->flags |= RULE_CALL_ASKED;
		if (!len)
			rule->flags |= RULE_CALL_UNKNOWN;
		else if (walk->arch->ends_in_call(bytes, len))
			rule->flags |= RULE_CALL_YES;
	}
	if (rule->flags & RULE_CALL_UNKNOWN)
		return CALL_UNKNOWN;
	return rule->flags & RULE_CALL_YES ? CALL_YES : CALL_NO;
}

/* ---- does a caller call this? */

/* Run-time addresses. */
static size_t mapped_read(void *ctx, uint64_t at, void *ret_bytes, size_t len)
{
	struct code_source *source = ctx;
	struct walk *walk = source->walk;
	const struct mapping *mapping = target_find(walk->in->target, walk->in->process, at);
	struct rule rule = {.dso = TARGET_NONE};
	struct module *module;
	uint64_t vaddr;

	if (!is_code(mapping))
		return 0;
	rule.dso = mapping->dso;
	rule.bias = mapping->start - mapping->pgoff;
	module = module_of(walk, &rule);
	if (!module)
		return source_read(&(struct code_source){walk, NULL}, at, ret_bytes, len);
	return vaddr_of(module, &rule, at, &vaddr)
		       ? code_read(&module->elf, vaddr, ret_bytes, len)
		       : 0;
}

/* The run-time range of the function that holds an address, by Go's table, CFI or symbols. */
static bool function_range(
	struct walk *walk, uint64_t addr, bool exact, uint64_t *ret_lo, uint64_t *ret_hi)
{
	const struct rule *rule = lookup_rule(walk, addr, exact);
	struct unwinder *u = walk->unwinder;
	struct module *module = module_of(walk, rule);
	uint64_t vaddr, bias, lo, hi;
	struct go_function go;

	if (!module || !vaddr_of(module, rule, addr - !exact, &vaddr))
		return false;
	if (module->go && gopclntab_find(module->go, vaddr, &go) == 0) {
		lo = go.start;
		hi = go.end;
	} else if (row_at(walk, module, vaddr) == 0) {
		lo = u->row.function_start;
		hi = u->row.function_end;
	} else {
		modules_starts(&u->modules, module);
		lo = function_start_before(module->starts, module->start_count, vaddr);
		hi = vaddr + 1;
	}
	bias = addr - !exact - vaddr;
	*ret_lo = lo + bias;
	*ret_hi = hi + bias;
	return lo != 0;
}

static bool links_now(struct walk *walk, uint64_t callee, bool exact, uint64_t addr)
{
	struct code_source source = {walk, NULL};
	struct code_view view = {.read = mapped_read, .ctx = &source};
	size_t len = walk->arch->call_bytes_max;
	uint64_t lo, hi;
	uint8_t bytes[8];

	switch (lookup_is_call(walk, addr)) {
	case CALL_NO:
		return false;
	case CALL_UNKNOWN:
		return true;
	case CALL_YES:
		break;
	}
	if (!walk->arch->call_enters || !function_range(walk, callee, exact, &lo, &hi) ||
		mapped_read(&source, addr - len, bytes, len) != len)
		return true;
	return walk->arch->call_enters(&view, bytes, len, addr, lo, hi);
}

bool lookup_links(struct walk *walk, uint64_t callee, bool exact, uint64_t addr)
{
	struct link *link = &walk->unwinder->links[hash_pair(callee, addr) & (LINKS - 1)];
	uint32_t generation = walk->process->generation;

	if (link->callee == callee && link->addr == addr && link->generation == generation)
		return link->fits;
	*link = (struct link){callee, addr, generation, links_now(walk, callee, exact, addr)};
	return link->fits;
}
