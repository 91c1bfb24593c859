/* Operators of ONNX: gradients against central differences (f64), behaviours of old versions against NumPy's
 * numbers, refusals. ONNX's own node tests (onnx_nodetests.c) check the values. */
#include "exec.h"
#include "harness.h"
#include "fuzz/onnx_one_node.h"
#include "onnx_run.h"
#include <math.h>

typedef struct fixture {
    asc_ctx *ctx;
    asc_net *net;
    make_input in[MAKE_INPUTS];
    int n_in;
    make *file;
} fixture;

static asc_status open_net(fixture *f, const char *device, int opset, const char *op, const char *attrs,
                           const char *inputs, int n_out) {
    f->ctx = test_ctx(device, "deferred");
    f->net = NULL;
    f->file = calloc(1, sizeof *f->file);
    make_model(f->file, opset, op, attrs, inputs, n_out, 1, 5, f->in, &f->n_in);
    asc_onnx_model *m = NULL;
    asc_status st = asc_onnx_model_parse(f->ctx, f->file->b, f->file->n, &m);
    return st != ASC_OK ? st : asc_onnx_net_make(f->ctx, m, NULL, &f->net);
}

static void close_net(fixture *f) {
    asc_net_close(f->net);
    test_ctx_end(f->ctx);
    free(f->file);
}

static asc_shape shape_of(const make_input *in) {
    asc_shape s = {.rank = in->rank};
    memcpy(s.dims, in->dims, sizeof s.dims);
    return s;
}

/* Leaves of the graph's inputs; xs: those that have a gradient. */
static int leaves(fixture *f, asc_tensor **all, asc_tensor **xs, make_input **of) {
    int n = 0, k = 0;
    for (int i = 0; i < f->n_in; i++) {
        make_input *in = &f->in[i];
        if (in->kind == 'i') {
            int32_t whole[MAKE_ELEMS];
            for (int64_t j = 0; j < in->n; j++) whole[j] = (int32_t)in->v[j];
            all[n++] = asc_from_i32(f->ctx, shape_of(in), whole);
        } else if (in->kind == 'f' || in->kind == 'p') {
            xs[k] = all[n++] = asc_from_f64(f->ctx, shape_of(in), in->v);
            of[k++] = in;
        }
    }
    return k;
}

static void check(fixture *f, asc_status st, const char *what) {
    if (st != ASC_OK) fail_msg("%s: %s", what, asc_error_message(f->ctx));
}

/* Sum of the first output times fixed weights, or all of it into y. */
static double value(fixture *f, const char *what, double *y, int64_t *n_y, asc_shape *shape) {
    asc_tensor *all[MAKE_INPUTS], *xs[MAKE_INPUTS], *out[8];
    make_input *of[MAKE_INPUTS];
    double v[MAKE_ELEMS], sum = 0;
    asc_scope_begin(f->ctx);
    leaves(f, all, xs, of);
    check(f, f->net->forward(f->net, all, NULL, out), what);
    int64_t n = asc_tensor_elems(out[0]);
    assert_in_range(n, 0, MAKE_ELEMS);
    check(f, asc_read_f64(f->ctx, out[0], v, (size_t)n), what);
    for (int64_t i = 0; i < n; i++) sum += v[i] * cos((double)i + 1);
    if (y != NULL) memcpy(y, v, (size_t)n * sizeof *y);
    if (n_y != NULL) *n_y = n;
    if (shape != NULL) *shape = asc_tensor_shape(out[0]);
    check(f, asc_scope_end(f->ctx), what);
    return sum;
}

static const struct {
    const char *op, *attrs, *inputs;
    int opset;
} smooth[] = {
#include "onnx_op_cases.def"
};

static void gradients(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof smooth / sizeof smooth[0]; k++) {
        fixture f;
        char what[256];
        asc_tensor *all[MAKE_INPUTS], *xs[MAKE_INPUTS], *g[MAKE_INPUTS], *out[8];
        make_input *of[MAKE_INPUTS];
        double got[MAKE_ELEMS], weights[MAKE_ELEMS];
        snprintf(what, sizeof what, "%s [%s] (%s)", smooth[k].op, smooth[k].attrs, smooth[k].inputs);
        check(&f,
              open_net(&f, "reference", smooth[k].opset, smooth[k].op, smooth[k].attrs, smooth[k].inputs, 1),
              what);
        asc_scope_begin(f.ctx);
        int n = leaves(&f, all, xs, of);
        check(&f, f.net->forward(f.net, all, NULL, out), what);
        asc_shape ys = asc_tensor_shape(out[0]);
        for (int i = 0; i < MAKE_ELEMS; i++) weights[i] = cos((double)i + 1);
        asc_grad(f.ctx, out[0], asc_from_f64(f.ctx, ys, weights), xs, (size_t)n, g);
        for (int i = 0; i < n; i++) {
            double largest = 0;
            check(&f, asc_read_f64(f.ctx, g[i], got, (size_t)of[i]->n), what);
            for (int64_t j = 0; j < of[i]->n; j++) largest = fmax(largest, fabs(got[j]));
            for (int64_t j = 0; j < of[i]->n; j++) {
                double keep = of[i]->v[j], h = 1e-5;
                of[i]->v[j] = keep + h;
                double up = value(&f, what, NULL, NULL, NULL);
                of[i]->v[j] = keep - h;
                double want = (up - value(&f, what, NULL, NULL, NULL)) / (2 * h);
                of[i]->v[j] = keep;
                if (!(fabs(want - got[j]) <= 1e-6 * (1 + largest)))
                    fail_msg("%s: input %d, element %lld: %.9g, differences give %.9g", what, i, (long long)j,
                             got[j], want);
            }
        }
        check(&f, asc_scope_end(f.ctx), what);
        close_net(&f);
    }
}

static const struct {
    const char *op, *attrs, *inputs, *shape, *want;
    int opset;
} old[] = {
    /* broadcast along axes of the first operand */
    {"Add", "broadcast:i=1 axis:i=0", "f2,3=0,1,2,3,4,5 f2=10,20", "2,3", "10,11,12,23,24,25", 6},
    {"Mul", "broadcast:i=1", "f2,3=0,1,2,3,4,5 f3=1,2,3", "2,3", "0,2,6,3,8,15", 6},
    {"PRelu", "", "f1,2,2=-1,-2,-3,4 f2=0.5,0.25", "1,2,2", "-0.5,-1,-0.75,4", 6},
    /* small integers wrap around */
    {"Sub", "", "b3=3,250,5 b3=5,5,5", "3", "254,245,0", 14},
    {"Mul", "", "b2=200,16 b2=2,16", "2", "144,0", 14},
    {"Div", "", "b2=200,7 b2=3,8", "2", "66,0", 14},
    /* softmax over everything from the axis on */
    {"Softmax", "", "f1,2,2=0,0,0,0", "1,2,2", "0.25,0.25,0.25,0.25", 11},
    {"Softmax", "", "f1,2,2=0,0,0,0", "1,2,2", "0.5,0.5,0.5,0.5", 13},
    {"Hardmax", "", "f1,2,2=0,3,5,4", "1,2,2", "0,0,1,0", 11},
    /* attributes that became inputs */
    {"Clip", "min:f=-1 max:f=1", "f3=-5,0.5,5", "3", "-1,0.5,1", 6},
    {"Clip", "", "f3=-5,0.5,5 c=-1 c=1", "3", "-1,0.5,1", 13},
    {"Slice", "starts:I=1 ends:I=-1 axes:I=0", "f4=0,1,2,3", "2", "1,2", 1},
    {"Slice", "", "f4=0,1,2,3 k1=-1 k1=-9223372036854775807 k1=0 k1=-2", "2", "3,1", 13},
    {"Squeeze", "axes:I=0", "f1,2=3,4", "2", "3,4", 11},
    {"Squeeze", "", "f1,2=3,4 k1=-2", "2", "3,4", 13},
    {"Unsqueeze", "axes:I=-1", "f2=3,4", "2,1", "3,4", 11},
    {"ReduceSum", "axes:I=1 keepdims:i=0", "f2,2=1,2,3,4", "2", "3,7", 11},
    {"ReduceSum", "keepdims:i=0", "f2,2=1,2,3,4 k1=-1", "2", "3,7", 13},
    {"ReduceSum", "noop_with_empty_axes:i=1", "f2=1,2 k0", "2", "1,2", 13},
    {"ReduceMax", "keepdims:i=0", "f2,2=1,9,3,4 k1=0", "2", "3,9", 18},
    {"Split", "split:I=1,2", "f3=1,2,3", "1", "1", 11},
    {"Split", "num_outputs:i=2", "f3=1,2,3", "2", "1,2", 18},
    {"Pad", "pads:I=1,2 mode:s=reflect", "f3=1,2,3", "6", "2,1,2,3,2,1", 2},
    {"Pad", "paddings:I=1,0 value:f=7", "f2=1,2", "3", "7,1,2", 1},
    {"Pad", "", "f2,2=1,2,3,4 k2=1,-1 c=9 k1=1", "2,2", "9,1,9,3", 18},
    {"Pad", "mode:s=wrap", "f3=1,2,3 k2=1,2", "6", "3,1,2,3,1,2", 19},
    {"Tile", "", "f2=1,2 k=2 k=0", "4", "1,2,1,2", 1},
    {"TopK", "k:i=2", "f1,4=1,4,3,2", "1,2", "4,3", 1},
    {"TopK", "largest:i=0", "f1,4=1,4,3,2 k1=2", "1,2", "1,2", 11},
    {"Dropout", "is_test:i=1", "f2=1,2", "2", "1,2", 6},
    {"Reshape", "shape:I=0,-1", "f2,1,2=1,2,3,4", "2,2", "1,2,3,4", 1},
    /* Upsample, and Resize in all its coordinates (numbers of onnxruntime's definition, by NumPy) */
    {"Upsample", "scales:F=1,1,1,2", "f1,1,1,2=1,2", "1,1,1,4", "1,1,2,2", 7},
    {"Upsample", "mode:s=linear", "f1,1,1,2=1,3 c4=1,1,1,2", "1,1,1,4", "1,2,3,3", 9},
    {"Resize", "mode:s=linear", "f1,1,1,2=1,3 c4=1,1,1,2", "1,1,1,4", "1,2,3,3", 10},
    {"Resize", "mode:s=linear", "f1,2=1,3 - c2=1,2", "1,4", "1,1.5,2.5,3", 11},
    {"Resize", "mode:s=linear coordinate_transformation_mode:s=align_corners", "f1,2=1,4 - - k2=1,4", "1,4",
     "1,2,3,4", 13},
    {"Resize", "coordinate_transformation_mode:s=asymmetric nearest_mode:s=ceil", "f1,3=1,2,3 - - k2=1,4",
     "1,4", "1,2,3,3", 13},
    {"Resize", "mode:s=linear coordinate_transformation_mode:s=pytorch_half_pixel", "f1,3=1,2,3 - - k2=1,1",
     "1,1", "1", 13},
    {"Resize", "axes:I=1 mode:s=linear", "f1,2=1,3 - - k1=4", "1,4", "1,1.5,2.5,3", 18},
    {"Resize", "axes:I=0,1 keep_aspect_ratio_policy:s=not_larger", "f1,2=1,3 - - k2=4,4", "2,4",
     "1,1,3,3,1,1,3,3", 18},
    {"Resize", "mode:s=linear antialias:i=1 exclude_outside:i=1", "f1,4=0,1,2,3 - - k2=1,2", "1,2",
     "0.714285714,2.285714286", 18},
    /* weights beyond the edge go to the edge, or are left out as PyTorch does */
    {"Resize", "mode:s=linear antialias:i=1", "f1,4=1,2,3,4 c=0 c2=1,0.6", "1,2", "1.375,3", 18},
    /* numbers of torch.nn.functional.interpolate (2.15) */
    {"Resize", "mode:s=linear antialias:i=1 exclude_outside:i=1", "f1,5=1,2,4,8,3 - - k2=1,3", "1,3",
     "1.428571,4.444444,5.142857", 18},
    {"Resize", "mode:s=cubic antialias:i=1 exclude_outside:i=1 cubic_coeff_a:f=-0.5",
     "f1,5=1,2,4,8,3 - - k2=1,3", "1,3", "1.230769,4.641860,5.261538", 18},
    {"Resize", "mode:s=cubic", "f1,5=1,2,4,8,3 - - k2=1,7", "1,7",
     "0.921283,1.370262,2.462099,4,7.578717,6.320700,2.606414", 13},
    {"AffineGrid", "", "f1,2,3=1,0.5,0.25,-0.5,2,1 k4=1,1,2,3", "1,2,3,2",
     "-0.66666667,0.33333333,0,0,0.66666667,-0.33333333,-0.16666667,2.33333333,0.5,2,1.16666667,1.66666667",
     20},
    {"AffineGrid", "align_corners:i=1", "f1,2,3=1,0.5,0.25,-0.5,2,1 k4=1,1,2,3", "1,2,3,2",
     "-1.25,-0.5,-0.25,-1,0.75,-1.5,-0.25,3.5,0.75,3,1.75,2.5", 20},
    /* torch.nn.functional.fold */
    {"Col2Im", "", "f1,4,6=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24 k2=3,4 k2=2,2",
     "1,1,3,4", "1,9,11,9,17,48,52,33,16,39,41,24", 18},
    {"Col2Im", "strides:I=2,2 pads:I=1,1,1,1",
     "f1,8,4=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32 k2=3,3 "
     "k2=2,2",
     "1,2,3,3", "13,10,14,7,4,8,15,12,16,29,26,30,23,20,24,31,28,32", 18},
    {"CenterCropPad", "axes:I=1", "f1,3=1,2,3 k1=6", "1,6", "0,1,2,3,0,0", 18},
    {"CenterCropPad", "", "f2,3=1,2,3,4,5,6 k2=1,2", "1,2", "1,2", 18},
    /* pools and convolutions that find their own padding */
    {"MaxPool", "kernel_shape:I=2 strides:I=2 auto_pad:s=SAME_UPPER", "f1,1,3=1,2,3", "1,1,2", "2,3", 12},
    {"MaxPool", "kernel_shape:I=2 strides:I=2 auto_pad:s=SAME_LOWER", "f1,1,3=1,2,3", "1,1,2", "1,3", 12},
    {"AveragePool", "kernel_shape:I=2 strides:I=2 pads:I=1,0 count_include_pad:i=1", "f1,1,3=2,4,6", "1,1,2",
     "1,5", 11},
    {"Conv", "auto_pad:s=SAME_LOWER", "f1,1,3=1,2,3 c1,1,2=1,1", "1,1,3", "1,3,5", 11},
    {"ConvTranspose", "strides:I=2 output_shape:I=4", "f1,1,2=1,2 c1,1,3=1,1,1", "1,1,4", "1,3,2,2", 11},
    {"ConvTranspose", "strides:I=2 output_padding:I=1", "f1,1,2=1,2 c1,1,2=1,1", "1,1,5", "1,1,2,2,0", 11},
    {"LpPool", "kernel_shape:I=2 p:i=2", "f1,1,3=3,4,0", "1,1,2", "5,4", 11},
    /* places */
    {"ScatterElements", "reduction:s=mul", "f3=1,2,3 k2=0,0 f2=4,5", "3", "20,2,3", 18},
    {"ScatterElements", "reduction:s=max", "f3=1,2,3 k3=0,0,2 f3=4,5,1", "3", "5,2,3", 18},
    {"ScatterElements", "", "f3=1,2,3 k2=-1,-1 f2=4,5", "3", "1,2,5", 18},
    {"Gather", "axis:i=1", "f2,2=1,2,3,4 k1=-1", "2,1", "2,4", 13},
    {"Einsum", "equation:s=ij,kj", "f2,2=1,2,3,4 f2,2=1,0,1,1", "2,2", "1,3,3,7", 12},
    {"Einsum", "equation:s=...ii->...i", "f1,2,2=1,2,3,4", "1,2", "1,4", 12},
    {"Einsum", "equation:s=a,ab,b->", "f2=1,2 f2,2=1,2,3,4 f2=1,1", "", "17", 12},
    /* onnxruntime's numbers (1.32) */
    {"MaxPool", "kernel_shape:I=3 strides:I=3 ceil_mode:i=1", "f1,1,2=1,2", "1,1,1", "2", 12},
    {"AveragePool", "kernel_shape:I=2,2 strides:I=2,2 ceil_mode:i=1", "f1,1,1,2=1,4", "1,1,1,1", "2.5", 11},
    {"AveragePool", "kernel_shape:I=3 strides:I=2 ceil_mode:i=1 count_include_pad:i=1 pads:I=0,1", "f1,1,1=3",
     "1,1,1", "1.5", 11},
    {"LpPool", "kernel_shape:I=2 strides:I=2 ceil_mode:i=1", "f1,1,1=-3", "1,1,1", "3", 18},
    {"Slice", "", "f5=0,1,2,3,4 k1=-7 k1=-9223372036854775807 k1=0 k1=-1", "1", "0", 13},
    {"Slice", "", "f5=0,1,2,3,4 k1=-7 k1=0 k1=0 k1=-1", "0", "", 13},
    {"LogSoftmax", "axis:i=-1", "f3=1,2,4", "3", "-3.1698461,-2.1698461,-0.16984604", 11},
    {"Softmax", "axis:i=-2", "f2,2=1,2,4,0", "2,2", "0.041370694,0.11245721,0.83095264,0.015219429", 11},
    {"Einsum", "equation:s=ecc,bea", "f1,2,2=1,2,3,4 f2,1,2=1,-1,2,0.5", "2,2", "5,10,-5,2.5", 12},
    {"Resize", "mode:s=nearest", "f1,1,1,5=1,2,3,4,5 c4=1,1,1,0.6", "1,1,1,3", "1,3,5", 10},
    {"Resize", "mode:s=nearest", "f1,1,1,3=1,2,3 c4=1,1,1,1.5", "1,1,1,4", "1,1,2,3", 10},
    {"LpPool", "kernel_shape:I=1 strides:I=2 auto_pad:s=VALID ceil_mode:i=1", "f1,1,4=1,2,3,4", "1,1,2",
     "1,3", 18},
    {"LpPool", "kernel_shape:I=2 strides:I=3 ceil_mode:i=1", "f1,1,3=1,2,3", "1,1,1", "2.236068", 18},
    {"LpPool", "kernel_shape:I=2 strides:I=2 ceil_mode:i=1", "f1,1,5=1,2,3,4,12", "1,1,3", "2.236068,5,12",
     18},
    {"LSTM", "hidden_size:i=1 clip:f=0.5",
     "f2,1,1=1,2 c1,4,1=1,-1,0.5,2 c1,4,1=0.3,0.2,0.1,-0.4 - - c1,1,1=0.5 c1,1,1=3", "2,1,1,1",
     "0.36753231,0.34957567", 14},
    {"LSTM", "hidden_size:i=1 activations:S=Softsign,Elu,Softplus activation_alpha:F=0.3",
     "f2,1,1=1,2 c1,4,1=1,-1,0.5,-2 c1,4,1=0.3,0.2,0.1,-0.4", "2,1,1,1", "-0.31519929,-0.38600653", 14},
    {"RNN",
     "hidden_size:i=1 direction:s=bidirectional activations:S=ThresholdedRelu,LeakyRelu "
     "activation_alpha:F=0.4,0.2",
     "f3,1,1=1,0.2,-2 c2,1,1=1,0.5 c2,1,1=0.3,0.2", "3,2,1,1", "1,0.51200002,0.5,0.059999999,0,-0.2", 14},
};

static void versions(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof old / sizeof old[0]; k++) {
        fixture f;
        char what[256];
        double y[MAKE_ELEMS];
        int64_t n = 0;
        asc_shape s, want = {0};
        snprintf(what, sizeof what, "%s-%d [%s] (%s)", old[k].op, old[k].opset, old[k].attrs, old[k].inputs);
        int n_out = strcmp(old[k].op, "Split") == 0 || strcmp(old[k].op, "TopK") == 0 ? 2 : 1;
        check(&f,
              open_net(&f, k % 2 ? "cpu" : "reference", old[k].opset, old[k].op, old[k].attrs, old[k].inputs,
                       n_out),
              what);
        value(&f, what, y, &n, &s);
        for (const char *t = old[k].shape; *t != '\0';) want.dims[want.rank++] = (int64_t)make_number(&t);
        if (!asc_shape_eq(&s, &want))
            fail_msg("%s: rank %d, [%lld..], not [%s]", what, s.rank, (long long)s.dims[0], old[k].shape);
        const char *t = old[k].want;
        for (int64_t i = 0; i < n; i++) {
            double w = make_number(&t);
            if (!(fabs(y[i] - w) <= 1e-6))
                fail_msg("%s: element %lld is %g, not %g", what, (long long)i, y[i], w);
        }
        close_net(&f);
    }
}

static const struct {
    const char *op, *attrs, *inputs, *want;
    int opset;
} bad[] = {
    {"Gather", "axis:i=2", "f2,2 k1=0", "axis 2 of 2 dimensions", 13},
    {"Gather", "", "f2,2 k1=2", "index 2 into 2 elements", 13},
    {"GatherElements", "", "f2,2 k1,2=0,-3", "index -3 into 2 elements", 13},
    {"GatherND", "", "f2,2 k1,3=0,0,0", "3 indices a place", 13},
    {"ScatterElements", "", "f3 k1=7 f1", "index 7 into 3 elements", 13},
    {"ScatterElements", "reduction:s=xor", "f3 k1=1 f1", "reduction 'xor'", 18},
    {"Conv", "strides:I=0", "f1,1,3 f1,1,2", "attribute 'strides' is 0", 11},
    {"Conv", "pads:I=1,1,1", "f1,1,3 f1,1,2", "'pads' has 3 numbers, not 2", 11},
    {"Conv", "auto_pad:s=SOME", "f1,1,3 f1,1,2", "auto_pad 'SOME'", 11},
    {"Conv", "kernel_shape:I=3", "f1,1,3 f1,1,2", "kernel_shape differs", 11},
    {"MaxPool", "kernel_shape:I=2,2", "f1,1,3", "kernel_shape has 2 numbers", 11},
    {"BatchNormalization", "", "f2,3 f2 f3 f3 f3", "2 elements for 3 channels", 9},
    {"Split", "", "f3", "3 elements in 2 equal parts", 13},
    {"Split", "", "f3 k2=1,1", "do not add up to the 3 elements", 13},
    {"Pad", "", "f3 k2=-2,-2", "pads -2 and -2 of an axis of 3", 13},
    {"Pad", "mode:s=mirror", "f3 k2=1,1", "mode 'mirror'", 13},
    {"Slice", "", "f3 k1=0 k1=2 k1=0 k1=0", "a step of 0", 13},
    {"Expand", "", "f3 k1=2", "cannot be expanded to [2]", 13},
    {"Resize", "", "f1,2 - - k1=4", "neither scales nor sizes for 2 axes", 13},
    {"Resize", "coordinate_transformation_mode:s=polar", "f1,2 - - k2=1,4",
     "coordinate_transformation_mode 'polar'", 13},
    {"Einsum", "equation:s=ij,jk->il", "f2,2 f2,2", "named twice or nowhere", 12},
    {"Einsum", "equation:s=ij,jk", "f2,3 f2,2", "one label for 3 and 2 elements", 12},
    {"Einsum", "equation:s=ijk", "f2,2", "'ijk' for 2 dimensions", 12},
    {"TopK", "", "f3 k1=4", "k is 4, the axis has 3 elements", 11},
    {"OneHot", "", "i2=0,1 k=-1 c2=0,1", "depth -1", 11},
    {"DepthToSpace", "blocksize:i=2", "f1,3,2,2", "3 channels in blocks of 2", 11},
    {"Squeeze", "", "f2,2 k1=0", "axis 0 has 2 elements", 13},
    {"Range", "", "c=0 c=1 c=0", "a range from 0 to 1 by 0", 11},
    {"Mod", "", "f2 f2", "fmod must be 1 for floats", 13},
    {"Tile", "", "f2 k1=-1", "-1 repeats of axis 0", 13},
    {"Unsqueeze", "axes:I=0,0", "f2", "axis 0 is named twice", 11},
    {"Det", "", "f2,3", "not 2 by 3", 11},
};

static void refusals(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        fixture f;
        asc_tensor *all[MAKE_INPUTS], *xs[MAKE_INPUTS], *out[8];
        make_input *of[MAKE_INPUTS];
        int n_out = strcmp(bad[k].op, "Split") == 0 || strcmp(bad[k].op, "TopK") == 0 ? 2 : 1;
        asc_status st = open_net(&f, "cpu", bad[k].opset, bad[k].op, bad[k].attrs, bad[k].inputs, n_out);
        assert_int_equal(st, ASC_OK);
        asc_scope_begin(f.ctx);
        leaves(&f, all, xs, of);
        st = f.net->forward(f.net, all, NULL, out);
        const char *message = asc_error_message(f.ctx);
        if (st == ASC_OK || strstr(message, bad[k].want) == NULL || strstr(message, bad[k].op) == NULL)
            fail_msg("%s [%s]: \"%s\" instead of \"%s\"", bad[k].op, bad[k].attrs,
                     st == ASC_OK ? "no error" : message, bad[k].want);
        st = asc_scope_end(f.ctx);
        close_net(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients), cmocka_unit_test(versions),
                                       cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
