/*
 * Code without CFI: where is the return address, and where are the caller's registers?
 *
 * Forwards: a function that returns must undo its frame first, so the instructions from here to
 * any `ret` say how far away the return address is, and each `pop` on the way where a register
 * of the caller lies. All ways to all rets agree in code that keeps to the ABI; where they do
 * not (code that was generated, or a call that does not return was walked over), the answer is
 * called unsure. Jumps are followed, both ways of a conditional one; calls are stepped over
 * (they give the stack back as it was). A way ends without an answer at an indirect jump, at an
 * instruction that stops, and where it runs into the start of the next function (behind a call
 * that does not return).
 *
 * Backwards, if no way comes back: the instructions from the start of the function (if a symbol
 * tells it) to here are added up. That is right behind a plain prologue.
 *
 * Both are bounded by INSNS_MAX decoded instructions.
 */
#include "unwind/arch/x86_code.h"

#include "unwind/arch/x86_insn.h"

#include <string.h>

enum { INSNS_MAX = 2000, WAYS_MAX = 32, WEAK_MAX = 8, SEEN_SLOTS = 4096, WINDOW = 512 };

enum base {
	FROM_SP, /* offsets count from sp as it is at the beginning */
	FROM_BP, /* ... from rbp as it is at the beginning */
};

static const uint8_t tracked[] = {3, 5, 12, 13, 14, 15}; /* as arch.tracked, other numbers */

enum { TRACKED = sizeof(tracked) };

struct way {
	uint64_t at;
	enum base base;
	int64_t sp; /* from base */
	int64_t saved[TRACKED];
	uint8_t saved_known, saved_base; /* bits */
};

struct search {
	const struct code_view *view;
	struct way ways[WAYS_MAX], weak[WEAK_MAX];
	unsigned way_count, weak_count, insns;
	bool stopped, lost; /* a way ended where nothing goes on; or for another reason */
	uint64_t seen[SEEN_SLOTS];
	uint64_t window_start;
	size_t window_len;
	uint8_t window[WINDOW];
};

static int tracked_index(int reg)
{
	for (int i = 0; i < TRACKED; i++)
		if (tracked[i] == reg)
			return i;
	return -1;
}

static bool insn_at(struct search *s, uint64_t at, struct x86_insn *ret)
{
	uint64_t inside = at - s->window_start;

	if (s->insns++ >= INSNS_MAX)
		return false;
	if (at < s->window_start || inside + X86_INSN_MAX > s->window_len) {
		s->window_start = at;
		s->window_len = s->view->read(s->view->ctx, at, s->window, WINDOW);
		inside = 0;
	}
	return inside < s->window_len &&
	       x86_decode(s->window + inside, s->window_len - inside, ret);
}

/* True the first time that an address is seen (or when the table is full there). */
static bool first_time(struct search *s, uint64_t at)
{
	uint64_t *slot = &s->seen[(at * 0x9e3779b97f4a7c15u) >> 52];

	if (*slot == at)
		return false;
	*slot = at;
	return true;
}

static void restored(struct way *way, int reg, enum base base, int64_t offset)
{
	int i = tracked_index(reg);

	if (i < 0)
		return;
	way->saved[i] = offset;
	way->saved_known |= (uint8_t)(1u << i);
	way->saved_base = (uint8_t)((way->saved_base & ~(1u << i)) | (unsigned)base << i);
}

/* rbp as at the beginning? */
static bool bp_intact(const struct way *way)
{
	return !(way->saved_known & 2);
}

/* False: the stack pointer cannot be told any more. */
static bool move_sp(struct way *way, const struct x86_insn *insn)
{
	if (insn->kind == X86_LEAVE || (insn->kind == X86_SP_FROM && insn->reg == X86_BP)) {
		if (!bp_intact(way))
			return false;
		way->base = FROM_BP;
		way->sp = insn->kind == X86_LEAVE ? 0 : insn->value;
		if (insn->kind == X86_LEAVE) {
			restored(way, X86_BP, FROM_BP, 0);
			way->sp = 8;
		}
		return true;
	}
	switch (insn->kind) {
	case X86_PUSH:
		way->sp -= 8;
		return true;
	case X86_POP:
		if (insn->reg == X86_SP)
			return false;
		if (insn->reg >= 0)
			restored(way, insn->reg, way->base, way->sp);
		way->sp += 8;
		return true;
	case X86_ADD_SP:
		way->sp += insn->value;
		return true;
	case X86_SP_FROM:
		way->sp += insn->value;
		return insn->reg == X86_SP;
	case X86_LOAD:
		if (insn->base == X86_SP)
			restored(way, insn->reg, way->base, way->sp + insn->value);
		else if (insn->base == X86_BP && bp_intact(way))
			restored(way, insn->reg, FROM_BP, insn->value);
		return true;
	default:
		return insn->kind != X86_SP_LOST;
	}
}

static void way_add(struct search *s, const struct way *way, uint64_t at)
{
	if (s->way_count == WAYS_MAX)
		return;
	s->ways[s->way_count] = *way;
	s->ways[s->way_count++].at = at;
}

static bool in_reach(int64_t offset)
{
	return offset > -(1 << 24) && offset < (1 << 24);
}

static bool result_of(const struct way *way, struct code_result *ret)
{
	if (!in_reach(way->sp) || way->sp % 8)
		return false;
	ret->cfa_reg = way->base == FROM_SP ? 7 : 6;
	ret->cfa_offset = (int32_t)way->sp + 8;
	ret->ra = -1;
	for (int i = 0; i < TRACKED; i++) {
		int64_t from_cfa = way->saved[i] - ret->cfa_offset;

		ret->saved[i] = CODE_NOT_SAVED;
		if ((way->saved_known >> i & 1) &&
			(way->saved_base >> i & 1) == (int)way->base && from_cfa % 8 == 0 &&
			from_cfa > -(1 << 17) && from_cfa < 0)
			ret->saved[i] = (int16_t)(from_cfa / 8);
	}
	return true;
}

/*
 * Padding behind a call: most often the call does not return, and the next function follows.
 * It may be the head of a loop, too.
 */
static bool is_weak(struct search *s, uint64_t next)
{
	struct x86_insn insn;

	return insn_at(s, next, &insn) && insn.kind == X86_NOP &&
	       (insn.length > 1 || !((next + 1) & 15));
}

/* Follows one way to its end. True: it returned. */
static bool follow(struct search *s, struct way *way)
{
	struct x86_insn insn;

	while (first_time(s, way->at)) {
		uint64_t next;

		if (!insn_at(s, way->at, &insn)) {
			s->lost = true;
			return false;
		}
		next = way->at + insn.length;
		switch (insn.kind) {
		case X86_RET:
			return true;
		case X86_STOP:
			s->stopped = true;
			return false;
		case X86_JMP_FAR_AWAY:
			s->lost = true;
			return false;
		case X86_JMP:
			way->at = next + (uint64_t)insn.value;
			continue;
		case X86_JCC:
			way_add(s, way, next + (uint64_t)insn.value);
			break;
		case X86_CALL:
			if (!is_weak(s, next))
				break;
			if (s->weak_count < WEAK_MAX && !code_is_start(s->view, next)) {
				s->weak[s->weak_count] = *way;
				s->weak[s->weak_count++].at = next;
			}
			s->stopped = true;
			return false;
		default:
			if (!move_sp(way, &insn)) {
				s->lost = true;
				return false;
			}
		}
		if (code_is_start(s->view, next)) {
			s->stopped = true;
			return false;
		}
		way->at = next;
	}
	return false;
}

static bool same_frame(const struct code_result *a, const struct code_result *b)
{
	return a->cfa_reg == b->cfa_reg && a->cfa_offset == b->cfa_offset;
}

/* True: a way returned; *ret is what it found, "unsure" when another found something else. */
static bool ways_follow(struct search *s, struct code_result *ret)
{
	struct code_result other;
	bool found = false;

	while (s->way_count) {
		struct way way = s->ways[--s->way_count];

		if (!follow(s, &way) || !result_of(&way, found ? &other : ret))
			continue;
		if (found && !same_frame(ret, &other)) {
			ret->unsure = true;
			return true;
		}
		found = true;
	}
	return found;
}

static bool forwards(struct search *s, struct code_result *ret)
{
	struct way way = {.at = s->view->at};

	/* A call that does not return may be the last instruction of its function. */
	if (s->view->after_call && (code_is_start(s->view, way.at) || is_weak(s, way.at))) {
		s->stopped = true;
		return false;
	}
	way_add(s, &way, way.at);
	return ways_follow(s, ret);
}

/* What the ways behind calls with padding say, if nothing better is known. */
static bool forwards_weak(struct search *s, struct code_result *ret)
{
	memcpy(s->ways, s->weak, sizeof(s->weak));
	s->way_count = s->weak_count;
	s->insns = 0;
	return s->way_count && ways_follow(s, ret) && !ret->unsure;
}

static bool backwards(struct search *s, struct code_result *ret)
{
	const struct code_view *view = s->view;
	int64_t depth = 0, deepest = 0, saved[TRACKED];
	uint64_t at = view->function_start;
	struct x86_insn insn;
	uint8_t known = 0;
	bool ended = false;

	s->insns = 0;
	if (!at || at > view->at)
		return false;
	while (at < view->at) {
		if (!insn_at(s, at, &insn))
			return false;
		at += insn.length;
		if (insn.kind == X86_PUSH) {
			int i = tracked_index(insn.reg);

			depth -= 8;
			if (i >= 0 && !(known >> i & 1)) {
				saved[i] = depth;
				known |= (uint8_t)(1u << i);
			}
		} else if (insn.kind == X86_ADD_SP) {
			depth += insn.value;
		} else if (insn.kind == X86_POP) {
			depth += 8;
		} else if (insn.kind == X86_RET || insn.kind == X86_JMP) {
			depth = deepest; /* what follows was jumped to from before */
			ended = true;
		} else if (insn.kind == X86_NOP && ended && at % 16 == 0) {
			depth = deepest = 0; /* another function, without a symbol */
			known = 0;
		}
		if (insn.kind != X86_NOP && insn.kind != X86_RET && insn.kind != X86_JMP)
			ended = insn.kind == X86_CALL || insn.kind == X86_STOP;
		if (insn.kind == X86_SP_LOST || insn.kind == X86_SP_FROM ||
			insn.kind == X86_LEAVE)
			return false;
		deepest = depth < deepest ? depth : deepest;
	}
	if (depth > 0 || !in_reach(depth) || depth % 8)
		return false;
	ret->cfa_reg = 7;
	ret->cfa_offset = (int32_t)(8 - depth);
	ret->ra = -1;
	for (int i = 0; i < TRACKED; i++)
		ret->saved[i] = known >> i & 1 && saved[i] >= depth
					? (int16_t)((saved[i] - 8) / 8)
					: CODE_NOT_SAVED;
	return true;
}

bool x86_code_frame(const struct code_view *view, struct code_result *ret_result)
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
	return backwards(&s, ret_result) || forwards_weak(&s, ret_result);
}

/* Looks through a function's code for a direct jump into [lo, hi). */
static bool jumps_into(const struct code_view *view, uint64_t at, uint64_t lo, uint64_t hi)
{
	uint8_t bytes[256];
	struct x86_insn insn;
	size_t have = 0, used = 0;

	for (unsigned n = 0; n < INSNS_MAX; n++) {
		if (have - used < X86_INSN_MAX) {
			have = view->read(view->ctx, at, bytes, sizeof(bytes));
			used = 0;
		}
		if (!x86_decode(bytes + used, have - used, &insn))
			return false;
		used += insn.length;
		at += insn.length;
		if (insn.kind == X86_JMP || insn.kind == X86_JCC) {
			uint64_t to = at + (uint64_t)insn.value;

			if (to >= lo && to < hi)
				return true;
		}
		/* A stub of the PLT is little else than a jump through memory. */
		if (insn.kind == X86_JMP_FAR_AWAY && n < 3)
			return true;
	}
	return false;
}

bool x86_call_enters(const struct code_view *view, const uint8_t *bytes, size_t len,
	uint64_t addr, uint64_t lo, uint64_t hi)
{
	int32_t by;
	uint64_t target;

	if (len < 5 || bytes[len - 5] != 0xe8)
		return true;
	memcpy(&by, bytes + len - 4, sizeof(by));
	target = addr + (uint64_t)(int64_t)by;
	/* Where the function starts may not be known exactly: anywhere in it is fine. */
	return (target >= lo && target < hi) || jumps_into(view, target, lo, hi);
}
