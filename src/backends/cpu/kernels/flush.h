/* flush.h - products with denormal numbers taken for 0, in operands and results. Each of them costs as much
 * as a hundred others, and gradients are full of them where attention or a softmax is nearly sure: a backward
 * pass took 30 times as long. What is lost is below 2^-126 a product (docs/errors.md). The state is the
 * thread's: whoever enters leaves before anything else runs, as numbers outside of products keep all digits.
 */
#ifndef ASC_FLUSH_H
#define ASC_FLUSH_H

#ifdef __SSE__
#include <xmmintrin.h>

static inline unsigned int asc_flush_enter(void) {
    enum { FLUSH_RESULTS = 0x8000, FLUSH_OPERANDS = 0x0040 };
    const unsigned int old = _mm_getcsr();
    _mm_setcsr(old | FLUSH_RESULTS | FLUSH_OPERANDS);
    return old;
}
static inline void asc_flush_leave(unsigned int old) { _mm_setcsr(old); }
#else
static inline unsigned int asc_flush_enter(void) { return 0; }
static inline void asc_flush_leave(unsigned int old) { (void)old; }
#endif

#endif
