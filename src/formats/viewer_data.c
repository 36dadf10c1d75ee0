/*
 * The model is packed in one pass over the samples: each distinct stack is walked once, down
 * from the deepest part that is known already, and gives its steps numbers as they are met.
 * What is met (strings, modules, functions, places, nodes) goes through one kind of table that
 * gives equal keys one number. Only what samples use gets in.
 */
#include "formats/viewer_data.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "formats/export.h"

#include <errno.h>
#include <string.h>

enum { KEY_WORDS = 4 };

struct numbered {
	uint32_t (*keys)[KEY_WORDS];
	uint32_t count, cap;
	struct hash_index index;
};

struct packer {
	const struct viewer_data *data;
	const struct profile *profile;
	struct strings extra; /* texts that the profile does not have */
	struct numbered strings, modules, functions, places, nodes;
	uint32_t *node_of; /* of a stack; PROFILE_NONE: not met yet */
	uint32_t *path;	   /* stacks still to be stepped down */
	uint32_t path_cap;
};

static void numbered_done(struct numbered *table)
{
	free(table->keys);
	hash_done(&table->index);
}

static void packer_done(struct packer *p)
{
	strings_done(&p->extra);
	numbered_done(&p->strings);
	numbered_done(&p->modules);
	numbered_done(&p->functions);
	numbered_done(&p->places);
	numbered_done(&p->nodes);
	free(p->node_of);
	free(p->path);
}

static int number(
	struct numbered *table, const uint32_t key[static KEY_WORDS], uint32_t *ret_number)
{
	uint32_t hash =
		hash_pair((uint64_t)key[0] << 32 | key[1], (uint64_t)key[2] << 32 | key[3]);
	struct hash_probe probe = hash_probe(&table->index, hash);
	uint32_t id;
	int rc;

	while (hash_next(&table->index, &probe, &id)) {
		if (!memcmp(table->keys[id], key, sizeof(*table->keys))) {
			*ret_number = id;
			return 0;
		}
	}
	rc = array_reserve(&table->keys, &table->cap, (uint64_t)table->count + 1,
		sizeof(*table->keys), VIEWER_NODE_LIMIT);
	if (rc == 0)
		rc = hash_add(&table->index, hash, table->count);
	if (rc < 0)
		return rc;
	memcpy(table->keys[table->count], key, sizeof(*table->keys));
	*ret_number = table->count++;
	return 0;
}

/* ---- numbers for what is met */

/* A text of the profile's (own: false) or of `extra`. */
static int number_string(struct packer *p, uint32_t string, bool extra, uint32_t *ret_number)
{
	const uint32_t key[KEY_WORDS] = {string, extra, 0, 0};

	return number(&p->strings, key, ret_number);
}

static int number_text(struct packer *p, const char *text, uint32_t *ret_number)
{
	uint32_t id;
	int rc;

	text = text ? text : "";
	rc = strings_add(&p->extra, text, strlen(text), &id);
	return rc < 0 ? rc : number_string(p, id, true, ret_number);
}

static int number_module(struct packer *p, uint32_t module, uint32_t *ret_number)
{
	uint32_t key[KEY_WORDS] = {MODULE_MARKER, 0, 0, 0};
	int rc;

	if (module < p->profile->module_count) {
		key[0] = p->profile->modules[module].kind;
		rc = number_string(p, p->profile->modules[module].path, false, &key[1]);
	} else {
		rc = number_text(p, MODULE_UNMAPPED, &key[1]);
	}
	return rc < 0 ? rc : number(&p->modules, key, ret_number);
}

static int number_function(
	struct packer *p, uint32_t frame, uint32_t line, uint32_t *ret_number)
{
	const struct profile *profile = p->profile;
	const struct frame *f = &profile->frames[frame];
	uint32_t module = f->module;
	uint32_t key[KEY_WORDS] = {0};
	int rc;

	if (!f->marker && line < f->line_count)
		module = profile->functions[profile->lines[f->first_line + line].function]
				 .module;
	rc = number_text(p, frame_name(profile, frame, line), &key[0]);
	if (rc == 0)
		rc = number_module(p, module, &key[1]);
	return rc < 0 ? rc : number(&p->functions, key, ret_number);
}

/* One step of a path: a function at a line. */
static int step_down(struct packer *p, uint32_t frame, uint32_t line, uint32_t *node)
{
	const struct frame *f = &p->profile->frames[frame];
	uint32_t place[KEY_WORDS] = {0};
	uint32_t step[KEY_WORDS] = {*node, 0, 0, 0};
	int rc = number_function(p, frame, line, &place[0]);

	if (rc == 0 && line < f->line_count) {
		const struct line *at = &p->profile->lines[f->first_line + line];

		rc = number_string(p, at->file, false, &place[1]);
		place[2] = at->line;
	} else if (rc == 0) {
		rc = number_text(p, "", &place[1]);
	}
	place[3] = line + 1 < f->line_count; /* inlined into the next one */
	if (rc == 0)
		rc = number(&p->places, place, &step[1]);
	return rc < 0 ? rc : number(&p->nodes, step, node);
}

static int step_frame(struct packer *p, uint32_t frame, uint32_t *node)
{
	uint32_t lines = p->profile->frames[frame].line_count;
	int rc = 0;

	for (uint32_t i = lines ? lines : 1; rc == 0 && i > 0; i--)
		rc = step_down(p, frame, i - 1, node);
	return rc;
}

static int number_stack(struct packer *p, uint32_t stack)
{
	const struct stack *stacks = p->profile->stacks;
	uint32_t node = PROFILE_NONE, depth = 0;
	int rc = 0;

	for (; stack != PROFILE_NONE && p->node_of[stack] == PROFILE_NONE;
		stack = stacks[stack].parent) {
		rc = array_reserve(&p->path, &p->path_cap, (uint64_t)depth + 1,
			sizeof(*p->path), VIEWER_NODE_LIMIT);
		if (rc < 0)
			return rc;
		p->path[depth++] = stack;
	}
	if (stack != PROFILE_NONE)
		node = p->node_of[stack];
	while (rc == 0 && depth > 0) {
		stack = p->path[--depth];
		rc = step_frame(p, stacks[stack].frame, &node);
		p->node_of[stack] = node;
	}
	return rc;
}

static int number_stacks(struct packer *p)
{
	const struct profile *profile = p->profile;
	size_t bytes = ((size_t)profile->stack_count + 1) * sizeof(*p->node_of);
	int rc = 0;

	p->node_of = malloc(bytes);
	if (!p->node_of)
		return -ENOMEM;
	memset(p->node_of, 0xff, bytes);
	for (uint32_t i = 0; rc == 0 && i < profile->sample_count; i++)
		if (profile->samples[i].stack != PROFILE_NONE)
			rc = number_stack(p, profile->samples[i].stack);
	return rc;
}

/* ---- bytes */

static void put(struct strbuf *out, uint64_t value)
{
	char bytes[10];
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[n++] = (char)(value | 0x80);
	bytes[n++] = (char)value;
	strbuf_add(out, bytes, n);
}

static void put_change(struct strbuf *out, uint64_t value, uint64_t *last)
{
	int64_t change = (int64_t)(value - *last);

	put(out, ((uint64_t)change << 1) ^ (uint64_t)(change >> 63));
	*last = value;
}

static void put_column(struct strbuf *out, const struct numbered *table, uint32_t word)
{
	for (uint32_t i = 0; i < table->count; i++)
		put(out, table->keys[i][word]);
}

static void put_strings(struct packer *p, struct strbuf *out)
{
	put(out, p->strings.count);
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < p->strings.count; i++) {
			const uint32_t *key = p->strings.keys[i];
			const char *text =
				strings_get(key[1] ? &p->extra : &p->profile->strings, key[0]);

			if (pass == 0)
				put(out, strlen(text));
			else
				strbuf_add(out, text, strlen(text));
		}
	}
}

static void put_paths(struct packer *p, struct strbuf *out)
{
	put(out, p->modules.count);
	put_column(out, &p->modules, 0);
	put_column(out, &p->modules, 1);
	put(out, p->functions.count);
	put_column(out, &p->functions, 0);
	put_column(out, &p->functions, 1);
	put(out, p->places.count);
	put_column(out, &p->places, 0);
	put_column(out, &p->places, 1);
	for (uint32_t i = 0; i < p->places.count; i++)
		put(out, (uint64_t)p->places.keys[i][2] << 1 | p->places.keys[i][3]);
	put(out, p->nodes.count);
	for (uint32_t i = 0; i < p->nodes.count; i++) {
		uint32_t parent = p->nodes.keys[i][0];

		put(out, parent == PROFILE_NONE ? 0 : i - parent);
	}
	put_column(out, &p->nodes, 1);
}

static uint64_t start_us(const struct profile *profile)
{
	uint64_t first = UINT64_MAX;

	for (uint32_t i = 0; i < profile->sample_count; i++)
		if (profile->samples[i].time_ns < first)
			first = profile->samples[i].time_ns;
	return profile->sample_count ? first / 1000 : 0;
}

enum column { TIME, THREAD, EVENT, NODE, WEIGHT, COLUMNS };

static uint64_t sample_column(
	const struct packer *p, const struct sample *sample, enum column column)
{
	switch (column) {
	case TIME:
		return sample->time_ns / 1000;
	case THREAD:
		return sample->thread;
	case EVENT:
		return sample->event;
	case NODE:
		return sample->stack == PROFILE_NONE ? 0
						     : (uint64_t)p->node_of[sample->stack] + 1;
	default:
		return sample->weight;
	}
}

static void put_samples(struct packer *p, struct strbuf *out)
{
	const struct profile *profile = p->profile;
	uint64_t start = start_us(profile);

	put(out, profile->sample_count);
	put(out, start);
	for (int column = TIME; column < COLUMNS; column++) {
		uint64_t last = column == TIME ? start : 0;

		for (uint32_t i = 0; i < profile->sample_count; i++)
			put_change(out,
				sample_column(p, &profile->samples[i], (enum column)column),
				&last);
	}
}

static void put_span(struct strbuf *out, enum span_kind kind, uint64_t start_us,
	uint64_t length_us, uint64_t thread)
{
	put(out, kind);
	put(out, start_us);
	put(out, length_us);
	put(out, thread);
}

/* A loss that only its recorder knew of has no record, but a first and a last time. */
static void put_spans(const struct profile *profile, struct strbuf *out)
{
	const struct quality *q = &profile->quality;
	uint64_t start = start_us(profile);
	bool lost = !profile->span_count && q->lost && q->first_loss_ns != QUALITY_UNKNOWN &&
		    q->last_loss_ns != QUALITY_UNKNOWN && q->last_loss_ns >= q->first_loss_ns;

	put(out, lost ? 1 : profile->span_count);
	if (lost)
		put_span(out, SPAN_LOST, q->first_loss_ns / 1000,
			(q->last_loss_ns - q->first_loss_ns) / 1000, 0);
	for (uint32_t i = 0; i < profile->span_count; i++) {
		const struct profile_span *span = &profile->spans[i];
		uint64_t from = span->start_ns / 1000, to = span->end_ns / 1000;

		from = from > start ? from - start : 0;
		to = to > start ? to - start : 0;
		put_span(out, span->kind, from, to - from,
			span->thread == PROFILE_NONE ? 0 : span->thread + 1ull);
	}
}

static int put_text(struct packer *p, struct strbuf *out, const char *text)
{
	uint32_t string = 0;
	int rc = number_text(p, text, &string);

	put(out, string);
	return rc;
}

/* Before the strings go out: they are numbered here. */
static int put_words(struct packer *p, struct strbuf *out)
{
	const struct viewer_data *data = p->data;
	const struct profile *profile = p->profile;
	int rc = put_text(p, out,
		profile->event_count ? profile_text(profile, profile->events[0].name)
				     : "samples");

	rc = rc ? rc : put_text(p, out, data->file);
	rc = rc ? rc : put_text(p, out, data->host);
	rc = rc ? rc : put_text(p, out, data->command);
	put(out, profile->event_count);
	for (uint32_t i = 0; rc == 0 && i < profile->event_count; i++)
		rc = put_text(p, out, profile_text(profile, profile->events[i].name));
	for (uint32_t i = 0; i < profile->event_count; i++)
		put(out, profile->events[i].weight_is_ns |
				 export_keeps_event(profile, (uint16_t)i) << 1);
	put(out, data->sentence_count);
	for (uint32_t i = 0; i < data->sentence_count; i++)
		put(out, data->sentences[i].level);
	for (uint32_t i = 0; rc == 0 && i < data->sentence_count; i++)
		rc = put_text(p, out, data->sentences[i].about);
	for (uint32_t i = 0; rc == 0 && i < data->sentence_count; i++)
		rc = put_text(p, out, data->sentences[i].text);
	return rc;
}

static int put_threads(struct packer *p, struct strbuf *out)
{
	const struct profile *profile = p->profile;
	int rc = 0;

	put(out, profile->thread_count);
	for (uint32_t i = 0; i < profile->thread_count; i++)
		put(out, (uint32_t)profile->threads[i].pid);
	for (uint32_t i = 0; i < profile->thread_count; i++)
		put(out, (uint32_t)profile->threads[i].tid);
	for (uint32_t i = 0; rc == 0 && i < profile->thread_count; i++)
		rc = put_text(p, out, profile_text(profile, profile->threads[i].comm));
	return rc;
}

/* A function as number_function() numbers those of frames. */
static int put_code_head(struct packer *p, struct strbuf *out, const struct viewer_code *code)
{
	const struct function *function = &p->profile->functions[code->function];
	uint32_t key[KEY_WORDS] = {0}, id = 0;
	int rc = number_text(p, profile_text(p->profile, function->name), &key[0]);

	rc = rc ? rc : number_module(p, function->module, &key[1]);
	rc = rc ? rc : number(&p->functions, key, &id);
	put(out, id);
	put(out, code->address);
	put(out, code->samples);
	put(out, code->weight);
	return rc ? rc : put_text(p, out, code->note);
}

static int put_code_lines(struct packer *p, struct strbuf *out, const struct viewer_code *code)
{
	const struct viewer_line *lines = code->lines;
	int rc = 0;

	put(out, code->line_count);
	for (uint32_t i = 0; rc == 0 && i < code->line_count; i++)
		rc = put_text(p, out, lines[i].file);
	for (uint32_t i = 0; i < code->line_count; i++)
		put(out, lines[i].line);
	for (uint32_t i = 0; rc == 0 && i < code->line_count; i++) {
		uint32_t string = 0;

		if (lines[i].text)
			rc = number_text(p, lines[i].text, &string);
		put(out, lines[i].text ? string + 1ull : 0);
	}
	for (uint32_t i = 0; i < code->line_count; i++)
		put(out, lines[i].samples);
	for (uint32_t i = 0; i < code->line_count; i++)
		put(out, lines[i].weight);
	return rc;
}

static int put_instructions(
	struct packer *p, struct strbuf *out, const struct viewer_code *code)
{
	const struct viewer_instruction *all = code->instructions;
	int rc = 0;

	put(out, code->instruction_count);
	for (uint32_t i = 0; i < code->instruction_count; i++)
		put(out, all[i].size);
	for (uint32_t i = 0; rc == 0 && i < code->instruction_count; i++)
		rc = put_text(p, out, all[i].text);
	for (uint32_t i = 0; i < code->instruction_count; i++)
		put(out, all[i].line == PROFILE_NONE ? 0 : all[i].line + 1ull);
	for (uint32_t i = 0; i < code->instruction_count; i++)
		put(out, all[i].samples);
	for (uint32_t i = 0; i < code->instruction_count; i++)
		put(out, all[i].weight);
	return rc;
}

static int put_code(struct packer *p, struct strbuf *out)
{
	int rc = 0;

	put(out, p->data->code_count);
	for (uint32_t i = 0; rc == 0 && i < p->data->code_count; i++) {
		rc = put_code_head(p, out, &p->data->code[i]);
		rc = rc ? rc : put_code_lines(p, out, &p->data->code[i]);
		rc = rc ? rc : put_instructions(p, out, &p->data->code[i]);
	}
	return rc;
}

int viewer_data_pack(const struct viewer_data *data, struct strbuf *ret_bytes)
{
	cleanup_with(packer_done) struct packer p = {.data = data, .profile = data->profile};
	cleanup_with(strbuf_done) struct strbuf words = {0}, threads = {0};
	cleanup_with(strbuf_done) struct strbuf code = {0};
	int rc = number_stacks(&p);

	rc = rc ? rc : put_words(&p, &words);
	rc = rc ? rc : put_threads(&p, &threads);
	rc = rc ? rc : put_code(&p, &code);
	if (rc < 0)
		return rc;
	strbuf_puts(ret_bytes, "wickview1\n");
	put_strings(&p, ret_bytes);
	strbuf_add(ret_bytes, strbuf_text(&words), words.len);
	put_paths(&p, ret_bytes);
	strbuf_add(ret_bytes, strbuf_text(&threads), threads.len);
	put_spans(data->profile, ret_bytes);
	strbuf_add(ret_bytes, strbuf_text(&code), code.len);
	put_samples(&p, ret_bytes);
	strbuf_puts(ret_bytes, "end\n");
	return ret_bytes->failed || words.failed || threads.failed || code.failed ? -ENOMEM : 0;
}
