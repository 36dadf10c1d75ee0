/* WICK_API marks what the shared library exports; everything else is built hidden. */
#ifndef WICK_API_H
#define WICK_API_H

#define WICK_API __attribute__((visibility("default")))

#endif
