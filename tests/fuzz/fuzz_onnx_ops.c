/* fuzz_onnx_ops.c - any operator with any attributes and small inputs of any shape: bytes choose all of them.
 * The node is run and differentiated on the reference device; it may fail, but only with a message. */
#include "exec.h"
#include "onnx_one_node.h"
#include "onnx_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct bytes {
    const uint8_t *p;
    size_t n;
} bytes;

/* A shape that the file asks for may take no more than a machine has: here a small one. */
static void *small_machine(void *self, void *ptr, size_t old, size_t size, size_t align) {
    (void)self;
    if (size == 0 || size > (size_t)1 << 28) {
        if (size == 0) free(ptr);
        return NULL;
    }
    void *p = aligned_alloc(align, (size + align - 1) / align * align);
    if (p != NULL && ptr != NULL) {
        memcpy(p, ptr, old < size ? old : size);
        free(ptr);
    }
    return p;
}

static unsigned next(bytes *b, unsigned most) {
    if (b->n == 0) return 0;
    b->n--;
    return *b->p++ % most;
}

static const char *const attrs[] = {
    "axis:i",
    "axes:I",
    "alpha:f",
    "beta:f",
    "keepdims:i",
    "pads:I",
    "strides:I",
    "dilations:I",
    "kernel_shape:I",
    "group:i",
    "auto_pad:s",
    "ceil_mode:i",
    "count_include_pad:i",
    "output_padding:I",
    "output_shape:I",
    "storage_order:i",
    "mode:s",
    "perm:I",
    "starts:I",
    "ends:I",
    "split:I",
    "num_outputs:i",
    "epsilon:f",
    "to:i",
    "value:t",
    "blocksize:i",
    "equation:s",
    "coordinate_transformation_mode:s",
    "nearest_mode:s",
    "scales:F",
    "reduction:s",
    "batch_dims:i",
    "k:i",
    "largest:i",
    "exclusive:i",
    "reverse:i",
    "num_groups:i",
    "size:i",
    "p:i",
    "training_mode:i",
    "noop_with_empty_axes:i",
    "padding_mode:s",
    "align_corners:i",
    "antialias:i",
    "dtype:i",
    "shape:I",
    "batch_axis:i",
    "time_axis:i",
    "upper:i",
    "direction:s",
    "fmod:i",
    "select_last_index:i",
    "transA:i",
    "transB:i",
    "output_height:i",
    "output_width:i",
    "sampling_ratio:i",
    "ignore_index:i",
    "sorted:i",
    "pool_int64s:I",
    "ngram_counts:I",
    "ngram_indexes:I",
    "max_gram_length:i",
    "sample_size:i",
    "center_point_box:i",
    "hidden_size:i",
    "linear_before_reset:i",
    "layout:i",
    "spatial:i",
    "broadcast:i",
    "allowzero:i",
    "start:i",
    "end:i",
    "onesided:i",
    "inverse:i",
    "keep_aspect_ratio_policy:s",
};
static const char *const words[] = {
    "SAME_UPPER",
    "SAME_LOWER",
    "VALID",
    "reflect",
    "edge",
    "wrap",
    "linear",
    "cubic",
    "nearest",
    "bilinear",
    "bicubic",
    "ij,jk->ik",
    "...ij,...jk",
    "ii->i",
    "ij->",
    "align_corners",
    "asymmetric",
    "tf_crop_and_resize",
    "pytorch_half_pixel",
    "floor",
    "ceil",
    "add",
    "mul",
    "min",
    "none",
    "sum",
    "mean",
    "LEFT",
    "RIGHT",
    "border",
    "reflection",
    "CRD",
    "not_larger",
    "bidirectional",
    "reverse",
    "max",
    "tanh",
};

static const char *number(bytes *b, char out[32]) {
    static const char *const rare[] = {"9223372036854775807",
                                       "-9223372036854775808",
                                       "2147483647",
                                       "-2147483648",
                                       "1000000",
                                       "1e30",
                                       "-0.5",
                                       "0.25"};
    unsigned v = next(b, 64);
    if (v < 8) return rare[v];
    snprintf(out, 32, "%d", (int)(v % 8) - 3);
    return out;
}

static void list(bytes *b, unsigned n, char *out, size_t cap) {
    char text[32];
    for (unsigned i = 0; i < n; i++) {
        size_t at = strlen(out);
        snprintf(out + at, cap - at, "%s%s", i > 0 ? "," : "", number(b, text));
    }
}

static void make_attrs(bytes *b, char *out, size_t cap) {
    unsigned n = next(b, 5);
    out[0] = '\0';
    for (unsigned i = 0; i < n; i++) {
        const char *a = attrs[next(b, sizeof attrs / sizeof attrs[0])];
        char kind = strchr(a, ':')[1], text[32];
        size_t at = strlen(out);
        snprintf(out + at, cap - at, "%s=", a);
        if (kind == 's') {
            snprintf(out + strlen(out), cap - strlen(out), "%s",
                     words[next(b, sizeof words / sizeof words[0])]);
        } else if (kind == 'I' || kind == 'F') {
            list(b, next(b, 7), out, cap);
        } else {
            snprintf(out + strlen(out), cap - strlen(out), "%s", number(b, text));
        }
        snprintf(out + strlen(out), cap - strlen(out), " ");
    }
}

static void make_inputs(bytes *b, char *out, size_t cap) {
    unsigned n = next(b, MAKE_INPUTS);
    out[0] = '\0';
    for (unsigned i = 0; i < n; i++) {
        char kind = "ffffpcckkkki-"[next(b, 13)];
        unsigned rank = next(b, 5), elems = 1;
        size_t at = strlen(out);
        snprintf(out + at, cap - at, "%c", kind);
        for (unsigned k = 0; k < rank && kind != '-'; k++) {
            unsigned d = next(b, 16);
            d = d < 12 ? 1 + d % 3 : d - 12;
            elems *= d;
            snprintf(out + strlen(out), cap - strlen(out), "%s%u", k > 0 ? "," : "", d);
        }
        if (kind == 'k' || kind == 'c' || kind == 'i') {
            snprintf(out + strlen(out), cap - strlen(out), "=");
            list(b, elems < 12 ? elems : 12, out, cap);
        }
        snprintf(out + strlen(out), cap - strlen(out), " ");
    }
}

static asc_tensor *leaf(asc_ctx *ctx, const make_input *in) {
    asc_shape s = {.rank = in->rank};
    int32_t whole[MAKE_ELEMS];
    memcpy(s.dims, in->dims, sizeof in->dims);
    if (in->kind != 'i') return asc_from_f64(ctx, s, in->v);
    for (int64_t i = 0; i < in->n; i++)
        whole[i] = in->v[i] > 1e9 ? 1000000000 : in->v[i] < -1e9 ? -1000000000 : (int32_t)in->v[i];
    return asc_from_i32(ctx, s, whole);
}

/* One run; results that are small are computed, and differentiated. */
static void run(asc_ctx *ctx, asc_net *net, const make_input *in, int n_in) {
    asc_tensor *all[MAKE_INPUTS], *xs[MAKE_INPUTS], *g[MAKE_INPUTS], *out[4];
    size_t n = 0, n_x = 0;
    for (int i = 0; i < n_in; i++) {
        if (strchr("fpi", in[i].kind) == NULL) continue;
        all[n] = leaf(ctx, &in[i]);
        if (in[i].kind != 'i') xs[n_x++] = all[n];
        n++;
    }
    if (net->forward(net, all, NULL, out) != ASC_OK) {
        if (asc_error_message(ctx)[0] == '\0') abort();
        return;
    }
    for (size_t i = 0; i < net->n_outputs; i++) {
        if (asc_tensor_poisoned(out[i]) || asc_tensor_elems(out[i]) > 1 << 14) return;
        if (asc_run(ctx, &out[i], 1) != ASC_OK) return;
    }
    if (out[0]->dtype != ASC_DTYPE_F32) return;
    asc_grad(ctx, out[0], asc_full(ctx, asc_tensor_shape(out[0]), 1.0), xs, n_x, g);
    for (size_t i = 0; i < n_x; i++) {
        if (asc_tensor_poisoned(g[i]) || asc_run(ctx, &g[i], 1) != ASC_OK) return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const int opsets[] = {1, 6, 7, 9, 10, 11, 12, 13, 15, 18, 21};
    char attr_text[1024], input_text[1024];
    asc_ctx_options o = {
        .struct_size = sizeof o, .device = "reference", .n_threads = 1, .alloc = small_machine};
    asc_ctx *ctx = NULL;
    asc_onnx_model *m = NULL;
    asc_net *net = NULL;
    make_input *in = calloc(MAKE_INPUTS, sizeof *in);
    make *file = calloc(1, sizeof *file);
    bytes b = {data, size};
    int n_in = 0;
    const char *op = asc_onnx_ops[(next(&b, 255) * 255 + next(&b, 255)) % asc_onnx_n_ops].name;
    if (asc_ctx_create(&o, &ctx) != ASC_OK || in == NULL || file == NULL) abort();
    int opset = opsets[next(&b, 11)], n_out = 1 + (int)next(&b, 3);
    make_attrs(&b, attr_text, sizeof attr_text);
    make_inputs(&b, input_text, sizeof input_text);
    if (getenv("FUZZ_VERBOSE") != NULL)
        fprintf(stderr, "%s-%d [%s] (%s)\n", op, opset, attr_text, input_text);
    make_model(file, opset, op, attr_text, input_text, n_out, 1, 5, in, &n_in);
    asc_scope_begin(ctx);
    asc_status st = asc_onnx_model_parse(ctx, file->b, file->n, &m);
    if (st == ASC_OK) st = asc_onnx_net_make(ctx, m, NULL, &net);
    if (st == ASC_OK) run(ctx, net, in, n_in);
    st = asc_scope_end(ctx);
    asc_net_close(net);
    asc_ctx_destroy(ctx);
    free(file);
    free(in);
    return 0;
}
