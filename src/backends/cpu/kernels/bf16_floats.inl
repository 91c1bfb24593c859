/* bf16_floats.inl - weights in f32, f16 and bf16 cut into pieces where they lie, with AVX-512: the numbers of
 * gemm_fill_avx512.c without the way through memory. Part of bf16_gemm.inl. */

/* 16 numbers at element i of p. */
ALWAYS_INLINE __m512 floats_at(const uint8_t *p, int64_t i, const asc_dtype t) {
    if (t == ASC_DTYPE_F32) return _mm512_loadu_ps(p + 4 * i);
    const __m256i half = _mm256_loadu_si256((const void *)(p + 2 * i));
    if (t == ASC_DTYPE_F16) return _mm512_cvtph_ps(half);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}

/* out[k] lane r = number k of row r; 16 rows, `stride` elements apart. */
ALWAYS_INLINE void transpose_floats(const uint8_t *p, int64_t stride, const asc_dtype t, vf out[16]) {
    __m512 r[16];
    __m512d u[16];
#pragma GCC unroll 8
    for (int i = 0; i < 16; i += 2) {
        const __m512 a = floats_at(p, i * stride, t), b = floats_at(p, (i + 1) * stride, t);
        r[i] = _mm512_unpacklo_ps(a, b);
        r[i + 1] = _mm512_unpackhi_ps(a, b);
    }
#pragma GCC unroll 4
    for (int g = 0; g < 16; g += 4) { /* u[g + c]: number 4 p + c of rows g to g + 3 in 128-bit part p */
#pragma GCC unroll 2
        for (int i = 0; i < 2; i++) {
            const __m512d a = _mm512_castps_pd(r[g + i]), b = _mm512_castps_pd(r[g + 2 + i]);
            u[g + 2 * i] = _mm512_unpacklo_pd(a, b);
            u[g + 2 * i + 1] = _mm512_unpackhi_pd(a, b);
        }
    }
#pragma GCC unroll 4
    for (int c = 0; c < 4; c++) {
        const __m512d a = _mm512_shuffle_f64x2(u[c], u[4 + c], 0x88),
                      b = _mm512_shuffle_f64x2(u[c], u[4 + c], 0xDD);
        const __m512d d = _mm512_shuffle_f64x2(u[8 + c], u[12 + c], 0x88),
                      e = _mm512_shuffle_f64x2(u[8 + c], u[12 + c], 0xDD);
        out[c] = (vf)_mm512_shuffle_f64x2(a, d, 0x88);
        out[4 + c] = (vf)_mm512_shuffle_f64x2(b, e, 0x88);
        out[8 + c] = (vf)_mm512_shuffle_f64x2(a, d, 0xDD);
        out[12 + c] = (vf)_mm512_shuffle_f64x2(b, e, 0xDD);
    }
}

/* [n,k]: 16 rows, which are 16 columns of the product, 32 values of k at a time. Of 16 short stretches of
 * rows the processor foresees nothing: those of the next 16 columns are fetched on the way. */
ALWAYS_INLINE void float_columns(const asc_gemm_job *g, int64_t k0, int64_t depth, int64_t n0, int64_t width,
                                 int64_t group, uint16_t *panel, const asc_dtype t, const int pieces) {
    const int64_t size = (int64_t)asc_dtype_of(t)->block_bytes, row = g->k * size;
    for (int64_t n = 0; n < width; n += 16) {
        const uint8_t *p = block_at(g, (n0 + n) * g->k + k0), *next = p + 16 * row;
        uint16_t *out = panel + n / 16 * group;
        for (int64_t q = 0; q < depth; q += 32, p += 32 * size, out += pieces * ASC_BF16_TILE) {
            for (int64_t i = 0; i < 16; i++)
                for (int64_t b = 0; b < 32 * size; b += 64)
                    __builtin_prefetch(next + i * row + q * size + b, 0, 2);
            vf x[16], x2[16];
            transpose_floats(p, g->k, t, x);
            transpose_floats(p + 16 * size, g->k, t, x2);
            for (int64_t i = 0; i < 16; i++) split_two(&x[i], &x2[i], pieces, out + 32 * i);
        }
    }
}

/* [k,n]: rows 16 apart are the pairs. */
ALWAYS_INLINE void float_rows(const asc_gemm_job *g, int64_t k0, int64_t depth, int64_t n0, int64_t width,
                              int64_t group, uint16_t *panel, const asc_dtype t, const int pieces) {
    const int64_t size = (int64_t)asc_dtype_of(t)->block_bytes, row = g->n * size;
    for (int64_t q = 0; q < depth; q += 32) {
        for (int64_t i = 0; i < 16; i++) {
            const uint8_t *p = block_at(g, (k0 + q + i) * g->n + n0), *p2 = p + 16 * row;
            uint16_t *out = panel + q / 32 * pieces * ASC_BF16_TILE + 32 * i;
            for (int64_t n = 0; n < width; n += 16, out += group) {
                if (n * size % 64 == 0) { /* the next 32 rows */
                    __builtin_prefetch(p + 32 * row + n * size, 0, 2);
                    __builtin_prefetch(p2 + 32 * row + n * size, 0, 2);
                }
                const vf x = (vf)floats_at(p, n, t), x2 = (vf)floats_at(p2, n, t);
                split_two(&x, &x2, pieces, out);
            }
        }
    }
}

#define PACK_FLOATS(name, body, type)                                                                        \
    static void name(const asc_gemm_job *g, int64_t k0, int64_t depth, int64_t n0, int64_t width,            \
                     int64_t group, int pieces, uint16_t *panel) {                                           \
        if (pieces == 3)                                                                                     \
            body(g, k0, depth, n0, width, group, panel, type, 3);                                            \
        else if (pieces == 2)                                                                                \
            body(g, k0, depth, n0, width, group, panel, type, 2);                                            \
        else                                                                                                 \
            body(g, k0, depth, n0, width, group, panel, type, 1);                                            \
    }
PACK_FLOATS(columns_f32, float_columns, ASC_DTYPE_F32)
PACK_FLOATS(columns_f16, float_columns, ASC_DTYPE_F16)
PACK_FLOATS(columns_bf16, float_columns, ASC_DTYPE_BF16)
PACK_FLOATS(rows_f32, float_rows, ASC_DTYPE_F32)
PACK_FLOATS(rows_f16, float_rows, ASC_DTYPE_F16)
PACK_FLOATS(rows_bf16, float_rows, ASC_DTYPE_BF16)

/* pack_panel for these types; false: not one of them, or not whole tiles. */
static bool pack_floats(const asc_bf16_job *job, int64_t k0, int64_t depth, int64_t n0, int64_t width,
                        int64_t group, uint16_t *panel) {
    const asc_gemm_job *g = &job->g;
    if (job->int8 || depth % 32 != 0 || width % 16 != 0) return false;
    if (g->t == ASC_DTYPE_F32)
        (g->tb ? columns_f32 : rows_f32)(g, k0, depth, n0, width, group, job->right, panel);
    else if (g->t == ASC_DTYPE_F16)
        (g->tb ? columns_f16 : rows_f16)(g, k0, depth, n0, width, group, job->right, panel);
    else if (g->t == ASC_DTYPE_BF16)
        (g->tb ? columns_bf16 : rows_bf16)(g, k0, depth, n0, width, group, job->right, panel);
    else
        return false;
    return true;
}
