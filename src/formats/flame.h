/* The fixed parts of the flame graph, for svg.c alone. */
#pragma once

extern const char flame_style[];  /* CSS; every rule is confined to .wick-flame */
extern const char flame_script[]; /* JavaScript: zoom, search, texts fitted to the real width */
