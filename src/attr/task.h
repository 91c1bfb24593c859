/* task.h - a request on a net, resolved, and the one way in which methods run nets: rows.
 *
 * A row is one copy of one example with some values changed. Methods say how many rows there are and fill
 * them in double; the engine stacks them into passes under the memory bound, runs the net forwards (and
 * backwards) and hands each row's numbers back in order, in double. So no method holds all perturbed copies,
 * sums are kept in double, and results do not depend on how rows are grouped.
 */
#ifndef ASC_TASK_H
#define ASC_TASK_H

#include "ascribe/attribute.h"
#include "grad.h"
#include "net.h"

/* A value that rows change or that is attributed to: an input, or a site. */
typedef struct asc_var {
    const char *name;
    int64_t input;   /* index of the input; -1 = a site */
    int64_t site;    /* index of the site; -1 = an input */
    asc_elem elem;   /* of an input; sites are floats */
    asc_shape shape; /* of one example */
    size_t size;     /* elements of one example */
    double *x;       /* [n, size] at the input; for sites filled by asc_task_site_values */
    double *x0;      /* [n_x0, size] baseline; NULL = zeros */
    size_t n_x0;     /* 1 = for all, n = one each; otherwise rows of a distribution */
    int32_t *mask;   /* [mask_rows, size] dense group numbers; NULL = each element by itself */
    size_t mask_rows;
    int32_t first_feature; /* mask NULL: number of element 0 */
} asc_var;

/* One of the net's inputs that rows do not change, or changed ones' storage. */
typedef struct asc_feed {
    asc_array given;
    bool moving; /* is an in[] variable */
    size_t var;  /* which */
} asc_feed;

/* What is explained, resolved against the value's shape at the first pass. */
typedef struct asc_aim {
    const asc_target *want;
    int64_t site; /* of the value */
    bool resolved;
    asc_shape row;    /* of one example's value */
    size_t row_elems; /* its numbers */
    size_t n_out;     /* explained numbers per example */
} asc_aim;

/* A leaf that a pass fills from its rows or from the request, and how to fill it again (task_capture.c). */
typedef enum asc_leaf_kind {
    ASC_LEAF_ROWS,    /* variable `which` of the pass's rows */
    ASC_LEAF_OWN,     /* variable `which` as the (expanded) task has it */
    ASC_LEAF_INPUT,   /* the net's input `which` as the request gives it */
    ASC_LEAF_INDEX,   /* the target's index of each row */
    ASC_LEAF_VERSUS,  /* the index that is subtracted */
    ASC_LEAF_WEIGHTS, /* the target's weights */
} asc_leaf_kind;
typedef struct asc_leaf {
    asc_leaf_kind kind;
    uint32_t which;
    bool partner; /* of the partner rows */
} asc_leaf;
typedef struct asc_leaf_list {
    asc_leaf *leaves;
    asc_tensor **tensors; /* [n] */
    size_t n, cap_leaves, cap_tensors;
    bool partner; /* of those listed from here on */
} asc_leaf_list;

typedef struct asc_task {
    asc_ctx *ctx;
    asc_net *net;
    const asc_attr_request *req;
    const struct asc_method *method;
    asc_attribution *r;
    bool batched;    /* rows are stacked along dimension 0; otherwise one row a pass */
    size_t n;        /* examples */
    size_t copies;   /* > 1 in a task made by asc_task_expand: example e is copy e % copies of example e /
                        copies */
    asc_feed *feeds; /* [net->n_inputs] */
    asc_var *in;     /* inputs that may move */
    size_t n_in;
    asc_var *at; /* what is attributed to: in itself, or sites */
    size_t n_at;
    bool at_sites;
    size_t n_features; /* groups of the masks over all at[] (elements when there are none) */
    asc_aim aim;
    asc_leaf_list *leaves; /* set while a pass is recorded to be kept; NULL = nobody asks */
} asc_task;

/* Rows to run. fill writes variable v of row i, size doubles, and must not depend on what was filled before.
 */
typedef struct asc_rows {
    size_t n;
    void *self;
    size_t (*example)(void *self, size_t row); /* whose other inputs and target; NULL = row % task->n */
    void (*fill)(void *self, size_t row, size_t var, double *out);
} asc_rows;

/* One row's numbers: f [n_out]; y[k] the value of at[k], g[k] the gradient of f[0] with respect to it; both
 * NULL unless asked for. Lent for the length of the call. */
typedef struct asc_row_result {
    const double *f;
    const double *const *y;
    const double *const *g;
    const double *const *y0; /* with y in paired passes: the values of at[] on the partner row */
} asc_row_result;

typedef struct asc_pass {
    const asc_rows *rows;
    bool replace_sites;          /* fill speaks of at[] (sites are replaced), not of in[] */
    bool want_values;            /* y */
    bool want_gradients;         /* g; needs n_out = 1 */
    const asc_target *other;     /* explain this instead of the task's target (a neuron); NULL = the task's */
    const asc_grad_rules *rules; /* of the backward pass; NULL = the ops' own */
    const asc_rows *partner_rows; /* paired rules (DeepLift): the baseline of each row; NULL = not paired */
    const char *what;             /* for progress: "gradients", "perturbed rows" */
    void *self;
    asc_status (*sink)(void *self, size_t row, const asc_row_result *x); /* in order of the rows */
    double *partner_f; /* [rows->n]: f of the partner rows; NULL = not wanted */
} asc_pass;

/* Runs all rows. Counts them in r, checks that values are finite. */
ASC_MUST_USE asc_status asc_task_run(asc_task *t, const asc_pass *p);
/* How many of its rows would share a pass. RESOURCE_EXHAUSTED names the least bound that would do. */
ASC_MUST_USE asc_status asc_task_chunk(asc_task *t, const asc_pass *p, size_t *out);
/* The dry run of a task that began at t0 (asc_now_ns): the result's predictions. */
ASC_MUST_USE asc_status asc_task_estimate(asc_task *t, uint64_t t0);
/* f of every row, [rows->n, n_out]; replace_sites as above. */
ASC_MUST_USE asc_status asc_task_values(asc_task *t, const asc_rows *rows, bool replace_sites, double *out);
/* One row per example, at the inputs as they are: y and g of at[] and f go to sink. rules, other: as in
 * asc_pass. */
ASC_MUST_USE asc_status asc_task_at_input(asc_task *t, const asc_grad_rules *rules, const asc_target *other,
                                          void *self,
                                          asc_status (*sink)(void *self, size_t row,
                                                             const asc_row_result *x));
/* The inputs as they are, for examples 0 to n - 1; borrows t. */
asc_rows asc_task_input_rows(asc_task *t, size_t n);
/* The request's steps, samples (or their defaults), and standard deviation of the noise on input variable
 * var. */
size_t asc_task_steps(const asc_task *t);
size_t asc_task_samples(const asc_task *t);
double asc_task_stdev(const asc_task *t, size_t var, double fallback);
/* INVALID_ARGUMENT unless there is at most one standard deviation, or one for each input. */
ASC_MUST_USE asc_status asc_task_check_stdevs(const asc_task *t);
/* price_rows of methods that run one gradient pass. */
void asc_price_one_gradient(const asc_task *t, double *n_forward, double *n_gradient);
/* Points on the straight path from the baselines to the inputs: row p * n + e is example e at alphas[p] (of
 * inputs, or of the sites themselves with replace_sites; then asc_task_ends comes first). */
typedef struct asc_path {
    asc_task *t;
    const double *alphas;
    size_t n_alphas;
    bool sites;
} asc_path;
asc_rows asc_path_rows(const asc_path *p); /* borrows p */
/* INVALID_ARGUMENT when the inputs' path would go through fractions of an integer input. */
ASC_MUST_USE asc_status asc_task_need_path(const asc_task *t);
/* Nodes and weights of the request's rule (`fallback` when it names none) with its steps; adaptive is
 * refused. With compat_captum the trapezoid's weights are Captum's. Free both with asc_free. */
ASC_MUST_USE asc_status asc_task_rule(asc_task *t, const char *fallback, size_t *n, double **nodes,
                                      double **weights);
/* n nodes and weights of a rule (an asc_rule), from the net's memory when they are the last ones used: making
 * them costs as much as a small net's whole run. */
ASC_MUST_USE asc_status asc_task_nodes(asc_task *t, int rule, size_t n, double *nodes, double *weights);
/* Numbers explained per example, learnt by a pass if need be. */
ASC_MUST_USE asc_status asc_task_n_out(asc_task *t, size_t *out);

/* Fills x (and, with baselines, x0 unless the request gives it) of at[] when they are sites: their values at
 * the inputs and at the inputs' baselines. Also sets r->value (and r->baseline_value). A no-op for inputs but
 * for value. */
ASC_MUST_USE asc_status asc_task_ends(asc_task *t, bool with_baselines);
/* Element i of the baseline of variable v for example e. */
double asc_var_baseline(const asc_var *v, size_t e, size_t i);
/* Group number of element i of v in example e. */
int32_t asc_var_feature(const asc_var *v, size_t e, size_t i);

/* Makes r->scores: one array per at[] of shape [n, (n_out,) shape], zero, with errors when with_errors. */
ASC_MUST_USE asc_status asc_task_make_scores(asc_task *t, size_t n_out, bool with_errors);
/* For methods of one pass: learns the shapes of at[], makes the scores (one number per example) and room for
 * r->value.
 */
ASC_MUST_USE asc_status asc_task_prepare(asc_task *t, bool with_errors);
/* Sets r->delta[n] = sum of scores - (value - baseline_value) and checks it against the rounding bound or
 * `tolerance` relative to the largest score (0 = only records it): notes what does not hold. Needs n_out = 1.
 */
ASC_MUST_USE asc_status asc_task_delta(asc_task *t, double tolerance);
/* Rounding error of one score when the largest is `largest` (docs/errors.md): of a gradient, of
 * a difference of two values of size `value`. */
double asc_task_gradient_noise(const asc_task *t, double largest);
double asc_task_value_noise(const asc_task *t, double value);
/* The error of every score of example `row`: the noise of a gradient, by the largest score of each array's
 * row. */
void asc_task_row_errors(asc_task *t, size_t row);
asc_status asc_task_note(asc_task *t, const char *fmt, ...) ASC_PRINTF(2, 3); /* adds to r->notes */

/* OUT_OF_RANGE or INVALID_ARGUMENT unless the target's indices lie in one example's value of shape s. */
ASC_MUST_USE asc_status asc_target_check(asc_ctx *ctx, const asc_target *target, const asc_shape *s);
/* Sum of those elements of one example's values at a target's site that the target selects (a neuron's part
 * of an array of gradients there); shape and values are of that example. */
double asc_target_sum(const asc_target *target, const asc_shape *shape, size_t example, const double *values);
/* A task of n * copies examples, example-major, whose variables may be changed by the caller: what
 * noise-tunnel and the averages over baselines run their base method on. Its result is its own;
 * asc_task_deinit frees both. */
ASC_MUST_USE asc_status asc_task_expand(asc_task *t, size_t copies, asc_task *out);

/* Uniform in [0,1) and standard normal draws by (seed, method, stream, index): the same for every chunk size,
 * thread count and example. `stream` numbers the sample. */
/* Key of the method's own streams. */
uint64_t asc_task_key(const asc_task *t);
double asc_task_uniform(const asc_task *t, uint64_t stream, uint64_t index);
double asc_task_normal(const asc_task *t, uint64_t stream, uint64_t index);

/* The largest error of all scores; NaN where one is not known. */
void asc_attribution_find_bound(asc_attribution *r);

ASC_MUST_USE asc_status asc_task_init(asc_task *t, asc_net *net, const asc_attr_request *req);
void asc_task_deinit(asc_task *t);

#endif
