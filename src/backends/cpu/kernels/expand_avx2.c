/* expand_avx2.c - expansion of stored weights with AVX2. */
#define SUFFIX avx2
#include "expand_body.h"
