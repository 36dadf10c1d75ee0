/*
 * Code without CFI: the vdso of arm64, stubs of the PLT, musl, assembly.
 *
 * Forwards, as in x86_code.c: a function that returns must have the return address in x30 and
 * sp where it was, so the instructions from here to any `ret` say how far sp has to go, and
 * where x30 and the other registers of the caller are loaded from, or that x30 was never
 * anywhere else. Jumps are followed, both ways of a conditional one; calls are stepped over. A
 * jump through x16 or x17 is a tail call (the PLT's, or a long one) and as good as a return.
 *
 * Backwards, if no way comes back: from the start of the function to here, behind a plain
 * prologue.
 */
#include "unwind/arch/a64_code.h"

#include "unwind/arch/a64_insn.h"

#include <string.h>

enum {
	INSNS_MAX = 2000,
	WAYS_MAX = 32,
	SEEN_SLOTS = 1024,
	WINDOW = 64,
	FIRST = 19,
	SAVED = 12
};

enum base {
	FROM_SP, /* offsets count from sp as it is at the beginning */
	FROM_FP, /* ... from x29 as it is at the beginning */
	FROM_NOWHERE,
};

/* An address: base + value; and where a register of the caller was loaded from. */
struct spot {
	enum base base;
	int64_t value;
};

struct way {
	uint64_t at;
	struct spot sp, fp;
	struct spot saved[SAVED];  /* x19..x30; FROM_NOWHERE: not loaded */
	struct spot stored[SAVED]; /* where this way itself put them */
	bool lr_lost;		   /* x30 holds something else than the return address */
};

struct search {
	const struct code_view *view;
	struct way ways[WAYS_MAX];
	unsigned way_count, insns;
	bool stopped, lost; /* a way ended where nothing goes on; or for another reason */
	uint64_t seen[SEEN_SLOTS];
	uint64_t window_start;
	size_t window_len;
	uint8_t window[WINDOW];
};

static bool insn_at(struct search *s, uint64_t at, struct a64_insn *ret)
{
	uint64_t inside = at - s->window_start;
	uint32_t insn;

	if (at % 4 || s->insns++ >= INSNS_MAX)
		return false;
	if (at < s->window_start || inside + 4 > s->window_len) {
		s->window_start = at;
		s->window_len = s->view->read(s->view->ctx, at, s->window, WINDOW);
		inside = 0;
	}
	if (s->window_len < inside + 4)
		return false;
	memcpy(&insn, s->window + inside, sizeof(insn));
	a64_decode(insn, ret);
	return true;
}

/* True the first time that an address is seen (or when its place in the table was taken). */
static bool first_time(struct search *s, uint64_t at)
{
	uint64_t *slot = &s->seen[at / 4 % SEEN_SLOTS];

	if (*slot == at)
		return false;
	*slot = at;
	return true;
}

static struct spot spot_of(const struct way *way, unsigned reg)
{
	if (reg == A64_SP)
		return way->sp;
	if (reg == A64_FP)
		return way->fp;
	return (struct spot){FROM_NOWHERE, 0};
}

static void loaded(struct way *way, unsigned reg, struct spot from)
{
	if (reg < FIRST || reg >= A64_SP)
		return;
	way->saved[reg - FIRST] = from;
	if (reg == A64_LR)
		way->lr_lost = from.base == FROM_NOWHERE;
}

/* A load: of what lay there before, or of what this way stored there (a prologue is on it). */
static void load(struct way *way, unsigned reg, struct spot from)
{
	struct spot own = {FROM_NOWHERE, 0};

	loaded(way, reg, from);
	if (reg < FIRST || reg >= A64_SP || from.base == FROM_NOWHERE)
		return;
	own = way->stored[reg - FIRST];
	if (own.base == from.base && own.value == from.value)
		way->saved[reg - FIRST].base = FROM_NOWHERE;
}

static void store(struct way *way, unsigned reg, struct spot to)
{
	if (reg >= FIRST && reg < A64_SP && way->saved[reg - FIRST].base == FROM_NOWHERE)
		way->stored[reg - FIRST] = to;
}

static void transfer(struct way *way, const struct a64_insn *insn, struct spot at)
{
	void (*move)(struct way *, unsigned, struct spot) =
		insn->kind == A64_LOAD ? load : store;

	if ((insn->kind != A64_LOAD && insn->kind != A64_STORE) || at.base == FROM_NOWHERE)
		return;
	move(way, insn->reg, at);
	at.value += 8;
	if (insn->reg2 != 31)
		move(way, insn->reg2, at);
}

/* False: the stack pointer cannot be told any more. */
static bool apply(struct way *way, const struct a64_insn *insn)
{
	struct spot from = spot_of(way, insn->base);

	if (insn->kind == A64_ADD) {
		from.value += insn->value;
		if (insn->reg == A64_SP)
			way->sp = from;
		else
			way->fp = from;
		return way->sp.base != FROM_NOWHERE;
	}
	for (uint32_t left = insn->writes; left; left &= left - 1) {
		unsigned reg = (unsigned)__builtin_ctz(left);

		if (reg == A64_FP)
			way->fp.base = FROM_NOWHERE;
		if (insn->kind != A64_CALL || reg == A64_LR)
			loaded(way, reg, (struct spot){FROM_NOWHERE, 0});
	}
	from.value += insn->before + insn->value;
	transfer(way, insn, from);
	if (insn->base == A64_SP)
		way->sp.value += insn->before + insn->after;
	else if (insn->base == A64_FP)
		way->fp.value += insn->before + insn->after;
	return insn->kind != A64_SP_LOST;
}

static void way_add(struct search *s, const struct way *way, uint64_t at)
{
	if (s->way_count == WAYS_MAX)
		return;
	s->ways[s->way_count] = *way;
	s->ways[s->way_count++].at = at;
}

/* In words from the CFA; CODE_NOT_SAVED: not there, or not to be told. */
static int16_t slot_of(struct spot from, struct spot cfa)
{
	int64_t bytes = from.value - cfa.value;

	return from.base == cfa.base && bytes % 8 == 0 && bytes > -(1 << 17) && bytes < 0
		       ? (int16_t)(bytes / 8)
		       : CODE_NOT_SAVED;
}

/* At a return: sp is the CFA, x30 the return address. */
static bool result_of(const struct way *way, struct code_result *ret)
{
	struct spot lr = way->saved[A64_LR - FIRST];

	if (way->sp.base == FROM_NOWHERE || way->lr_lost || way->sp.value < -(1 << 24) ||
		way->sp.value > 1 << 24 || way->sp.value % 8)
		return false;
	ret->cfa_reg = way->sp.base == FROM_SP ? A64_SP : A64_FP;
	ret->cfa_offset = (int32_t)way->sp.value;
	ret->ra_in_reg = lr.base == FROM_NOWHERE;
	ret->ra = slot_of(lr, way->sp);
	for (int i = 0; i < SAVED; i++)
		ret->saved[i] = slot_of(way->saved[i], way->sp);
	return ret->ra_in_reg || ret->ra != CODE_NOT_SAVED;
}

/* x30 is what a call left there, and it is stored: that call did not return. */
static bool is_prologue(const struct way *way, const struct a64_insn *insn)
{
	return insn->kind == A64_STORE && insn->base == A64_SP && way->lr_lost &&
	       (insn->reg == A64_LR || insn->reg2 == A64_LR);
}

/* Follows one way to its end. True: it returned. */
static bool follow(struct search *s, struct way *way)
{
	struct a64_insn insn;

	while (first_time(s, way->at)) {
		if (!insn_at(s, way->at, &insn)) {
			s->lost = true;
			return false;
		}
		switch (insn.kind) {
		case A64_RET:
			return true;
		case A64_STOP:
			s->stopped = true;
			return false;
		case A64_JMP_REG:
			if (insn.base == 16 || insn.base == 17)
				return true;
			s->lost = true;
			return false;
		case A64_JMP:
			/* x30 was loaded again: a tail call */
			if (way->saved[A64_LR - FIRST].base != FROM_NOWHERE)
				return true;
			way->at += (uint64_t)insn.value;
			continue;
		case A64_JCC:
			way_add(s, way, way->at + (uint64_t)insn.value);
			break;
		default:
			if (is_prologue(way, &insn)) {
				s->stopped = true;
				return false;
			}
			if (!apply(way, &insn)) {
				s->lost = true;
				return false;
			}
		}
		way->at += 4;
		if (code_is_start(s->view, way->at)) {
			s->stopped = true;
			return false;
		}
	}
	return false;
}

static struct way way_begin(const struct code_view *view)
{
	struct way way = {.at = view->at, .fp = {FROM_FP, 0}, .lr_lost = view->after_call};

	for (int i = 0; i < SAVED; i++)
		way.saved[i].base = way.stored[i].base = FROM_NOWHERE;
	return way;
}

/* True: a way returned; *ret is what it found, "unsure" when another found something else. */
static bool forwards(struct search *s, struct code_result *ret)
{
	struct way first = way_begin(s->view);
	struct code_result other = *ret;
	bool found = false;

	/* A call that does not return may be the last instruction of its function. */
	if (s->view->after_call && code_is_start(s->view, first.at)) {
		s->stopped = true;
		return false;
	}
	way_add(s, &first, first.at);
	while (s->way_count) {
		struct way way = s->ways[--s->way_count];

		if (!follow(s, &way) || !result_of(&way, found ? &other : ret))
			continue;
		if (found &&
			(ret->cfa_reg != other.cfa_reg || ret->cfa_offset != other.cfa_offset ||
				ret->ra_in_reg != other.ra_in_reg || ret->ra != other.ra)) {
			ret->unsure = true;
			return true;
		}
		found = true;
	}
	return found;
}

/* The prologue, straight from the start: what it stores lies where a return would load it. */
static bool backwards(struct search *s, struct code_result *ret)
{
	const struct code_view *view = s->view;
	struct way way = way_begin(view);
	struct a64_insn insn;
	struct spot cfa = {FROM_SP, 0};
	int64_t deepest = 0;
	bool called = view->after_call;

	s->insns = 0;
	if (!view->function_start || view->function_start > view->at)
		return false;
	way.lr_lost = false;
	for (uint64_t at = view->function_start; at < view->at; at += 4) {
		struct spot to;

		if (!insn_at(s, at, &insn) || insn.kind == A64_SP_LOST)
			return false;
		if (insn.kind == A64_RET || insn.kind == A64_JMP || insn.kind == A64_JMP_REG)
			way.sp.value = deepest; /* what follows was jumped to from before */
		called |= insn.kind == A64_CALL;
		to = spot_of(&way, insn.base);
		to.value += insn.before + insn.value;
		if (insn.kind == A64_STORE)
			transfer(&way, &insn, to);
		if (insn.kind == A64_ADD && insn.reg == A64_SP && insn.base != A64_SP)
			return false;
		if (insn.kind == A64_ADD && insn.reg == A64_SP)
			way.sp.value += insn.value;
		else if (insn.base == A64_SP && insn.kind != A64_ADD)
			way.sp.value += insn.before + insn.after;
		deepest = way.sp.value < deepest ? way.sp.value : deepest;
	}
	/* Offsets so far are from the CFA, which is sp as it was at the start. */
	ret->cfa_reg = A64_SP;
	ret->cfa_offset = (int32_t)-way.sp.value;
	ret->ra = slot_of(way.stored[A64_LR - FIRST], cfa);
	ret->ra_in_reg = ret->ra == CODE_NOT_SAVED && !called;
	for (int i = 0; i < SAVED; i++)
		ret->saved[i] = slot_of(way.stored[i], cfa);
	return way.sp.value <= 0 && way.sp.value > -(1 << 24) &&
	       (ret->ra_in_reg || ret->ra != CODE_NOT_SAVED);
}

bool a64_code_frame(const struct code_view *view, struct code_result *ret_result)
{
	struct search s;

	memset(&s, 0, offsetof(struct search, window));
	s.view = view;
	*ret_result = (struct code_result){0};
	for (int i = 0; i < ARCH_TRACKED_MAX; i++)
		ret_result->saved[i] = CODE_NOT_SAVED;
	if (forwards(&s, ret_result))
		return true;
	ret_result->no_return = s.stopped && !s.lost;
	return backwards(&s, ret_result);
}

/* Does the code from `at` on jump into [lo, hi), or is it a stub of the PLT? */
static bool jumps_into(struct search *s, uint64_t at, uint64_t lo, uint64_t hi)
{
	struct a64_insn insn;

	for (unsigned n = 0; insn_at(s, at, &insn); n++, at += 4) {
		uint64_t to = at + (uint64_t)insn.value;

		if ((insn.kind == A64_JMP || insn.kind == A64_JCC) && to >= lo && to < hi)
			return true;
		if (insn.kind == A64_JMP_REG && n < 5)
			return true;
	}
	return false;
}

bool a64_call_enters(const struct code_view *view, const uint8_t *bytes, size_t len,
	uint64_t addr, uint64_t lo, uint64_t hi)
{
	struct search s = {.view = view};
	struct a64_insn insn;
	uint64_t target;
	uint32_t word;

	if (len < 4)
		return true;
	memcpy(&word, bytes + len - 4, sizeof(word));
	if ((word & 0xfc000000) != 0x94000000)
		return true;
	a64_decode(word, &insn);
	target = addr - 4 + (uint64_t)insn.value;
	/* Where the function starts may not be known exactly: anywhere in it is fine. */
	return (target >= lo && target < hi) || jumps_into(&s, target, lo, hi);
}
