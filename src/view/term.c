/*
 * The terminal is asked through TIOCGWINSZ; the environment is read, never changed. The locale
 * is judged by its name, as setlocale() is the program's decision and not this library's.
 */
#include "view/term.h"

#include "base/fileio.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_DEFAULT 80
#define COLUMNS_MAX	10000

unsigned term_columns_from(const char *text)
{
	uint64_t value;

	if (!text || parse_u64(text, strlen(text), &value) < 0)
		return 0;
	return value >= 1 && value <= COLUMNS_MAX ? (unsigned)value : 0;
}

unsigned term_columns(int fd)
{
	struct winsize size = {0};
	unsigned from_env;

	if (!isatty(fd))
		return 0;
	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	from_env = term_columns_from(getenv("COLUMNS"));
	return from_env ? from_env : COLUMNS_DEFAULT;
}

bool term_colour(int fd)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (no_color && *no_color)
		return false;
	return isatty(fd) && term && strcmp(term, "dumb") != 0;
}

bool term_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}
