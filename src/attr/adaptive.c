/* adaptive.c - see adaptive.h.
 *
 * Seventeen even points, sixty-five if those do not do, then rounds: the intervals with the largest indicator
 * are halved, all their midpoints evaluated in one call. The indicator of an interval (path_points.c) is the
 * larger of its residual, the known error of the components' sum, and the largest difference between its two
 * rules over the components: the first sees what the points missed, the second what cancels in the sum. Which
 * points are taken depends on the values alone, never on `batch`, memory or threads.
 */
#include "adaptive.h"
#include "alloc.h"
#include "path_points.h"
#include <math.h>
#include <string.h>

enum { FIRST_POINTS = 17, ROUGH_POINTS = 65, LEAST_POINTS = 6, ROUND = 16 };
static const double SHARE_OF_WORST = 0.3; /* intervals under this share of the worst wait for a later round */
static const double BOUND_FACTOR = 2.2;   /* see add_up */

typedef struct work {
    asc_ctx *ctx;
    asc_integrand_fn fn;
    void *self;
    const asc_adaptive_options *opts;
    asc_path_points points;
    double *integral, *error;  /* [dim], the caller's */
    double *part, *difference; /* [dim] of one interval */
    double *key;               /* [points]: indicator of each interval, 0 = not to be halved */
    size_t cap_key;
    double largest, residual, left_over, noise, worst_error;
    uint64_t start_ns;
    double seconds_per_point;
    size_t history; /* rounds so far; the fit of asc_adaptive_result.estimated_evaluations */
    double fit_n[64], fit_error[64];
} work;

static double elapsed(const work *w) { return (double)(asc_now_ns() - w->start_ns) * 1e-9; }

/* Evaluates the `more` alphas written behind the present points. */
static asc_status evaluate(work *w, size_t more) {
    asc_path_points *p = &w->points;
    double before = elapsed(w);
    asc_status st = w->fn(w->self, p->alpha + p->n, more, p->f + p->n, p->g + p->n * p->dim);
    if (st != ASC_OK) return st;
    w->seconds_per_point = (elapsed(w) - before) / (double)more;
    return asc_path_points_commit(w->ctx, p, more);
}

static asc_status first_points(work *w) {
    size_t n = w->opts->max_evaluations < FIRST_POINTS ? w->opts->max_evaluations : FIRST_POINTS;
    asc_status st = asc_path_points_reserve(w->ctx, &w->points, n);
    if (st != ASC_OK) return st;
    for (size_t i = 0; i < n; i++) w->points.alpha[i] = (double)i / (double)(n - 1);
    return evaluate(w, n);
}

/* How many of `want` further points the limits allow. */
static size_t affordable(const work *w, size_t want) {
    size_t room = w->opts->max_evaluations - w->points.n;
    if (room > want) room = want;
    if (w->opts->max_seconds > 0.0) {
        double left = (w->opts->max_seconds - elapsed(w)) / fmax(w->seconds_per_point, 1e-9);
        if (left < (double)room) room = left < 1.0 ? 0 : (size_t)left;
    }
    return room;
}

/* The even points between the first ones, in order; returns how many. */
static size_t fill_in(work *w) {
    asc_path_points *p = &w->points;
    size_t more = 0, step = (ROUGH_POINTS - 1) / (FIRST_POINTS - 1);
    for (size_t i = 0; i < ROUGH_POINTS; i++) {
        if (i % step != 0) p->alpha[p->n + more++] = (double)i / (double)(ROUGH_POINTS - 1);
    }
    return more;
}

/* Adds up all intervals. The bound of a component is BOUND_FACTOR times the root of the sum of squares over
 * the intervals, whose errors have signs of their own, of: the difference of the two rules, scaled up where
 * the residual exceeds it, and the noise. The factor is fitted (docs/SPEED.md). Sets key[] and the figures in
 * w. */
static asc_status add_up(work *w) {
    asc_path_points *p = &w->points;
    size_t dim = p->dim;
    asc_status st = asc_grow(w->ctx, ASC_MEM_SCRATCH, (void **)&w->key, &w->cap_key, p->n, sizeof *w->key);
    if (st != ASC_OK) return st;
    memset(w->integral, 0, dim * sizeof *w->integral);
    memset(w->error, 0, dim * sizeof *w->error);
    w->largest = w->residual = w->left_over = w->noise = w->worst_error = 0.0;
    for (size_t i = 0; i + 1 < p->n; i++) {
        asc_path_interval v;
        asc_path_interval_integrate(p, i, w->part, w->difference, &v);
        double middle = 0.5 * (v.from + v.to);
        double noise =
            w->opts->noise * 0.5 * (p->top[p->order[i]] + p->top[p->order[i + 1]]) * (v.to - v.from);
        double missed = fmax(fabs(v.residual) - 2.0 * w->opts->value_noise, 0.0);
        double indicator = fmax(v.largest, missed);
        bool rough =
            v.largest > noise || missed > 2.0 * noise * sqrt((double)dim); /* of a sum of dim noises */
        bool splits = v.from < middle && middle < v.to && v.to - v.from > w->opts->narrowest && rough;
        w->key[i] = splits ? indicator : 0.0;
        w->noise += noise * noise;
        w->residual += v.residual;
        w->left_over += v.left_over;
        /* A residual above the differences shows that the points missed something; it is then in the
         * components whose differences are largest, or anywhere when there are none. */
        double unseen = v.largest > 0.0 ? missed / v.largest : 0.0;
        double blind = v.largest > 0.0 ? 0.0 : missed * missed;
        for (size_t k = 0; k < dim; k++) {
            double d = w->difference[k];
            w->integral[k] += w->part[k];
            w->error[k] += d * d * (1.0 + unseen * unseen) + blind + noise * noise;
        }
    }
    w->noise = sqrt(w->noise);
    for (size_t k = 0; k < dim; k++) {
        w->error[k] = BOUND_FACTOR * sqrt(w->error[k]);
        w->largest = fmax(w->largest, fabs(w->integral[k]));
        w->worst_error = fmax(w->worst_error, w->error[k]);
    }
    size_t slot = w->history++ % 64;
    w->fit_n[slot] = (double)p->n;
    w->fit_error[slot] = fmax(w->worst_error, fabs(w->residual));
    return ASC_OK;
}

static bool good_enough(const work *w) {
    double allowed = w->opts->tolerance * w->largest;
    return w->worst_error <= allowed && fabs(w->residual) <= allowed;
}

/* An indicator under which an interval cannot matter: if all were so small, their error would be a tenth of
 * the tolerance. Without it, once the worst intervals can be halved no further, the rounding of the others
 * would be chased. */
static double negligible(const work *w) {
    return 0.1 / BOUND_FACTOR * w->opts->tolerance * w->largest / sqrt((double)w->points.n);
}

/* Writes the midpoints of the worst intervals with keys over `floor` behind the points; returns how many. */
static size_t choose(work *w, double floor) {
    asc_path_points *p = &w->points;
    size_t room = affordable(w, ROUND), chosen = 0;
    double worst = 0.0;
    for (; chosen < room; chosen++) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < p->n; i++) best = w->key[i] > w->key[best] ? i : best;
        worst = fmax(worst, w->key[best]);
        if (w->key[best] <= fmax(SHARE_OF_WORST * worst, floor)) break;
        w->key[best] = 0.0;
        p->alpha[p->n + chosen] = 0.5 * (p->alpha[p->order[best]] + p->alpha[p->order[best + 1]]);
    }
    return chosen;
}

/* The last word before "converged": the widest intervals are halved too. A narrow step between two points
 * whose components cancel in the sum leaves no trace in f; looking where nobody looked yet is the only way to
 * meet it. */
static void choose_widest(work *w) {
    asc_path_points *p = &w->points;
    for (size_t i = 0; i + 1 < p->n; i++) w->key[i] = p->alpha[p->order[i + 1]] - p->alpha[p->order[i]];
}

/* Error against evaluations falls about exponentially once the sharp places are found: a line through
 * log(error) over the later half of the rounds. 0 when it does not fall. */
static double estimate_evaluations(const work *w) {
    size_t have = w->history < 64 ? w->history : 64, use = have < 6 ? have : have / 2 + 2;
    double n = 0.0, sx = 0.0, sy = 0.0, sxx = 0.0, sxy = 0.0, target = w->opts->tolerance * w->largest;
    for (size_t i = 0; i < use; i++) {
        size_t slot = (w->history - 1 - i) % 64;
        if (!(w->fit_error[slot] > 0.0)) continue;
        double x = w->fit_n[slot], y = log(w->fit_error[slot]);
        n += 1.0, sx += x, sy += y, sxx += x * x, sxy += x * y;
    }
    double below = n * sxx - sx * sx;
    if (n < 3.0 || below <= 0.0 || !(target > 0.0)) return 0.0;
    double slope = (n * sxy - sx * sy) / below;
    double now = log(fmax(w->worst_error, fabs(w->residual)));
    if (slope >= 0.0 || now <= log(target)) return 0.0;
    double more = ceil((log(target) - now) / slope);
    return more < 1e7 ? (double)w->points.n + more : 0.0;
}

static asc_status check(asc_ctx *ctx, size_t dim, const asc_adaptive_options *o) {
    if (dim == 0) return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "nothing to integrate: no component");
    if (!(o->tolerance > 0.0) || !(o->noise >= 0.0) || !(o->max_seconds >= 0.0)) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "tolerance %g, noise %g, seconds %g: expected > 0, >= 0, >= 0",
                 o->tolerance, o->noise, o->max_seconds);
        return asc_hint(ctx, "the default tolerance is 0.01");
    }
    if (o->max_evaluations < LEAST_POINTS) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "at most %zu evaluations; the adaptive rule needs %d",
                 o->max_evaluations, LEAST_POINTS);
        return asc_hint(ctx, "allow at least %d (some hundreds are usual), or use a fixed rule",
                        LEAST_POINTS);
    }
    return ASC_OK;
}

size_t asc_adaptive_least(void) { return FIRST_POINTS + ROUND; }

size_t asc_adaptive_bytes(size_t dim, size_t max_evaluations) {
    enum { OF_A_POINT = 6 }; /* alpha, f, top, order, key and what growing leaves over */
    size_t n, cells, bytes;
    if (!asc_add_size(max_evaluations, ROUGH_POINTS, &n) || !asc_add_size(dim, OF_A_POINT, &cells) ||
        !asc_mul_size(n, cells, &cells) || !asc_mul_size(cells, sizeof(double), &bytes) ||
        !asc_add_size(bytes, bytes / 2, &bytes)) /* asc_grow's spare half */
        return SIZE_MAX;
    return bytes;
}

asc_status asc_adaptive_integrate(asc_ctx *ctx, asc_integrand_fn fn, void *self, size_t dim,
                                  const asc_adaptive_options *opts, double *integral, double *error,
                                  asc_adaptive_result *out) {
    work w = {.ctx = ctx,
              .fn = fn,
              .self = self,
              .opts = opts,
              .points = {.dim = dim},
              .integral = integral,
              .error = error,
              .start_ns = asc_now_ns()};
    bool converged = false, confirmed = false, stuck = false; /* stuck: nothing but noise is left to halve */
    asc_status st = check(ctx, dim, opts);
    if (st != ASC_OK) return st;
    w.part = asc_calloc(ctx, ASC_MEM_SCRATCH, dim, sizeof *w.part);
    w.difference = asc_calloc(ctx, ASC_MEM_SCRATCH, dim, sizeof *w.difference);
    if (w.part == NULL || w.difference == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    ASC_TRY(first_points(&w));
    for (;;) {
        ASC_TRY(asc_poll_cancel(ctx));
        ASC_TRY(add_up(&w));
        converged = good_enough(&w);
        if (converged && confirmed) break;
        if (converged) choose_widest(&w);
        confirmed = converged;
        ASC_TRY(asc_path_points_reserve(ctx, &w.points, ROUGH_POINTS));
        bool fill = w.points.n == FIRST_POINTS && !converged &&
                    affordable(&w, ROUGH_POINTS - FIRST_POINTS) == ROUGH_POINTS - FIRST_POINTS;
        size_t more = fill ? fill_in(&w) : choose(&w, converged ? 0.0 : negligible(&w));
        stuck = more == 0 && affordable(&w, 1) > 0;
        if (more == 0) break;
        ASC_TRY(evaluate(&w, more));
    }
    const asc_path_points *p = &w.points;
    *out =
        (asc_adaptive_result){.f0 = p->f[p->order[0]],
                              .f1 = p->f[p->order[p->n - 1]],
                              .residual = w.left_over,
                              .largest_error = w.worst_error,
                              .noise_floor = w.noise,
                              .evaluations = p->n,
                              .panels = p->n - 1,
                              .converged = converged,
                              .estimated_evaluations = converged || stuck ? 0.0 : estimate_evaluations(&w)};
done:
    asc_path_points_deinit(ctx, &w.points);
    asc_free(ctx, w.part);
    asc_free(ctx, w.difference);
    asc_free(ctx, w.key);
    return st;
}
