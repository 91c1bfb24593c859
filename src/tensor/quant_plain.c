/* quant_plain.c - formats that hold each element by itself: f32 (a copy), f16, bf16. */
#include "quant.h"

ASC_EXPAND(f32) { memcpy(dst, src, (size_t)n * sizeof *dst); }

ASC_EXPAND(f16) {
    const uint8_t *restrict p = src;
    for (int64_t i = 0; i < n; i++) {
        uint16_t h;
        memcpy(&h, p + 2 * i, sizeof h);
        dst[i] = asc_f16_to_f32(h);
    }
}

ASC_EXPAND(bf16) {
    const uint8_t *restrict p = src;
    for (int64_t i = 0; i < n; i++) {
        uint16_t h;
        memcpy(&h, p + 2 * i, sizeof h);
        dst[i] = asc_bf16_to_f32(h);
    }
}
