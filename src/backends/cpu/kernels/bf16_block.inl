/* bf16_block.inl - the blocks of bf16.h from a function tile(left, right, sums), in the order of products
 * that bf16_block_amx.c has. mode_enter and mode_leave: how denormal numbers are treated. */
static void nothing(void) {}

static inline void product(const asc_bf16_block *t, const uint16_t *a, const uint16_t *b) {
    tile(a, b, t->c);
    if (t->two_cols) tile(a, b + t->b_step, t->c + 16);
    if (t->two_rows) tile(a + t->a_step, b, t->c + 16 * ASC_BF16_SIDE);
    if (t->two_rows && t->two_cols) tile(a + t->a_step, b + t->b_step, t->c + 16 * ASC_BF16_SIDE + 16);
}

static __attribute__((noinline)) void sums(const asc_bf16_block *t, const asc_bf16_scheme scheme) {
    const int64_t next = asc_bf16_pieces(scheme) * ASC_BF16_TILE;
    const int64_t b_next = asc_bf16_right_pieces(scheme) * ASC_BF16_TILE;
    int pairs[5][2];
    const int n = asc_bf16_small(scheme, pairs);
    for (int r = 0; r < (t->two_rows ? 32 : 16); r++)
        for (int i = 0; i < (t->two_cols ? 32 : 16); i++) t->c[r * ASC_BF16_SIDE + i] = 0;
    for (int64_t q = 0; q < t->blocks; q++) {
        for (int i = 0; i < n; i++)
            product(t, t->a + q * next + pairs[i][0] * ASC_BF16_TILE,
                    t->b + q * b_next + pairs[i][1] * ASC_BF16_TILE);
    }
    for (int64_t q = 0; q < t->blocks; q++) product(t, t->a + q * next, t->b + q * b_next);
}

/* A call of its own, so that no arithmetic is moved out of the mode. */
static void block(const asc_bf16_block *t, const asc_bf16_scheme scheme) {
    const unsigned int old = mode_enter();
    sums(t, scheme);
    mode_leave(old);
}

static void block_1(const asc_bf16_block *t) { block(t, ASC_BF16_1); }
static void block_3(const asc_bf16_block *t) { block(t, ASC_BF16_3); }
static void block_6(const asc_bf16_block *t) { block(t, ASC_BF16_6); }
static void block_3_by_2(const asc_bf16_block *t) { block(t, ASC_BF16_3_BY_2); }
static void block_3_by_1(const asc_bf16_block *t) { block(t, ASC_BF16_3_BY_1); }
