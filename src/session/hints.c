/*
 * An interpreter's stack shows the interpreter, not the program that it runs. Python 3.12 and
 * later, told to by -X perf, makes a small piece of code for every function, which has a name
 * ("py::...") in its perf map; what runs without is said where it matters.
 */
#include "session/hints.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SHARE_OF_SAMPLES = 20 }; /* one in so many */

static bool is_python(const struct profile *profile, uint32_t module)
{
	const char *name = module_short_name(profile, module);

	return profile->modules[module].kind == MODULE_FILE &&
	       (!strncmp(name, "python3", 7) || !strncmp(name, "libpython3", 10));
}

static bool has_python_functions(const struct profile *profile)
{
	for (uint32_t i = 0; i < profile->function_count; i++)
		if (!strncmp(profile_text(profile, profile->functions[i].linkage_name),
			    "py::", 4))
			return true;
	return false;
}

static bool has_python(const struct profile *profile)
{
	for (uint32_t i = 0; i < profile->module_count; i++)
		if (is_python(profile, i))
			return true;
	return false;
}

/* How many samples have the interpreter in their stacks; parents stand before their children.
 */
static int python_samples(const struct profile *profile, uint64_t *ret_samples)
{
	cleanup_free bool *has = calloc(profile->stack_count + 1u, sizeof(*has));
	uint64_t samples = 0;

	if (!has)
		return -ENOMEM;
	for (uint32_t i = 0; i < profile->stack_count; i++) {
		const struct stack *stack = &profile->stacks[i];

		has[i] = (stack->parent < i && has[stack->parent]) ||
			 is_python(profile, profile->frames[stack->frame].module);
	}
	for (uint32_t i = 0; i < profile->sample_count; i++)
		samples += profile->samples[i].stack < profile->stack_count &&
			   has[profile->samples[i].stack];
	*ret_samples = samples;
	return 0;
}

int hints_add(struct profile *profile)
{
	uint64_t samples = 0;
	int rc = 0;

	if (has_python(profile) && !has_python_functions(profile))
		rc = python_samples(profile, &samples);
	if (rc == 0 && samples && samples * SHARE_OF_SAMPLES >= profile->sample_count)
		quality_note(&profile->quality,
			"python3: interpreted functions are not visible; from Python 3.12 on, "
			"python3 -X perf shows them");
	return rc;
}
