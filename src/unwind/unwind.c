/*
 * The loop: emit the address at hand, find its rule, step to the caller.
 *
 * Which way is taken at a frame is decided there and then:
 *
 *     rule FRAME by CFI     step; if it leads nowhere, the stack ends (bad CFI)
 *     rule FRAME by code    step; the return address must lie behind a call, else as NONE
 *     rule SLOW             the whole row
 *     rule SWITCHED         Go left its goroutine's stack: find it again (go_stacks.c)
 *     rule NONE             the frame pointer, checked; then the scan
 *     rule ROOT             done
 */
#include "unwind/unwind.h"

#include "unwind/unwinder.h"

#include <errno.h>
#include <stdlib.h>

enum { STEPPED = -1 }; /* beside enum stack_stop */

struct memory *walk_memory(const struct walk *walk)
{
	return &walk->unwinder->memory;
}

int unwinder_new(const struct unwinder_options *options, struct unwinder **ret_unwinder)
{
	const size_t align = _Alignof(struct unwinder);
	void *allocated = calloc(1, sizeof(struct unwinder) + align - 1);
	struct unwinder *u;

	if (!allocated)
		return -ENOMEM;
	u = (void *)(((uintptr_t)allocated + align - 1) & ~(uintptr_t)(align - 1));
	u->allocated = allocated;
	modules_init(&u->modules, options);
	*ret_unwinder = u;
	return 0;
}

void unwinder_free(struct unwinder *unwinder)
{
	if (!unwinder)
		return;
	modules_done(&unwinder->modules);
	free(unwinder->allocated);
}

void unwinder_forget(struct unwinder *unwinder, uint32_t dso)
{
	modules_forget(&unwinder->modules, dso);
	memset(unwinder->links, 0, sizeof(unwinder->links));
	for (unsigned i = 0; i < RULES; i++)
		if (dso == TARGET_NONE || unwinder->rules[i].dso == dso)
			unwinder->rules[i].kind = RULE_EMPTY;
	for (unsigned i = 0; i < ROW_RULES; i++)
		if (dso == TARGET_NONE || unwinder->row_rules[i].rule.dso == dso)
			unwinder->row_rules[i].hi = 0;
}

void unwinder_stats(const struct unwinder *unwinder, struct unwind_stats *ret_stats)
{
	*ret_stats = unwinder->stats;
	ret_stats->modules_opened = unwinder->modules.opened;
	ret_stats->modules_refused = unwinder->modules.refused;
	ret_stats->modules_evicted = unwinder->modules.evicted;
	ret_stats->tables_bytes = unwinder->modules.bytes;
}

/* Which word of a record is which register: the same for all records of an event. */
static void registers_order(struct regs_order *order, const struct arch *arch, uint64_t mask)
{
	*order = (struct regs_order){.arch = arch, .mask = mask, .pc_at = ARCH_NONE};
	for (; mask; mask &= mask - 1) {
		unsigned bit = (unsigned)__builtin_ctzll(mask);
		uint8_t at = order->words++;

		if (bit == arch->perf_pc)
			order->pc_at = at;
		if (bit >= arch->perf_count || arch->dwarf_of_perf[bit] == ARCH_NONE)
			continue;
		order->of[order->count].at = at;
		order->of[order->count++].reg = arch->dwarf_of_perf[bit];
		order->known |= 1ull << arch->dwarf_of_perf[bit];
	}
}

/* The registers of the record, by DWARF number. False: there are none to begin with. */
static bool registers_load(struct walk *walk)
{
	struct regs_order *order = &walk->unwinder->regs_order;
	const struct wick_regs *regs = walk->in->regs;

	if (!regs->abi)
		return false;
	if (order->mask != regs->mask || order->arch != walk->arch)
		registers_order(order, walk->arch, regs->mask);
	if (order->pc_at == ARCH_NONE || regs->values.n < order->words)
		return false;
	for (unsigned i = 0; i < order->count; i++)
		walk->regs[order->of[i].reg] = wick_word(regs->values, order->of[i].at);
	walk->known = order->known;
	walk->pc = wick_word(regs->values, order->pc_at) & walk->addr_mask;
	return reg_known(walk, walk->arch->sp);
}

static bool walk_begin(struct walk *walk, struct unwinder *unwinder,
	const struct unwind_input *in, struct unwind_result *out)
{
	unsigned bits = in->addr_bits ? in->addr_bits : 48;

	walk->unwinder = unwinder;
	walk->in = in;
	walk->out = out;
	walk->arch = arch_of(in->arch);
	walk->known = 0;
	walk->backwards = 0;
	walk->edge_total = 0;
	walk->sure_count = 0;
	walk->switched = false;
	walk->late = LATE_UNTRIED;
	walk->exact = true;
	walk->addr_mask =
		in->arch == UNWIND_AARCH64 && bits < 64 ? (1ull << bits) - 1 : UINT64_MAX;
	if (!walk->arch || in->process >= in->target->process_count || !registers_load(walk))
		return false;
	walk->process = &in->target->processes[in->process];
	walk->stack = in->stack;
	walk->stack_addr = walk->regs[walk->arch->sp];
	walk->stack_bytes = in->stack ? in->stack_bytes : 0;
	if (walk->stack_bytes > UINT64_MAX - walk->stack_addr)
		walk->stack_bytes = UINT64_MAX - walk->stack_addr;
	memory_begin(&unwinder->memory);
	return true;
}

/* Frame pointer, then scan. */
static int step_without_cfi(struct walk *walk, unsigned *ret_how)
{
	int rc = step_fp(walk), fp_rc = rc;
	enum stack_stop fail = walk->fail;

	*ret_how = UNWIND_BY_FP;
	if (rc == 0)
		return STEPPED;
	if (!walk->in->no_scan) {
		*ret_how = UNWIND_BY_SCAN;
		if (step_scan(walk) == 0)
			return STEPPED;
	}
	return fp_rc == -EFAULT ? (int)fail : STOP_NO_CFI;
}

/* What a step changes. */
struct saved {
	uint64_t regs[CFI_REGS], known;
	uint32_t backwards, edge_total;
	struct edge edges[2];
};

static void save(const struct walk *walk, struct saved *saved)
{
	memcpy(saved->regs, walk->regs, (walk->arch->ra + 2u) * sizeof(saved->regs[0]));
	saved->known = walk->known;
	saved->backwards = walk->backwards;
	saved->edge_total = walk->edge_total;
	memcpy(saved->edges, walk->edges, sizeof(saved->edges));
}

static void restore(struct walk *walk, const struct saved *saved, uint64_t pc, bool exact)
{
	memcpy(walk->regs, saved->regs, (walk->arch->ra + 2u) * sizeof(saved->regs[0]));
	walk->known = saved->known;
	walk->backwards = saved->backwards;
	walk->edge_total = saved->edge_total;
	memcpy(walk->edges, saved->edges, sizeof(saved->edges));
	walk->pc = pc;
	walk->exact = exact;
}

/* By code: believed when it leads to a call. */
static int step_code(struct walk *walk, const struct rule *cached, unsigned *ret_how)
{
	struct rule rule = *cached; /* looking for calls may take its place */
	uint64_t pc = walk->pc;
	bool exact = walk->exact;
	struct saved saved;
	int rc;

	if (rule.kind == RULE_UNSURE && step_fp(walk) == 0) {
		*ret_how = UNWIND_BY_FP;
		return STEPPED;
	}
	save(walk, &saved);
	rc = step_rule(walk, &rule);
	*ret_how = UNWIND_BY_CODE;
	if (rc == 0 && lookup_is_call(walk, walk->pc) != CALL_NO)
		return STEPPED;
	if (rc == -EFAULT)
		return (int)walk->fail;
	restore(walk, &saved, pc, exact);
	return step_without_cfi(walk, ret_how);
}

static int by_cfi(struct walk *walk, int rc, unsigned *ret_how)
{
	if (rc == 0)
		return STEPPED;
	/* A guess before has lost a register: guess on. */
	if (rc == -ENODATA)
		return step_without_cfi(walk, ret_how);
	return rc == -EFAULT ? (int)walk->fail : STOP_BAD_CFI;
}

/* STEPPED, or why there is no caller. */
static int step(struct walk *walk, const struct rule *rule, unsigned *ret_how)
{
	int rc;

	*ret_how = UNWIND_BY_CFI;
	switch (rule->kind) {
	case RULE_FRAME:
		return by_cfi(walk, step_rule(walk, rule), ret_how);
	case RULE_CODE:
	case RULE_UNSURE:
		return step_code(walk, rule, ret_how);
	case RULE_SLOW:
		rc = lookup_row(walk, rule);
		if (rc == 0)
			rc = step_slow(walk, &walk->unwinder->row);
		return by_cfi(walk, rc, ret_how);
	case RULE_SIGRETURN:
		return by_cfi(walk, step_sigreturn(walk), ret_how);
	case RULE_SWITCHED:
		return step_switched(walk, rule) < 0 ? (int)STOP_SWITCHED : STEPPED;
	case RULE_JUMPING:
		return step_jumping(walk, rule) < 0 ? (int)STOP_SWITCHED : STEPPED;
	case RULE_ROOT:
		return STOP_ROOT;
	case RULE_BAD:
		return STOP_BAD_CFI;
	default:
		if ((rule->flags & RULE_NO_RETURN) && reg_known(walk, walk->arch->fp) &&
			!walk->regs[walk->arch->fp])
			return STOP_ROOT;
		return step_without_cfi(walk, ret_how);
	}
}

static void emit(struct walk *walk, const struct rule *rule, unsigned how)
{
	struct unwind_result *out = walk->out;
	bool exact = walk->exact || rule->flags & RULE_STARTS;

	out->addrs[out->count] = walk->pc;
	if (out->hows)
		out->hows[out->count] = (uint8_t)(how | (exact ? UNWIND_EXACT : 0));
	out->counts[how]++;
	out->count++;
}

/*
 * Late memory is as old as its youngest write. Where frames that are gone (but still lie there)
 * meet what came after them, the caller does not call the callee.
 */
static bool late_caller_fits(struct walk *walk, uint64_t callee, bool exact)
{
	const struct rule *caller;

	if (!walk->pc || walk->exact) /* the end; an interrupted frame calls nobody */
		return true;
	caller = lookup_rule(walk, walk->pc, false);
	/* What a signal's handler returns to has not called it. */
	return caller->kind == RULE_ROOT || (caller->flags & RULE_STARTS) ||
	       lookup_links(walk, callee, exact, walk->pc);
}

/*
 * Memory that was given back and taken again is full of zeros: a return address of 0 in a frame
 * of zeros, from `low` on, is none. Other frames of that kind are where a coroutine began.
 */
static bool frame_is_zero(struct walk *walk, uint64_t low)
{
	enum { LOOK_AT = 16 * 8 };
	uint64_t end = walk->regs[walk->arch->sp] - 8, value;

	if (end <= low)
		return false;
	low = end - low > LOOK_AT ? end - LOOK_AT : low;
	for (uint64_t at = low; at < end; at += 8)
		if (walk_u64(walk, at, &value) < 0 || value)
			return false;
	return true;
}

/* Only what the copy told stays. */
static enum stack_stop late_is_torn(struct walk *walk)
{
	walk->late = LATE_BAD;
	walk->fail_addr = walk->stack_addr + walk->stack_bytes;
	walk->out->count = walk->sure_count;
	walk->out->stop_addr = walk->out->addrs[walk->sure_count - 1];
	return walk->switched ? STOP_SWITCHED : STOP_COPY_EXHAUSTED;
}

static enum stack_stop climb(struct walk *walk)
{
	struct unwind_result *out = walk->out;
	uint32_t limit = walk->in->depth_limit ? walk->in->depth_limit : UNWIND_DEPTH_MAX;
	unsigned how = UNWIND_LEAF;

	limit = limit < out->cap ? limit : out->cap;
	if (!limit)
		return STOP_DEPTH;
	for (;;) {
		const struct rule *rule = lookup_rule(walk, walk->pc, walk->exact);
		bool exact = walk->exact;
		uint64_t callee = walk->pc, low = walk->regs[walk->arch->sp];
		int rc;

		/* Nobody returns to where no code is. */
		if (rule->kind == RULE_UNMAPPED && out->count)
			return STOP_BAD_CFI;
		if (out->count == limit)
			return STOP_DEPTH;
		emit(walk, rule, how);
		out->stop_addr = walk->pc;
		out->stop_dso = rule->dso;
		if (walk->late != LATE_GOOD)
			walk->sure_count = out->count;
		rc = step(walk, rule, &how);
		if (rc != STEPPED)
			return (enum stack_stop)rc;
		if (walk->late == LATE_GOOD && !late_caller_fits(walk, callee, exact))
			return late_is_torn(walk);
		if (!walk->pc)
			return walk->late == LATE_GOOD && frame_is_zero(walk, low)
				       ? late_is_torn(walk)
				       : STOP_ROOT;
	}
}

static void result_edges(const struct walk *walk, struct unwind_result *out)
{
	uint32_t n = walk->edge_total < 2 ? walk->edge_total : 2;

	for (uint32_t i = 0; i < n; i++) {
		const struct edge *edge = &walk->edges[(walk->edge_total - n + i) & 1];

		out->edges[i] = (struct unwind_edge){edge->cfa, edge->slot, edge->value};
	}
	out->edge_count = n;
}

static void finish(struct walk *walk, struct unwind_result *out)
{
	const struct mapping *mapping;

	/* It may have changed under our hands, or have led nowhere. */
	if (!memory_still_good(walk) ||
		(walk->late == LATE_GOOD &&
			(out->stop == STOP_BAD_CFI || out->stop == STOP_UNREADABLE)))
		out->stop = late_is_torn(walk);
	out->late = walk->late == LATE_GOOD;
	out->late_refused = walk->late == LATE_BAD;
	if (out->stop == STOP_COPY_EXHAUSTED || out->stop == STOP_UNREADABLE ||
		out->stop == STOP_SWITCHED)
		out->stop_read = walk->fail_addr;
	if (out->stop != STOP_ROOT) { /* of data, too */
		mapping = target_find(walk->in->target, walk->in->process, out->stop_addr);
		out->stop_dso = mapping ? mapping->dso : TARGET_NONE;
	}
	result_edges(walk, out);
}

void unwind_run(struct unwinder *unwinder, const struct unwind_input *input,
	struct unwind_result *result)
{
	struct walk walk;

	*result = (struct unwind_result){
		.addrs = result->addrs, .hows = result->hows, .cap = result->cap};
	result->stop = STOP_NO_USER;
	result->stop_dso = TARGET_NONE;
	if (!walk_begin(&walk, unwinder, input, result))
		return;
	result->stop = climb(&walk);
	unwinder->stats.frames += result->count;
	finish(&walk, result);
}
