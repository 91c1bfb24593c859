/* hierarchical.c - Shapley values of parts of the text that are only as small as they need to be: paragraphs
 * first; what matters is taken apart into sentences, what matters of those into words.
 *
 * Every cut of the text into parts is a game of its own whose players are the parts, and its scores are their
 * Shapley values (pair_fit.c): they add up to the whole change on every cut, the last one too. Nothing is
 * left over, but a part that was not taken apart has one score for all that is in it.
 *
 * Cuts before the last only decide what is taken apart, so two prompts a part do: what it adds when it joins
 * nothing and when it joins all others. Half their sum, evened out to the whole change, is the Shapley value
 * itself where no more than two parts work together, or where there are no more than three. By default the
 * last cut has few parts and few sets, so that a long text costs some hundred prompts; errors say what that
 * is worth. */
#include "coalitions.h"
#include "game.h"
#include "view.h"
#include <math.h>
#include <string.h>

enum { MOST_LEVELS = 4, LEAST_SAMPLES = 25, MOST_SAMPLES = 1000, MOST_SETS = 1 << 15 };
/* Without a tolerance or a number of samples: sets of the last cut, one part's and at least. Two pairs a part
 * are the fewest whose errors are no guesses (shapley_value_sampling.c). */
enum { SETS_A_PART = 4, LEAST_SETS = 256 };
/* Without request.refine: parts that a cut may have by taking apart. With the sets above, 320 prompts. */
enum { MOST_PARTS = 80 };
static const double REFINE = 0.1, TOLERANCE = 0.1;

/* Features [first, last) of the request as one player. */
typedef struct piece {
    size_t first, last, level;
    bool looked; /* at rough: half of what it adds alone, and of what it adds to all others */
    double rough;
} piece;

typedef struct tree {
    asc_job *j;
    size_t n_levels; /* the last: the request's features themselves */
    asc_features kind[MOST_LEVELS];
    size_t *unit[MOST_LEVELS]; /* [n_groups] which unit of the level a feature is in; ascending */
    piece *pieces, *next;      /* [n_groups] the cut in hand, the next one */
    size_t n;
    double largest; /* score on any cut that was looked at */
    size_t n_left;  /* parts that matter and were left whole, since the cut had MOST_PARTS */
} tree;

/* ---- levels ---- */

/* Numbers the units of a level: by the segments that the features begin in, never across messages or units of
 * the level above. */
static asc_status make_level(tree *t, asc_features kind, asc_segment_unit unit) {
    asc_job *j = t->j;
    asc_span *spans = NULL;
    size_t n_spans = 0, at = 0, number = 0, before = 0;
    size_t *out = asc_calloc(j->ctx, ASC_MEM_GENERAL, j->n_groups + 1, sizeof *out);
    if (out == NULL) return ASC_RESOURCE_EXHAUSTED;
    const size_t *above = t->n_levels > 0 ? t->unit[t->n_levels - 1] : NULL;
    t->kind[t->n_levels] = kind;
    t->unit[t->n_levels++] = out;
    asc_status st =
        asc_segment(j->ctx, asc_view_make(j->r->prompt, j->r->prompt_len), unit, &spans, &n_spans);
    for (size_t g = 0; st == ASC_OK && g < j->n_groups; g++) {
        size_t byte = j->groups[g].start;
        while (byte + 1 < j->groups[g].end && strchr(" \t\r\n", j->r->prompt[byte]) != NULL) byte++;
        while (at + 1 < n_spans && spans[at].end <= byte) at++;
        bool apart = g > 0 && (at != before || j->group_message[g] != j->group_message[g - 1] ||
                               (above != NULL && above[g] != above[g - 1]));
        number += apart;
        before = at;
        out[g] = number;
    }
    asc_free(j->ctx, spans);
    return st;
}

/* Paragraphs, sentences, words: those coarser than the request's features, and these. */
static asc_status make_levels(tree *t) {
    static const struct {
        asc_features kind;
        asc_segment_unit unit;
    } coarse[] = {{ASC_FEATURES_PARAGRAPH, ASC_SEGMENT_PARAGRAPH},
                  {ASC_FEATURES_SENTENCE, ASC_SEGMENT_SENTENCE},
                  {ASC_FEATURES_WORD, ASC_SEGMENT_WORD}};
    asc_job *j = t->j;
    asc_features finest = j->req->features;
    if (finest != ASC_FEATURES_TOKEN && finest != ASC_FEATURES_WORD && finest != ASC_FEATURES_SENTENCE) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "hierarchical: nothing to take apart into features by %s",
                 asc_features_name(finest));
        return asc_hint(j->ctx, "use --features word, token or sentence: how far it may go");
    }
    for (size_t i = 0; i < 3 && coarse[i].kind != finest; i++) {
        asc_status st = make_level(t, coarse[i].kind, coarse[i].unit);
        if (st != ASC_OK) return st;
    }
    size_t *own = asc_calloc(j->ctx, ASC_MEM_GENERAL, j->n_groups + 1, sizeof *own);
    if (own == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t g = 0; g < j->n_groups; g++) own[g] = g;
    t->kind[t->n_levels] = finest;
    t->unit[t->n_levels++] = own;
    return ASC_OK;
}

/* Appends the parts of p on the first level below its own that has more than one of them. */
static size_t take_apart(const tree *t, piece p, piece *out, size_t n) {
    size_t level = p.level + 1;
    while (level + 1 < t->n_levels && t->unit[level][p.first] == t->unit[level][p.last - 1]) level++;
    for (size_t g = p.first, k; g < p.last; g = k) {
        for (k = g + 1; k < p.last && t->unit[level][k] == t->unit[level][g];) k++;
        out[n++] = (piece){.first = g, .last = k, .level = k - g == 1 ? t->n_levels - 1 : level};
    }
    return n;
}

static bool divisible(const tree *t, piece p) { return p.level + 1 < t->n_levels; }

/* ---- one cut ---- */

static asc_status values(void *self, const uint8_t *present, size_t k, const size_t *active, size_t n_active,
                         double *y, size_t stride) {
    const tree *t = self;
    size_t groups = t->j->n_groups, cells;
    (void)active;
    (void)stride;
    if (k == 0 || n_active == 0) return ASC_OK;
    uint8_t *rows = asc_mul_size(k, groups, &cells) ? asc_calloc(t->j->ctx, ASC_MEM_GENERAL, cells, 1) : NULL;
    if (rows == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < k * t->n; i++) {
        const piece *p = &t->pieces[i % t->n];
        memset(rows + i / t->n * groups + p->first, present[i], p->last - p->first);
    }
    asc_status st = asc_job_coalition_values(t->j, rows, k, y);
    asc_free(t->j->ctx, rows);
    return st;
}

static double job_noise(void *self, size_t o, double largest) {
    const asc_job *j = ((const tree *)self)->j;
    (void)largest;
    return 2.0 * (o == 0 ? asc_job_value_noise(j) : asc_job_token_noise(j, o - 1));
}

static asc_status ignore(void *self, const char *line) {
    (void)self;
    (void)line;
    return ASC_OK;
}

/* About the Shapley values of the cut in hand: of each part alone and of all parts but it. Parts that the cut
 * before had too need no prompts. scores [n]. */
static asc_status look(tree *t, const asc_game *g, double *scores) {
    size_t n = t->n, k = 0, rows, width, active = 0;
    asc_ctx *ctx = t->j->ctx;
    if (!asc_mul_size(2 * n, n, &rows) || !asc_mul_size(2 * n, g->n_out, &width))
        return ASC_RESOURCE_EXHAUSTED;
    uint8_t *present = asc_calloc(ctx, ASC_MEM_GENERAL, rows + 1, sizeof *present);
    double *y = asc_calloc(ctx, ASC_MEM_GENERAL, width + 1, sizeof *y), sum = 0.0;
    asc_status st = present != NULL && y != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; st == ASC_OK && i < n; i++) {
        if (t->pieces[i].looked) continue;
        memset(present + (k + 1) * n, 1, n);
        present[k * n + i] = 1;
        present[(k + 1) * n + i] = 0;
        k += 2;
    }
    if (st == ASC_OK) st = values(t, present, k, &active, 1, y, 0);
    for (size_t i = 0, at = 0; st == ASC_OK && i < n; i++) {
        piece *p = &t->pieces[i];
        if (!p->looked) {
            p->rough = (y[at * g->n_out] - g->empty[0] + g->full[0] - y[(at + 1) * g->n_out]) / 2.0;
            p->looked = true;
            at += 2;
        }
        sum += p->rough;
    }
    for (size_t i = 0; st == ASC_OK && i < n; i++) {
        scores[i] = t->pieces[i].rough + (g->full[0] - g->empty[0] - sum) / (double)n;
        t->largest = fmax(t->largest, fabs(scores[i]));
    }
    asc_free(ctx, present);
    asc_free(ctx, y);
    return st;
}

/* Whether something new could be taken apart. */
static bool open_ended(tree *t, size_t most) {
    for (size_t i = 0; i < t->n; i++) {
        if (t->pieces[i].looked || !divisible(t, t->pieces[i])) continue;
        if (t->n - 1 + take_apart(t, t->pieces[i], t->next, 0) <= most) return true;
    }
    return false;
}

/* Marks what is taken apart: parts over the share of the largest, the largest first, while the next cut has
 * at most `most` parts. A dry run knows no scores: all of them matter. Returns how many. */
static size_t choose(tree *t, const double *scores, double share, size_t most, bool dry, bool *apart) {
    size_t n = t->n, marked = 0;
    t->n_left = 0;
    memset(apart, 0, t->n * sizeof *apart);
    for (double above = INFINITY;;) { /* through the scores downwards; equal ones together, in their order */
        double at = -1.0;
        for (size_t i = 0; i < t->n; i++)
            if (fabs(scores[i]) < above) at = fmax(at, fabs(scores[i]));
        if (at < 0.0 || (!dry && !(at > share * t->largest))) return marked;
        for (size_t i = 0; i < t->n; i++) {
            if (fabs(scores[i]) != at || !divisible(t, t->pieces[i])) continue;
            size_t parts = take_apart(t, t->pieces[i], t->next, 0);
            apart[i] = n - 1 + parts <= most;
            if (apart[i]) n += parts - 1;
            marked += apart[i];
            t->n_left += !apart[i];
        }
        above = at;
    }
}

/* The next cut. Sets *more to whether there is another than the one in hand. */
static asc_status refine(tree *t, const double *scores, double share, size_t most, bool dry, bool *more) {
    size_t n = 0;
    bool *apart = asc_calloc(t->j->ctx, ASC_MEM_GENERAL, t->n + 1, sizeof *apart);
    if (apart == NULL) return ASC_RESOURCE_EXHAUSTED;
    *more = choose(t, scores, share, most, dry, apart) > 0;
    for (size_t i = 0; i < t->n; i++) {
        if (apart[i])
            n = take_apart(t, t->pieces[i], t->next, n);
        else
            t->next[n++] = t->pieces[i];
    }
    piece *was = t->pieces;
    t->pieces = t->next;
    t->next = was;
    t->n = n;
    asc_free(t->j->ctx, apart);
    return ASC_OK;
}

/* Orders' worth of sets of a last cut of n parts; a dry run counts as many sets as of `most` parts. */
static size_t last_samples(const asc_request *q, size_t n, size_t most, bool dry) {
    size_t parts = dry && most > n ? most : n, between = n > 1 ? n - 1 : 1, sets = SETS_A_PART * parts;
    if (q->samples > 0) return q->samples;
    if (!(q->tolerance > 0.0) || dry) return (sets > LEAST_SETS ? sets : LEAST_SETS) / between;
    size_t orders = MOST_SETS / n < MOST_SAMPLES ? MOST_SETS / n : MOST_SAMPLES;
    return orders > LEAST_SAMPLES ? orders : LEAST_SAMPLES;
}

static size_t most_parts(const asc_job *j) {
    return j->req->refine > 0.0 || j->n_groups < MOST_PARTS ? j->n_groups : MOST_PARTS;
}

static asc_status run_cuts(tree *t, asc_prompt_game *p) {
    const asc_request *q = t->j->req;
    asc_game *g = &p->g;
    double share = q->refine > 0.0 ? q->refine : REFINE;
    g->self = t;
    g->values = values;
    g->noise = job_noise;
    g->note = ignore;
    g->captum = false;
    size_t most = most_parts(t->j);
    for (bool more = true; more && open_ended(t, most);) {
        asc_status st = look(t, g, p->scores);
        if (st == ASC_OK) st = refine(t, p->scores, share, most, g->dry, &more);
        if (st != ASC_OK) return st;
    }
    g->m = t->n;
    g->samples = last_samples(q, t->n, most, g->dry);
    g->tolerance = q->tolerance > 0.0 ? q->tolerance : q->samples > 0 ? 0.0 : TOLERANCE;
    g->drawn = 0;
    g->stochastic = true;
    return asc_game_sampled(g, p->scores, p->errors);
}

/* ---- the result ---- */

/* Features of the result become the parts of the last cut. */
static asc_status make_features(tree *t) {
    asc_job *j = t->j;
    asc_result *r = j->r;
    size_t *part_of = asc_calloc(j->ctx, ASC_MEM_GENERAL, j->n_groups + 1, sizeof *part_of), kept = 0;
    asc_feature *f = asc_calloc(j->ctx, ASC_MEM_GENERAL, t->n + 1, sizeof *f);
    asc_status st = part_of != NULL && f != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; st == ASC_OK && i < t->n; i++) {
        const asc_feature *from = &r->features[t->pieces[i].first], *to = &r->features[t->pieces[i].last - 1];
        for (size_t g = t->pieces[i].first; g < t->pieces[i].last; g++) part_of[g] = i;
        f[i] = *from;
        f[i].end = to->end;
        f[i].n_tokens = to->first_token + to->n_tokens - from->first_token;
        f[i].kind = t->kind[t->pieces[i].level];
        f[i].text_len = to->end - from->start;
        f[i].text = asc_strdup_view(j->ctx, ASC_MEM_GENERAL,
                                    asc_view_make(r->prompt + from->start, to->end - from->start));
        if (f[i].text == NULL) st = ASC_RESOURCE_EXHAUSTED;
    }
    if (st != ASC_OK) {
        for (size_t i = 0; f != NULL && i < t->n; i++)
            if (f[i].text != r->features[t->pieces[i].first].text) asc_free(j->ctx, f[i].text);
        asc_free(j->ctx, f);
        asc_free(j->ctx, part_of);
        return st;
    }
    for (size_t i = 0; i < r->n_features; i++) asc_free(j->ctx, r->features[i].text);
    asc_free(j->ctx, r->features);
    r->features = f;
    r->n_features = t->n;
    for (size_t i = 0; i < r->n_parts; i++) { /* neighbours of one part become one */
        asc_feature_part now = r->parts[i], *last = kept > 0 ? &r->parts[kept - 1] : NULL;
        now.feature = part_of[now.feature];
        if (last != NULL && last->feature == now.feature) {
            last->end = now.end;
            last->n_tokens = now.first_token + now.n_tokens - last->first_token;
        } else {
            r->parts[kept++] = now;
        }
    }
    r->n_parts = kept;
    asc_free(j->ctx, part_of);
    return ASC_OK;
}

static void publish(tree *t, const asc_prompt_game *p) {
    const asc_game *g = &p->g;
    asc_result *r = t->j->r;
    r->value = g->full[0];
    r->baseline_value = g->empty[0];
    r->converged = g->converged;
    r->refinable = !g->converged;
    r->stochastic = g->stochastic;
    r->samples = g->stochastic ? g->drawn : 0;
    r->n_forward_flat = (uint64_t)((double)g->drawn / (double)t->n * (double)t->j->n_groups) + 2;
    for (size_t i = 0; i < t->n; i++) {
        r->features[i].score = p->scores[i];
        r->features[i].error = p->errors[i];
        r->scores[r->features[i].first_token] = p->scores[i];
        r->score_errors[r->features[i].first_token] = p->errors[i];
    }
    for (size_t i = 0; i < (g->n_out - 1) * t->n; i++) {
        r->matrix[i] = p->scores[t->n + i];
        r->matrix_errors[i] = p->errors[t->n + i];
    }
}

/* What a reader would want to be otherwise. A tolerance that nobody asked for is no failure. */
static asc_status say(tree *t, asc_prompt_game *p) {
    asc_job *j = t->j;
    const asc_game *g = &p->g;
    double largest = 0.0, worst = 0.0;
    asc_status st = ASC_OK;
    size_t left = t->n_left;
    for (size_t i = 0; i < t->n; i++) left += divisible(t, t->pieces[i]) && !t->pieces[i].looked;
    if (left > 0)
        st = asc_job_warn(j,
                          "taken apart into no more than %d parts by default: of the %zu, %zu that score "
                          "more than %g of the largest or were not looked at are whole; a refine of your "
                          "own (--refine %g) has no limit",
                          MOST_PARTS, t->n, left, REFINE, REFINE);
    if (st != ASC_OK || g->converged) return st;
    if (j->req->tolerance > 0.0)
        return asc_job_warn(j, "%zu sets did not reach the tolerance of %g", g->drawn, g->tolerance);
    for (size_t i = 0; i < t->n; i++) {
        largest = fmax(largest, fabs(p->scores[i]));
        worst = p->errors[i] <= worst ? worst : p->errors[i];
    }
    j->r->converged = true;
    return asc_job_warn(j,
                        "errors are up to %.2g of the largest score after %zu sets; a tolerance of your "
                        "own (--tolerance %g) draws on until it is met",
                        worst / largest, g->drawn, g->tolerance);
}

static asc_status run(asc_job *j) {
    tree t = {.j = j};
    asc_prompt_game p = {.j = j};
    asc_status st;
    ASC_TRY(make_levels(&t));
    t.pieces = asc_calloc(j->ctx, ASC_MEM_GENERAL, j->n_groups + 1, sizeof *t.pieces);
    t.next = asc_calloc(j->ctx, ASC_MEM_GENERAL, j->n_groups + 1, sizeof *t.next);
    if (t.pieces == NULL || t.next == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    ASC_TRY(asc_prompt_game_begin(j, &p));
    size_t top = 0; /* the whole text is one piece above the first level that divides it */
    while (top + 1 < t.n_levels && t.unit[top][j->n_groups - 1] == 0) top++;
    for (size_t g = 0, k; g < j->n_groups; g = k) {
        for (k = g + 1; k < j->n_groups && t.unit[top][k] == t.unit[top][g];) k++;
        t.pieces[t.n++] = (piece){.first = g, .last = k, .level = k - g == 1 ? t.n_levels - 1 : top};
    }
    ASC_TRY(run_cuts(&t, &p));
    ASC_TRY(make_features(&t));
    publish(&t, &p);
    st = say(&t, &p);
done:
    asc_prompt_game_end(&p);
    for (size_t i = 0; i < t.n_levels; i++) asc_free(j->ctx, t.unit[i]);
    asc_free(j->ctx, t.pieces);
    asc_free(j->ctx, t.next);
    return st;
}

static void price(const asc_job *j, double *n_forward, double *n_gradient) {
    double parts = (double)most_parts(j), sets = fmax(SETS_A_PART * parts, LEAST_SETS);
    *n_forward = sets + 2.0 * MOST_LEVELS * parts; /* the last cut, and looks at those before it */
    *n_gradient = 0.0;
}

const asc_method asc_method_hierarchical = {
    .info =
        {.name = "hierarchical",
         .captum = "",
         .doc = "Shapley values of paragraphs, of sentences where they matter, of words where those do",
         .formula = "Shapley values of the parts of the last cut; a part with |score| > refine x the "
                    "largest of any cut is cut further, down to the features asked for; scores that decide: "
                    "(f(i) - f(none) + f(all) - f(all but i)) / 2, evened out to the whole change",
         .paper =
             "Shapley, 1953; hierarchies of text: Chen, Zheng, Ji, Generating Hierarchical Explanations on "
             "Text Classification via Feature Interaction Detection, ACL 2020; Monteiro Paes et al., "
             "Multi-Level Explanations for Generative Language Models, 2024",
         .axioms = "completeness, on every cut; the Shapley axioms among the parts of the last one",
         .cost =
             "2 forward passes a part of each cut before the last, and 4 a part of the last one (at least "
             "256, or fewer when errors are within 10% or all sets are fewer); with a tolerance more",
         .options =
             "features (how far it goes: word, token, sentence), refine (default 0.1 and no more than 80 "
             "parts), "
             "tolerance (of the last cut: sets are drawn until it is met), samples (orders' worth of sets of "
             "the last cut, at most; with a tolerance 1000), seed, "
             "baseline (remove, mask, eos, pad, token:ID), output, per-token",
         .differences = "Captum has none"},
    .needs_baseline = true,
    .auto_baseline = ASC_BASELINE_REMOVE,
    .complete = true,
    .stochastic = true,
    .samples = MOST_SAMPLES,
    .per_token = true,
    .run = run,
    .price = price,
};
