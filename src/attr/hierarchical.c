/* hierarchical.c - Shapley values of parts of the text that are only as small as they need to be: paragraphs
 * first; what matters is taken apart into sentences, what matters of those into words.
 *
 * Every cut of the text into parts is a game of its own whose players are the parts, and its scores are their
 * Shapley values (pair_fit.c): they add up to the whole change on every cut, the last one too. Nothing is
 * left over, but a part that was not taken apart has one score for all that is in it. Cuts before the last
 * are looked at with errors just small enough to decide what matters. */
#include "coalitions.h"
#include "game.h"
#include "view.h"
#include <math.h>
#include <string.h>

enum { MOST_LEVELS = 4, DRY_SAMPLES = 4, LEAST_SAMPLES = 25, MOST_SAMPLES = 1000, MOST_SETS = 1 << 15 };
static const double REFINE = 0.1, TOLERANCE = 0.1;

/* Features [first, last) of the request as one player. */
typedef struct piece {
    size_t first, last, level;
} piece;

typedef struct tree {
    asc_job *j;
    size_t n_levels; /* the last: the request's features themselves */
    asc_features kind[MOST_LEVELS];
    size_t *unit[MOST_LEVELS]; /* [n_groups] which unit of the level a feature is in; ascending */
    piece *pieces, *next;      /* [n_groups] the cut in hand, the next one */
    size_t n;
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
        out[n++] = (piece){g, k, k - g == 1 ? t->n_levels - 1 : level};
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

static size_t tokens_of(const tree *t, piece p) {
    return t->j->groups[p.last - 1].last - t->j->groups[p.first].first;
}

/* The next cut: what scores more than the share of the largest is taken apart. A dry run knows no scores
 * and takes apart what is at least of mean length on every cut. Returns whether anything was. */
static bool refine(tree *t, const double *scores, double share, bool dry) {
    size_t n = 0, all = 0, before = t->n;
    double largest = 0.0;
    for (size_t i = 0; i < t->n; i++) {
        largest = fmax(largest, fabs(scores[i]));
        all += tokens_of(t, t->pieces[i]);
    }
    for (size_t i = 0; i < t->n; i++) {
        bool matters = dry ? tokens_of(t, t->pieces[i]) * t->n >= all : fabs(scores[i]) > share * largest;
        if (matters && divisible(t, t->pieces[i]))
            n = take_apart(t, t->pieces[i], t->next, n);
        else
            t->next[n++] = t->pieces[i];
    }
    piece *was = t->pieces;
    t->pieces = t->next;
    t->next = was;
    t->n = n;
    return n > before;
}

static asc_status run_cuts(tree *t, asc_prompt_game *p) {
    const asc_request *q = t->j->req;
    asc_game *g = &p->g;
    double share = q->refine > 0.0 ? q->refine : REFINE;
    double last = q->tolerance > 0.0 ? q->tolerance : q->samples > 0 ? 0.0 : TOLERANCE;
    g->self = t;
    g->values = values;
    g->noise = job_noise;
    g->note = ignore;
    g->captum = false;
    for (bool looking = true;;) {
        bool whole = true;
        for (size_t i = 0; i < t->n; i++) whole = whole && !divisible(t, t->pieces[i]);
        looking = looking && !whole;
        g->m = t->n;
        g->samples = MOST_SETS / t->n < MOST_SAMPLES ? MOST_SETS / t->n : MOST_SAMPLES;
        if (g->samples < LEAST_SAMPLES) g->samples = LEAST_SAMPLES;
        if (q->samples > 0) g->samples = q->samples;
        if (q->samples == 0 && g->dry) g->samples = DRY_SAMPLES;
        g->tolerance = looking ? fmax(share, last) : last;
        g->drawn = 0;
        g->stochastic = true;
        asc_status st = asc_game_sampled(g, p->scores, p->errors);
        if (st != ASC_OK || !looking) return st;
        looking = refine(t, p->scores, share, g->dry);
        if (!looking && g->tolerance <= last && g->converged) return ASC_OK;
    }
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
        t.pieces[t.n++] = (piece){g, k, k - g == 1 ? t.n_levels - 1 : top};
    }
    ASC_TRY(run_cuts(&t, &p));
    ASC_TRY(make_features(&t));
    publish(&t, &p);
    if (!p.g.converged && p.g.tolerance > 0.0)
        st = asc_job_warn(j, "%zu sets did not reach the tolerance of %g", p.g.drawn, p.g.tolerance);
done:
    asc_prompt_game_end(&p);
    for (size_t i = 0; i < t.n_levels; i++) asc_free(j->ctx, t.unit[i]);
    asc_free(j->ctx, t.pieces);
    asc_free(j->ctx, t.next);
    return st;
}

static void price(const asc_job *j, double *n_forward, double *n_gradient) {
    *n_forward =
        4.0 * (double)j->n_groups; /* two sets and their complements a part, if all are taken apart */
    *n_gradient = 0.0;
}

const asc_method asc_method_hierarchical = {
    .info =
        {.name = "hierarchical",
         .captum = "",
         .doc = "Shapley values of paragraphs, of sentences where they matter, of words where those do",
         .formula = "Shapley values of the parts of the last cut; a part with |score| > refine x the "
                    "largest is cut further, down to the features asked for",
         .paper =
             "Shapley, 1953; hierarchies of text: Chen, Zheng, Ji, Generating Hierarchical Explanations on "
             "Text Classification via Feature Interaction Detection, ACL 2020; Monteiro Paes et al., "
             "Multi-Level Explanations for Generative Language Models, 2024",
         .axioms = "completeness, on every cut; the Shapley axioms among the parts of the last one",
         .cost = "at least 4 forward passes a part and cut, instead of 4 a word; sampling goes on until the "
                 "tolerance is met",
         .options =
             "features (how far it goes: word, token, sentence), refine (default 0.1), tolerance (of the "
             "last cut, default 10%), samples (orders' worth of sets a cut, at most; default 1000), seed, "
             "baseline (remove, mask, eos, pad, token:ID), per-token",
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
