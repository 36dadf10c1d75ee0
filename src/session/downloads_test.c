#include "session/downloads.h"

#include "base/cleanup.h"
#include "tests/run_tool.h"
#include "tests/unit_test.h"

#include <sys/stat.h>

static void keep_sentence(void *ctx, const char *sentence)
{
	snprintf(ctx, 512, "%s", sentence);
}

/* What is said when there is nothing to be fetched: only whether it could be. */
static void fetch(char ret_said[512])
{
	char dir[DOWNLOADS_DIR_ROOM];
	struct symbolizer_options symbols = {.debug_cache = downloads_dir(dir)};
	struct downloads_options options = {
		.limit_s = 1, .say = keep_sentence, .ctx = ret_said};
	struct profile profile = {.module_count = 0};
	struct symbolizer *symbolizer;

	ret_said[0] = '\0';
	assert_int_equal(symbolizer_new(&symbols, &symbolizer), 0);
	downloads_run(&options, symbolizer, &profile);
	symbolizer_free(symbolizer);
	profile_done(&profile);
}

/* A folder that is not ours: a user's while we are root, root's while we are not. */
static const char *others_folder(const char *own)
{
	if (geteuid())
		return "/usr";
	assert_int_equal(chown(own, 4711, 4711), 0);
	return own;
}

static void nothing_is_left_in_the_home_of_another(void **state)
{
	static const char *const variables[] = {"HOME", "XDG_CACHE_HOME"};
	const char *was = getenv("HOME");
	char *home = was ? strdup(was) : NULL;
	char scratch[256], gone[300], said[512], dir[DOWNLOADS_DIR_ROOM];

	(void)state;
	assert_true(scratch_make(scratch, sizeof(scratch)));
	snprintf(gone, sizeof(gone), "%s/gone", scratch);
	for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
		unsetenv("DEBUGINFOD_CACHE_PATH");
		unsetenv("XDG_CACHE_HOME");
		setenv("HOME", scratch, 1);
		assert_int_equal(chown(scratch, geteuid(), getegid()), 0);
		setenv(variables[i], scratch, 1);
		fetch(said);
		assert_string_equal(said, "");
		setenv(variables[i], gone, 1);
		fetch(said);
		assert_non_null(strstr(said, gone));
		setenv(variables[i], others_folder(scratch), 1);
		fetch(said);
		assert_non_null(strstr(said, "another user's"));
		assert_null(strchr(said, '\n'));
		assert_true(downloads_dir(dir)[0] == '/'); /* it is read */
		setenv("DEBUGINFOD_CACHE_PATH", gone, 1);
		fetch(said);
		assert_string_equal(said, "");
	}
	unsetenv("DEBUGINFOD_CACHE_PATH");
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	fetch(said);
	assert_non_null(strstr(said, "there is no home"));
	scratch_remove(scratch);
	if (home)
		setenv("HOME", home, 1);
	free(home);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(nothing_is_left_in_the_home_of_another),
};
UNIT_TESTS("downloads", tests)
