/*
 * The block as text: a column for the mark, one for what the line is about, and the sentence,
 * broken between words at the width and continued under its start. On a narrow terminal the
 * sentence starts on a line of its own.
 */
#include "view/quality_view.h"

#include "view/markdown.h"
#include "view/paint.h"
#include "view/prose.h"

#include <ctype.h>
#include <string.h>

#define INDENT	      14
#define INDENT_NARROW 4
#define NARROW	      44 /* columns */

static const char *level_colour(enum quality_level level)
{
	switch (level) {
	case LEVEL_GOOD:
		return PAINT_GREEN;
	case LEVEL_WARN:
		return PAINT_YELLOW;
	case LEVEL_BAD:
		return PAINT_RED;
	case LEVEL_INFO:
		break;
	}
	return "";
}

static const char *level_mark(enum quality_level level)
{
	return level == LEVEL_BAD ? "!!" : level == LEVEL_WARN ? " !" : "  ";
}

static void print_line(
	const struct quality_line *line, const struct quality_view *view, bool again, FILE *out)
{
	bool narrow = view->width > 0 && view->width < NARROW;
	const char *colour = paint(view->colour, level_colour(line->level));
	char about[16];

	snprintf(about, sizeof(about), "%s", again ? "" : line->about);
	about[0] = (char)toupper((unsigned char)about[0]);
	fprintf(out, "%s%s%s ", colour, level_mark(line->level),
		paint_off(view->colour, colour));
	if (narrow) {
		fprintf(out, "%s%s%*s", about, *about ? "\n" : "",
			*about ? INDENT_NARROW : INDENT_NARROW - 3, "");
		prose_print(out, strbuf_text(&line->text), view->width, INDENT_NARROW);
	} else {
		fprintf(out, "%s%-10s%s ", paint(view->colour, PAINT_BOLD), about,
			paint(view->colour, PAINT_OFF));
		prose_print(out, strbuf_text(&line->text), view->width, INDENT);
	}
}

int quality_view_text(const struct quality_view *view, FILE *out)
{
	struct quality_lines lines;
	int rc = quality_lines_make(&lines, view);

	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < lines.count; i++)
		print_line(&lines.lines[i], view,
			i > 0 && strcmp(lines.lines[i].about, lines.lines[i - 1].about) == 0,
			out);
	quality_lines_done(&lines);
	return 0;
}

int quality_view_markdown(const struct quality_view *view, FILE *out)
{
	struct quality_lines lines;
	int rc = quality_lines_make(&lines, view);

	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < lines.count; i++) {
		const struct quality_line *line = &lines.lines[i];
		const char *strong = line->level >= LEVEL_WARN ? "**" : "";

		fprintf(out, "- %s%s%s: ", strong, line->about, strong);
		markdown_text(out, strbuf_text(&line->text));
		putc('\n', out);
	}
	quality_lines_done(&lines);
	return 0;
}
