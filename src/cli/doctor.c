/* wick doctor: what works here, what does not, which knob refuses, and how to turn it. */
#include "session/diagnosis.h"

#include "base/cleanup.h"
#include "cli/command.h"
#include "view/json_out.h"
#include "view/paint.h"
#include "view/term.h"

#include <errno.h>
#include <string.h>

enum { INDENT = 11, TITLE_COLUMNS = 24, NARROW = 60, INDENT_NARROW = 4, LABEL_COLUMNS = 6 };

struct options {
	bool json;
};

struct page {
	unsigned width; /* 0: lines are not broken */
	bool colour, narrow;
};

static int set_format(void *ctx, const char *value, struct error *err)
{
	struct options *options = ctx;

	options->json = strcmp(value, "json") == 0;
	if (options->json || !strcmp(value, "text"))
		return 0;
	return error_set(err, -EINVAL, "'%.40s' is not text or json", value);
}

static const struct cli_option doctor_table[] = {
	{0, "format", "FORMAT", "text or json", set_format},
	{0, NULL, NULL, NULL, NULL},
};

static int doctor_main(int argc, char **argv);

const struct cli_command cli_doctor = {
	.name = "doctor",
	.summary = "what works here, which knob refuses the rest, how to turn it",
	.synopsis = "[options]",
	.description =
		"Tries everything that a recording may use: events of each kind, ring buffers, "
		"kernel symbols, tracepoints, cgroups, ptrace, BPF, the limits. Each line "
		"works, is limited, is refused (a knob forbids it) or absent (this machine or "
		"kernel has it not). Beneath stand the knob that refuses (by), the command "
		"that turns it (do), and what wick does without it (else). The end says how "
		"wick record will sample a command, running processes and the whole machine "
		"here.\n\n"
		"Nothing is changed: what is opened is closed, the cgroup that is tried is "
		"removed, and no process but its own children is touched.\n\n"
		"The exit status is 0 when a command can be recorded, and 1 when nothing can.",
	.options = doctor_table,
	.run = doctor_main,
};

static const char *const group_titles[DOCTOR_GROUPS] = {
	[DOCTOR_EVENTS] = "Events",
	[DOCTOR_BUFFERS] = "Buffers and limits",
	[DOCTOR_NAMES] = "Names",
	[DOCTOR_OTHERS] = "Other ways",
};
static const char *const group_ids[DOCTOR_GROUPS] = {"events", "limits", "names", "others"};
static const char *const state_ids[] = {"works", "limited", "refused", "absent"};

/* ---- text */

static const char *state_colour(const struct page *page, enum doctor_state state)
{
	return paint(page->colour, state == DOCTOR_WORKS     ? PAINT_GREEN
				   : state == DOCTOR_LIMITED ? PAINT_YELLOW
				   : state == DOCTOR_REFUSED ? PAINT_RED
							     : PAINT_DIM);
}

/* Words from column `column` on, continued at `indent`; up to a newline or the end. */
static void print_words(
	const struct page *page, const char *text, unsigned column, unsigned indent)
{
	const char *end = text + strcspn(text, "\n");
	bool first = true;

	while (text < end) {
		size_t len = strcspn(text, " \n");

		if (!first && page->width && column + 1 + len > page->width) {
			printf("\n%*s", (int)indent, "");
			column = indent;
			first = true;
		}
		printf("%s%.*s", first ? "" : " ", (int)len, text);
		column += (unsigned)len + !first;
		first = false;
		text += len;
		text += text < end && *text == ' ';
	}
	putchar('\n');
}

static void print_label(const struct page *page, const char *label)
{
	printf("%*s%s%-4s%s  ", page->narrow ? INDENT_NARROW : INDENT, "",
		paint(page->colour, PAINT_DIM), label, paint(page->colour, PAINT_OFF));
}

/* "           by    kernel.perf_event_paranoid = 2" */
static void print_note(const struct page *page, const char *label, const char *text)
{
	unsigned indent = (page->narrow ? INDENT_NARROW : INDENT) + LABEL_COLUMNS;

	if (!*text)
		return;
	print_label(page, label);
	print_words(page, text, indent, indent);
}

/* Commands are to be copied: they are never broken. */
static void print_remedy(const struct page *page, const struct doctor_finding *finding)
{
	for (const char *line = finding->remedy; *line;) {
		int len = (int)strcspn(line, "\n");

		print_label(page, "do");
		printf("%.*s\n", len, line);
		line += len + (line[len] == '\n');
	}
	if (finding->cap) {
		print_label(page, "do");
		printf("setcap %s, see below\n", finding->cap);
	}
}

static void print_finding(const struct page *page, const struct doctor_finding *finding)
{
	printf("  %s%-7s%s  ", state_colour(page, finding->state), state_ids[finding->state],
		paint(page->colour, PAINT_OFF));
	if (page->narrow) {
		printf("%s\n%*s", finding->title, INDENT_NARROW, "");
		print_words(page, finding->detail, INDENT_NARROW, INDENT_NARROW);
	} else {
		printf("%-*s", TITLE_COLUMNS, finding->title);
		print_words(
			page, finding->detail, INDENT + TITLE_COLUMNS, INDENT + TITLE_COLUMNS);
	}
	if (finding->state == DOCTOR_WORKS)
		return;
	print_note(page, "by", finding->knob);
	print_remedy(page, finding);
	print_note(page, "else", finding->without);
}

static void print_title(const struct page *page, const char *title)
{
	printf("\n%s%s%s\n", paint(page->colour, PAINT_BOLD), title,
		paint(page->colour, PAINT_OFF));
}

static void print_surroundings(const struct page *page, const struct doctor_facts *facts)
{
	char text[512];

	snprintf(text, sizeof(text), "Linux %s, %s, %u CPU%s; %s%s; %s%s%s", facts->osrelease,
		facts->arch, facts->cpus, facts->cpus == 1 ? "" : "s",
		facts->uid == 0 ? "root" : "an ordinary user",
		facts->in_user_namespace ? " of a user namespace" : "",
		facts->seccomp == 2   ? "under a seccomp filter"
		: facts->seccomp == 1 ? "in strict seccomp"
				      : "no seccomp filter",
		facts->container[0] ? "; container: " : "", facts->container);
	print_words(page, text, 0, 2);
}

static void print_way(const struct page *page, const char *who, bool works, const char *how)
{
	printf("  %s%-9s%s", paint(page->colour, works ? PAINT_GREEN : PAINT_RED), who,
		paint(page->colour, PAINT_OFF));
	print_words(page, how, INDENT, page->narrow ? INDENT_NARROW : INDENT);
}

static void print_report(const struct page *page, const struct doctor_facts *facts,
	const struct doctor_report *report)
{
	int group = -1;

	print_surroundings(page, facts);
	for (uint32_t i = 0; i < report->count; i++) {
		const struct doctor_finding *finding = &report->findings[i];

		if (group != (int)finding->group)
			print_title(page, group_titles[finding->group]);
		group = (int)finding->group;
		print_finding(page, finding);
	}
	print_title(page, "So wick record samples");
	print_way(page, "COMMAND", report->can_record, report->command);
	print_way(page, "-p PID", report->can_record, report->process);
	print_way(page, "-a", report->system_works, report->system);
	if (!report->capabilities[0])
		return;
	print_title(page, "Capabilities");
	printf("  setcap %s=ep \"$(command -v wick)\"\n", report->capabilities);
}

/* ---- JSON */

static void json_finding(struct json_out *json, const struct doctor_finding *finding)
{
	json_open(json, NULL, '{');
	json_string(json, "id", finding->id);
	json_string(json, "group", group_ids[finding->group]);
	json_string(json, "title", finding->title);
	json_string(json, "state", state_ids[finding->state]);
	json_string(json, "detail", finding->detail);
	if (finding->state != DOCTOR_WORKS) {
		json_string(json, "knob", finding->knob);
		json_string(json, "remedy", finding->remedy);
		json_string(json, "without", finding->without);
		json_string(json, "capability", finding->cap ? finding->cap : "");
	}
	json_close(json, '}');
}

static void json_knob(struct json_out *json, const char *name, int64_t value)
{
	if (value == FACT_NONE)
		json_null(json, name);
	else
		json_i64(json, name, value);
}

static void json_report(const struct doctor_facts *facts, const struct doctor_report *report)
{
	struct json_out json = {.out = stdout};

	json_open(&json, NULL, '{');
	json_string(&json, "schema", "wick-doctor-1");
	json_open(&json, "system", '{');
	json_string(&json, "release", facts->osrelease);
	json_string(&json, "arch", facts->arch);
	json_u64(&json, "cpus", facts->cpus);
	json_u64(&json, "uid", facts->uid);
	json_u64(&json, "capabilities", facts->caps);
	json_bool(&json, "user_namespace", facts->in_user_namespace);
	json_i64(&json, "seccomp", facts->seccomp);
	json_string(&json, "container", facts->container);
	json_string(&json, "lsm", facts->lsm);
	json_string(&json, "lockdown", facts->lockdown);
	json_knob(&json, "perf_event_paranoid", facts->limits.paranoid);
	json_knob(&json, "perf_event_mlock_kb", facts->limits.mlock_kb);
	json_knob(&json, "perf_event_max_sample_rate", facts->limits.max_sample_rate);
	json_knob(&json, "perf_event_max_stack", facts->limits.max_stack);
	json_knob(&json, "kptr_restrict", facts->limits.kptr_restrict);
	json_knob(&json, "ptrace_scope", facts->limits.ptrace_scope);
	json_knob(&json, "unprivileged_bpf_disabled", facts->unprivileged_bpf_disabled);
	json_close(&json, '}');
	json_open(&json, "findings", '[');
	for (uint32_t i = 0; i < report->count; i++)
		json_finding(&json, &report->findings[i]);
	json_close(&json, ']');
	json_string(&json, "capabilities_wanted", report->capabilities);
	json_bool(&json, "can_record", report->can_record);
	json_open(&json, "record", '{');
	json_string(&json, "command", report->command);
	json_string(&json, "process", report->process);
	json_string(&json, "system", report->system);
	json_close(&json, '}');
	json_close(&json, '}');
}

static int doctor_main(int argc, char **argv)
{
	struct options options = {.json = false};
	struct page page = {
		.width = term_columns(STDOUT_FILENO), .colour = term_colour(STDOUT_FILENO)};
	struct error err = {.text = ""};
	struct doctor_report report;
	struct doctor_facts facts;
	int operands, rc;

	rc = cli_parse(&cli_doctor, argc, argv, &options, &operands);
	if (rc)
		return rc < 0 ? -rc : cli_finish_stdout();
	if (operands) {
		cli_say("'%.60s': doctor takes no operand; see `wick doctor --help`", argv[1]);
		return EXIT_USAGE;
	}
	page.narrow = page.width && page.width < NARROW;
	rc = doctor_probe(&facts, &err);
	if (rc < 0)
		return cli_fail("%s", err.text);
	doctor_judge(&facts, &report);
	if (options.json)
		json_report(&facts, &report);
	else
		print_report(&page, &facts, &report);
	rc = cli_finish_stdout();
	return rc ? rc : report.can_record ? 0 : EXIT_FAILED;
}
