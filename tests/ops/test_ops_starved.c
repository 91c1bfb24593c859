/* test_ops_starved.c - memory for nodes runs out at every place inside the recording of an op, of its
 * derivatives in both directions, of their derivatives, and of its decomposition: the result is an error,
 * never a crash or a leak. */
#include "grad.h"
#include "sampling.h"

/* Nodes come in blocks; a starving allocator refuses blocks of that very size, so that recording fails and
 * nothing else does. */
typedef struct starving {
    test_alloc plain;
    bool hungry;
    size_t block_bytes; /* largest request before it became hungry */
} starving;
enum { N_BLOCKS = 4 };

static void *starving_alloc(void *self, void *ptr, size_t old_size, size_t new_size, size_t align) {
    starving *s = self;
    if (s->hungry && new_size == s->block_bytes) return NULL;
    if (!s->hungry && new_size > s->block_bytes) s->block_bytes = new_size;
    return test_alloc_fn(&s->plain, ptr, old_size, new_size, align);
}

/* Everything that a descriptor can record. */
static void record_all(asc_ctx *ctx, const asc_op *op, const asc_sample *s, const test_inputs *in,
                       asc_tensor **last) {
    asc_tensor *x[ASC_MAX_IN], *xs[ASC_MAX_IN], *first[ASC_MAX_IN], *second[ASC_MAX_IN];
    size_t n = 0;
    for (int k = 0; k < s->n_in; k++) {
        x[k] = test_inputs_leaf(ctx, s, in, k);
        if (s->in_dtype[k] == ASC_DTYPE_F32 && !s->no_grad[k]) xs[n++] = x[k];
        *last = x[k];
        if (asc_tensor_poisoned(x[k])) return; /* a decomposition is asked about real inputs only */
    }
    *last = asc_apply(ctx, op, &s->attrs, x, s->n_in);
    if (op->decompose != NULL) (void)op->decompose(ctx, &s->attrs, x, s->n_in);
    if (n == 0 || (op->flags & ASC_OP_NO_GRAD) != 0) return;
    *last = asc_jvp(ctx, *last, xs, xs, n);
    asc_tensor *y = asc_apply(ctx, op, &s->attrs, x, s->n_in);
    asc_grad(ctx, y, y, xs, n, first);
    asc_grad(ctx, first[0], first[0], xs, n, second);
    *last = second[n - 1];
}

/* With room for `room` nodes; `block` come at once. */
static asc_status starve(const asc_op *op, const asc_sample *s, const test_inputs *in, int block, int room) {
    starving alloc = {.hungry = false};
    asc_ctx_options o = {.struct_size = sizeof o,
                         .alloc = starving_alloc,
                         .alloc_self = &alloc,
                         .device = "reference",
                         .n_threads = 1};
    asc_ctx *ctx = NULL;
    asc_tensor *last = NULL;
    assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
    asc_scope_begin(ctx);
    for (int i = 0; i < N_BLOCKS * block; i++) (void)asc_full(ctx, ASC_SCALAR_SHAPE, 1);
    assert_ok(ctx, asc_scope_end(ctx));
    alloc.hungry = true;
    for (int i = 0; i < N_BLOCKS * block - room; i++) last = asc_full(ctx, ASC_SCALAR_SHAPE, 1);
    assert_true(last == NULL || !asc_tensor_poisoned(last));
    record_all(ctx, op, s, in, &last);
    asc_status st = asc_run(ctx, &last, 1);
    test_ctx_end(ctx);
    assert_int_equal(alloc.plain.live, 0);
    return st;
}

/* How many nodes come in one block. */
static int block_size(void) {
    starving alloc = {.hungry = false};
    asc_ctx_options o = {
        .struct_size = sizeof o, .alloc = starving_alloc, .alloc_self = &alloc, .device = "reference"};
    asc_ctx *ctx = NULL;
    int n = 0;
    assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
    asc_tensor *t = asc_full(ctx, ASC_SCALAR_SHAPE, 1);
    alloc.hungry = true;
    for (; n < 100000 && !asc_tensor_poisoned(t); n++) t = asc_full(ctx, ASC_SCALAR_SHAPE, 1);
    assert_in_range(n, 16, 1000);
    asc_error_clear(ctx);
    test_ctx_end(ctx);
    return n;
}

static void nodes_run_out(void **state) {
    (void)state;
    int block = block_size(), most = 0;
    for (int o = 0; o < ASC_N_OPS; o++) {
        asc_sample s = {.n_in = 0};
        assert_true(asc_ops[o]->sample(1, &s));
        test_inputs in = test_inputs_draw(&s, 9);
        int room = 0;
        for (; room < N_BLOCKS * block; room += 1 + room / 50) {
            asc_status st = starve(asc_ops[o], &s, &in, block, room);
            if (st == ASC_OK) break;
            if (st != ASC_RESOURCE_EXHAUSTED)
                fail_msg("%s, room %d: %s", asc_ops[o]->name, room, asc_status_name(st));
        }
        if (room == 0 || room >= N_BLOCKS * block) fail_msg("%s: %d nodes", asc_ops[o]->name, room);
        most = room > most ? room : most;
        test_inputs_free(&in);
    }
    print_message("up to %d nodes\n", most);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nodes_run_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
