/* window.h - what convolutions and pools share about windows (asc_window, ascribe/ops.h). */
#ifndef ASC_WINDOW_H
#define ASC_WINDOW_H

#include "ascribe/ops.h"
#include "descriptor.h"

/* Slots of the attributes; an op's table names those that it uses. */
enum {
    ASC_WIN_KERNEL = 0,
    ASC_WIN_STRIDE = 3,
    ASC_WIN_DILATION = 6,
    ASC_WIN_BEFORE = 9,
    ASC_WIN_AFTER = 12,
    ASC_WIN_SIZE = 15, /* spatial sizes of the result */
    ASC_WIN_GROUPS = 18,
    ASC_WIN_CEIL = 18,
    ASC_WIN_INCLUDE_PAD = 19
};

/* A window with its sizes, always for three axes: axes that are not there come first and have one position.
 */
typedef struct asc_geometry {
    int64_t in[ASC_MAX_SPATIAL], out[ASC_MAX_SPATIAL], kernel[ASC_MAX_SPATIAL], stride[ASC_MAX_SPATIAL];
    int64_t dilation[ASC_MAX_SPATIAL], before[ASC_MAX_SPATIAL], after[ASC_MAX_SPATIAL];
} asc_geometry;

/* Stride, dilation and padding of win as attributes, for n axes; with the kernel's size if `kernel`. */
asc_attrs asc_window_attrs(const asc_window *win, int n, bool kernel);
/* The attributes as a window again. */
asc_window asc_window_of(const asc_attrs *attrs);
/* Spatial axes of a tensor [B,C,..]: 0 if it has none, at most 3. */
int asc_spatial_rank(const asc_tensor *t);
/* Copies n sizes to the slot ASC_WIN_SIZE. */
void asc_window_set_size(asc_attrs *attrs, int n, const int64_t *size);

/* in, kernel: n sizes each; ceil as in asc_window. The attributes must have passed asc_geometry_infer. */
void asc_geometry_of(const asc_attrs *attrs, int n, const int64_t *in, const int64_t *kernel, bool ceil,
                     asc_geometry *out);
/* The same behind checks of everything; errors name the op and the axis. */
asc_status asc_geometry_infer(asc_ctx *ctx, const asc_call *c, int n, const int64_t *in,
                              const int64_t *kernel, bool ceil, asc_geometry *out);
/* Input k must be f32 [B,C,spatial 1..3]. */
asc_status asc_infer_need_planes(asc_ctx *ctx, const asc_call *c, int k);
/* Sets the result to f32 [batch,channels,n sizes]. */
void asc_infer_planes(asc_call *c, int64_t batch, int64_t channels, int n, const int64_t *sizes);
/* The sizes of the n axes of three that are there. */
const int64_t *asc_spatial_of(const int64_t sizes[ASC_MAX_SPATIAL], int n);

/* Positions [*first, *end) whose tap at offset `off` = t dilation - before lies in [0, in). */
static inline void asc_window_valid(int64_t off, int64_t stride, int64_t in, int64_t out, int64_t *first,
                                    int64_t *end) {
    if (stride == 1) { /* the common case, without divisions */
        *first = off >= 0 ? 0 : -off;
        *end = in > off ? in - off : 0;
    } else {
        *first = off >= 0 ? 0 : (-off + stride - 1) / stride;
        *end = in > off ? (in - off - 1) / stride + 1 : 0;
    }
    if (*end > out) *end = out;
    if (*first > *end) *first = *end;
}

/* Defines best_row(): the widest build of row_steps(const row *) that this CPU runs. Wider registers keep the
 * bits as long as row_steps keeps products and sums apart. Needs cpu.h. */
#if defined(__x86_64__)
#define ASC_ROW_BY_ISA                                                                                       \
    typedef void (*row_fn)(const row *r);                                                                    \
    static void row_baseline(const row *r) { row_steps(r); }                                                 \
    __attribute__((target("avx2"))) static void row_avx2(const row *r) { row_steps(r); }                     \
    __attribute__((target("avx512f"))) static void row_avx512(const row *r) { row_steps(r); }                \
    static row_fn best_row(void) {                                                                           \
        const asc_isa isa = asc_cpu_vector_isa();                                                            \
        return isa == ASC_ISA_AVX512 ? row_avx512 : isa == ASC_ISA_AVX2 ? row_avx2 : row_baseline;           \
    }
#else
#define ASC_ROW_BY_ISA                                                                                       \
    typedef void (*row_fn)(const row *r);                                                                    \
    static void row_baseline(const row *r) { row_steps(r); }                                                 \
    static row_fn best_row(void) { return row_baseline; }
#endif

/* An array [B,C,spatial] with three spatial axes, as reference kernels walk it. */
typedef struct asc_planes {
    double *data;
    int64_t batch, channels, size[ASC_MAX_SPATIAL];
    int64_t b_stride, c_stride, stride[ASC_MAX_SPATIAL];
} asc_planes;
asc_planes asc_planes_of(const asc_nd *a);
/* When the last axis is 1 long for both arrays and the kernel: swaps it with the one before, so that rows are
 * walked along an axis that is there. */
void asc_planes_turn(asc_geometry *g, asc_planes *in, asc_planes *out, asc_planes *kernel);
/* When windows do not reach across the rows of the last two axes (kernel 1, stride 1, no padding) and both
 * arrays have these rows one behind the other: makes one long row of them, the same positions in the same
 * order. */
void asc_planes_join_rows(asc_geometry *g, asc_planes *in, asc_planes *out);

/* Attributes of conv and conv_grad_input/_weight decoded: one convolution x [B,C,in] * w [M,C/G,kernel]. */
typedef struct asc_conv_sizes {
    int64_t batch, groups, c, m; /* c, m: channels of a group */
    asc_geometry geo;
} asc_conv_sizes;
/* Of a call that passed its shape rule; whichever of the three ops it is. */
void asc_conv_sizes_of(const asc_call *c, asc_conv_sizes *out);
/* Multiplications and additions of it. */
double asc_conv_flops(const asc_conv_sizes *s);
/* Of one of the three ops: those, and one pass over inputs and result. */
void asc_cost_conv(const asc_call *c, asc_cost *out);
/* Sample cases of the three ops: shapes of x, w and y of one convolution. */
typedef struct asc_conv_case {
    asc_shape x, w, y;
    asc_attrs attrs; /* of conv */
    bool bias;
} asc_conv_case;
bool asc_conv_case_at(int i, asc_conv_case *out);
/* Sum of g [B,C,..] over all axes but 1. */
asc_tensor *asc_sum_planes(asc_ctx *ctx, asc_tensor *g);

#endif
