/* expand_avx512.c - expansion of stored weights with AVX-512. */
#define SUFFIX avx512
#include "expand_body.h"
