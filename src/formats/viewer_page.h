/* The built viewer, for viewer_page.c alone; tools/embed.py makes it from viewer.html. */
#pragma once

#include <stddef.h>

extern const unsigned char viewer_html[];
extern const size_t viewer_html_bytes;
