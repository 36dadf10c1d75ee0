#include "session/embed.h"

#include <stdlib.h>

static uint8_t outcome_of(void *ctx, uint32_t module)
{
	return (uint8_t)symbolizer_outcome(ctx, module);
}

int embed_names(struct symbolizer *symbolizer, struct profile *profile,
	const struct codes *codes, struct perfdata_features *features)
{
	struct names_source source = {
		.profile = profile, .outcome = outcome_of, .ctx = symbolizer, .codes = codes};
	struct strbuf bytes = {0};
	int rc = symbolize_all(symbolizer, profile, NULL, NULL);

	if (rc == 0)
		rc = names_write(&source, &bytes);
	if (rc < 0) {
		strbuf_done(&bytes);
		return rc;
	}
	free(features->names);
	features->names = bytes.text;
	features->names_bytes = bytes.len;
	return 0;
}
