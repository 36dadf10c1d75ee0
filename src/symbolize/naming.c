/* How: a plain array over the profile's string ids, which are dense. */
#include "symbolize/naming.h"

#include "base/array.h"
#include "object/demangle.h"

#include <errno.h>
#include <stdlib.h>

static int readable_get(
	struct naming *naming, struct profile *profile, uint32_t linkage, uint32_t *ret_name)
{
	int r = array_reserve(&naming->readable, &naming->cap, (uint64_t)linkage + 1,
		sizeof(*naming->readable), UINT32_MAX);

	if (r < 0)
		return r;
	while (naming->count <= linkage)
		naming->readable[naming->count++] = 0;
	if (!naming->readable[linkage]) {
		uint32_t name = linkage;

		strbuf_reset(&naming->text);
		if (demangle(profile_text(profile, linkage), &naming->text))
			r = profile_string(profile, strbuf_text(&naming->text), &name);
		if (naming->text.failed)
			r = -ENOMEM;
		if (r < 0)
			return r;
		naming->readable[linkage] = name + 1;
	}
	*ret_name = naming->readable[linkage] - 1;
	return 0;
}

int naming_function(struct naming *naming, struct profile *profile, uint32_t module,
	const struct naming_key *key, uint32_t *ret_function)
{
	struct function function = {.module = module, .addr = key->addr, .size = key->size};
	const char *linkage = key->linkage_name ? key->linkage_name : key->name;
	int r = profile_string(profile, linkage, &function.linkage_name);

	if (r < 0)
		return r;
	function.name = function.linkage_name;
	if (key->linkage_name && !naming->no_demangle)
		r = readable_get(naming, profile, function.linkage_name, &function.name);
	return r < 0 ? r : profile_function(profile, &function, ret_function);
}

void naming_done(struct naming *naming)
{
	free(naming->readable);
	strbuf_done(&naming->text);
	*naming = (struct naming){0};
}
