/*
 * The viewer's file, cut where its marker stands, and between the halves an element for each
 * profile and one that says that the page is whole.
 */
#include "formats/viewer_page.h"

#include "base/cleanup.h"
#include "formats/export.h"
#include "formats/viewer_data.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

enum { CHUNK = 3 * 16384 };

static const char marker[] = "<!--wick-data-->";

/* `len` is a multiple of 3 but for the last piece. */
static void put_base64(const unsigned char *bytes, size_t len, FILE *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < len; i += 3) {
		uint32_t n = (uint32_t)bytes[i] << 16;
		char four[4];

		n |= i + 1 < len ? (uint32_t)bytes[i + 1] << 8 : 0;
		n |= i + 2 < len ? bytes[i + 2] : 0;
		four[0] = digits[n >> 18];
		four[1] = digits[n >> 12 & 63];
		four[2] = i + 1 < len ? digits[n >> 6 & 63] : '=';
		four[3] = i + 2 < len ? digits[n & 63] : '=';
		fwrite(four, 1, sizeof(four), out);
	}
}

static void deflate_done(z_stream *stream)
{
	(void)deflateEnd(stream);
}

static int put_packed(struct strbuf *bytes, FILE *out)
{
	cleanup_free unsigned char *piece = malloc(CHUNK);
	cleanup_with(deflate_done) z_stream stream = {0};
	int rc = Z_OK;

	if (!piece || deflateInit(&stream, 9) != Z_OK)
		return -ENOMEM;
	if (bytes->len > UINT32_MAX)
		return -EFBIG;
	stream.next_in = (unsigned char *)bytes->text;
	stream.avail_in = (uInt)bytes->len;
	while (rc == Z_OK) {
		stream.next_out = piece;
		stream.avail_out = CHUNK;
		rc = deflate(&stream, Z_FINISH);
		put_base64(piece, CHUNK - stream.avail_out, out);
	}
	return rc == Z_STREAM_END ? 0 : -EIO;
}

static int put_profile(
	const struct viewer_data *data, uint32_t index, FILE *out, struct error *err)
{
	cleanup_with(strbuf_done) struct strbuf bytes = {0};
	int rc = viewer_data_pack(data, &bytes);

	if (rc < 0)
		return error_set(err, rc,
			rc == -ENOSPC ? "more distinct call paths than a page can hold"
				      : "writing the page: out of memory");
	fprintf(out, "<script type=\"text/plain\" id=\"wick-data-%u\">", index);
	rc = put_packed(&bytes, out);
	if (rc < 0)
		return error_set(err, rc, "packing the page's data failed: %s", strerror(-rc));
	fputs("</script>\n", out);
	return 0;
}

int viewer_write(const struct viewer_data *data, uint32_t count, FILE *out, struct error *err)
{
	const unsigned char *cut =
		memmem(viewer_html, viewer_html_bytes, marker, sizeof(marker) - 1);
	size_t head;
	int rc = 0;

	if (!cut)
		return error_set(
			err, -EINVAL, "the viewer in this build has no place for data");
	head = (size_t)(cut - viewer_html);
	fwrite(viewer_html, 1, head, out);
	for (uint32_t i = 0; rc == 0 && i < count && i < VIEWER_PROFILES_MAX; i++)
		rc = put_profile(&data[i], i, out, err);
	if (rc < 0)
		return rc;
	fputs("<i id=\"wick-end\" hidden></i>", out);
	head += sizeof(marker) - 1;
	fwrite(viewer_html + head, 1, viewer_html_bytes - head, out);
	return export_finish(out, err);
}
