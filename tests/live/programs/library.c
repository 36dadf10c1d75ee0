/* A library with one function that burns; built twice, with FUNCTION as its name. */
#include "truth.h"

uint64_t FUNCTION(uint64_t n, uint64_t x);
BURN(FUNCTION)
