/* prompt_trie.c - see prompt_trie.h. */
#include "prompt_trie.h"
#include <stdlib.h>
#include <string.h>

enum { TAIL_STEP = 16 }; /* tails are rounded up to it, so that passes have few different shapes */

static size_t length(const asc_trie_row *r) { return r->n + r->n_answer - 1; }
static int32_t id_at(const asc_trie_row *r, size_t i) { return i < r->n ? r->ids[i] : r->answer[i - r->n]; }
static int32_t pos_at(const asc_trie_row *r, size_t i) {
    return i < r->n ? r->positions[i] : r->next + (int32_t)(i - r->n);
}

/* Tokens that both begin with. */
static size_t common(const asc_trie_row *a, const asc_trie_row *b) {
    size_t n = length(a) < length(b) ? length(a) : length(b), i = 0;
    while (i < n && id_at(a, i) == id_at(b, i) && pos_at(a, i) == pos_at(b, i)) i++;
    return i;
}

static int in_order(const void *x, const void *y) {
    const asc_trie_row *a = x, *b = y;
    size_t i = common(a, b), na = length(a), nb = length(b);
    if (i < na && i < nb) {
        const int32_t p = pos_at(a, i), q = pos_at(b, i), v = id_at(a, i), w = id_at(b, i);
        return p != q ? (p < q ? -1 : 1) : v < w ? -1 : 1;
    }
    if (na != nb) return na < nb ? -1 : 1;
    return a->out < b->out ? -1 : a->out > b->out;
}

static int by_place(const void *x, const void *y) {
    const asc_trie_take *a = x, *b = y;
    if (a->row != b->row) return a->row < b->row ? -1 : 1;
    if (a->at != b->at) return a->at < b->at ? -1 : 1;
    return a->out < b->out ? -1 : a->out > b->out;
}

static asc_status list_takes(asc_trie *t) {
    size_t n = 0;
    for (size_t i = 0; i < t->n_rows; i++) n += t->rows[i].n_answer - t->rows[i].first;
    t->takes = asc_calloc(t->ctx, ASC_MEM_GENERAL, n + 1, sizeof *t->takes);
    if (t->takes == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < t->n_rows; i++) {
        const asc_trie_row *r = &t->rows[i];
        for (size_t k = r->first; k < r->n_answer; k++) {
            size_t at = r->n - 1 + k, owner = i;
            while (t->rows[owner].shared > at) owner--;
            t->takes[t->n_takes++] =
                (asc_trie_take){.row = owner, .at = at, .out = r->out + k - r->first, .id = r->answer[k]};
        }
    }
    qsort(t->takes, t->n_takes, sizeof *t->takes, by_place);
    return ASC_OK;
}

asc_status asc_trie_init(asc_trie *t, asc_ctx *ctx, asc_trie_row *rows, size_t n) {
    *t = (asc_trie){.ctx = ctx, .rows = rows, .n_rows = n};
    qsort(rows, n, sizeof *rows, in_order);
    for (size_t i = 0; i < n; i++) {
        size_t len = length(&rows[i]);
        rows[i].shared = i > 0 ? common(&rows[i - 1], &rows[i]) : 0;
        t->n_plain += len;
        t->n_tokens += len - rows[i].shared;
        if (len > t->longest) t->longest = len;
    }
    return list_takes(t);
}

void asc_trie_deinit(asc_trie *t) {
    if (t->ctx != NULL) asc_free(t->ctx, t->takes);
    *t = (asc_trie){0};
}

/* ---- passes ---- */

static bool room(asc_ctx *ctx, int32_t **out, size_t n) {
    *out = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof **out);
    return *out != NULL;
}

asc_status asc_trie_walk_init(asc_trie_walk *w, const asc_trie *t, size_t most, bool store, size_t past,
                              size_t tail) {
    asc_ctx *ctx = t->ctx;
    *w = (asc_trie_walk){.trie = t, .most = most, .store = store, .past = past, .tail = tail};
    asc_trie_pass *p = &w->pass;
    p->past = past;
    bool ok = room(ctx, &w->where, t->longest) && room(ctx, &w->id, most) && room(ctx, &w->pos, most) &&
              room(ctx, &w->up, most) && room(ctx, &w->place, most) && room(ctx, &p->ids, most) &&
              room(ctx, &p->positions, most) && room(ctx, &p->parent, past + most) &&
              room(ctx, &p->key_positions, past + most) && room(ctx, &p->keep_from, t->longest) &&
              room(ctx, &p->keep_to, t->longest);
    w->late = ok ? asc_calloc(ctx, ASC_MEM_GENERAL, most + 1, sizeof *w->late) : NULL;
    return w->late != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

void asc_trie_walk_deinit(asc_trie_walk *w) {
    if (w->trie == NULL) return;
    asc_ctx *ctx = w->trie->ctx;
    int32_t *all[] = {w->where,
                      w->id,
                      w->pos,
                      w->up,
                      w->place,
                      w->pass.ids,
                      w->pass.positions,
                      w->pass.parent,
                      w->pass.key_positions,
                      w->pass.keep_from,
                      w->pass.keep_to};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) asc_free(ctx, all[i]);
    asc_free(ctx, w->late);
    asc_free(ctx, w->pass.takes);
    *w = (asc_trie_walk){0};
}

/* Numbers asked for behind the token that is added as the walk's n-th. */
static asc_status take_here(asc_trie_walk *w, size_t n, bool *any) {
    const asc_trie *t = w->trie;
    asc_trie_pass *p = &w->pass;
    *any = false;
    for (size_t layer = 0; w->take < t->n_takes; w->take++, layer++) {
        const asc_trie_take *x = &t->takes[w->take];
        if (x->row != w->row || x->at != w->at) break;
        asc_status st = asc_grow(t->ctx, ASC_MEM_GENERAL, (void **)&p->takes, &w->cap_takes, p->n_takes + 1,
                                 sizeof *p->takes);
        if (st != ASC_OK) return st;
        p->takes[p->n_takes].row = n;
        p->takes[p->n_takes].out = x->out;
        p->takes[p->n_takes].id = x->id;
        p->takes[p->n_takes++].layer = layer;
        if (layer + 1 > p->n_layers) p->n_layers = layer + 1;
        *any = true;
    }
    return ASC_OK;
}

/* Up of a token: the walk's number of the one before it, -1 = none, -2 - place = in the store. */
static asc_status add_token(asc_trie_walk *w, size_t n) {
    const asc_trie_row *r = &w->trie->rows[w->row];
    bool asked;
    const int32_t before = w->at > 0 ? w->where[w->at - 1] : -1;
    w->id[n] = id_at(r, w->at);
    w->pos[n] = pos_at(r, w->at);
    w->up[n] = w->at == 0 ? -1 : before >= 0 ? before : -2 - (int32_t)(w->at - 1);
    asc_status st = take_here(w, n, &asked);
    w->late[n] = asked || (before >= 0 && w->late[before]);
    w->where[w->at++] = (int32_t)n;
    w->pass.pairs += (double)w->at;
    return st;
}

static size_t in_steps(size_t n) { return (n + TAIL_STEP - 1) / TAIL_STEP * TAIL_STEP; }

/* Few different lengths, so that passes are few different programs: quarters of the longest. */
static size_t tail_for(const asc_trie_walk *w, size_t n_late) {
    enum { PARTS = 4 };
    size_t tail = w->tail > 0 ? w->tail : in_steps(n_late);
    for (size_t i = 1; i < PARTS; i++) {
        const size_t part = in_steps((w->tail * i + PARTS - 1) / PARTS);
        if (part >= n_late && part < tail) tail = part;
    }
    if (n_late == 0) tail = 1; /* nothing is asked for: only keys and values are wanted */
    return tail < w->pass.n ? tail : w->pass.n;
}

/* The place of each token in the pass: those of the tail last, all else in the order of the walk. */
static void arrange(asc_trie_walk *w) {
    asc_trie_pass *p = &w->pass;
    size_t n_late = 0, early = 0, late;
    for (size_t i = 0; i < p->n; i++) n_late += w->late[i];
    late = p->n - n_late;
    for (size_t i = 0; i < p->n; i++) w->place[i] = (int32_t)(w->late[i] ? late++ : early++);
    p->tail = tail_for(w, n_late);
    for (size_t i = 0; i < p->n; i++) {
        const size_t at = (size_t)w->place[i];
        const int32_t up = w->up[i];
        p->ids[at] = w->id[i];
        p->positions[at] = p->key_positions[p->past + at] = w->pos[i];
        p->parent[p->past + at] = up >= 0 ? (int32_t)p->past + w->place[up] : up == -1 ? -1 : -2 - up;
    }
    for (size_t i = 0; i < p->n_takes; i++)
        p->takes[i].row = (size_t)w->place[p->takes[i].row] - (p->n - p->tail);
}

/* Goes to the next token that is not yet run; false when there is none. */
static bool find_token(asc_trie_walk *w) {
    const asc_trie *t = w->trie;
    while (w->row < t->n_rows && w->at >= length(&t->rows[w->row])) {
        if (++w->row < t->n_rows) w->at = t->rows[w->row].shared;
    }
    return w->row < t->n_rows;
}

/* What of the store this pass reads: the tokens in front of its first one. */
static void read_store(asc_trie_walk *w) {
    asc_trie_pass *p = &w->pass;
    if (!w->store) w->at = 0;
    for (size_t i = 0; i < p->past; i++) {
        const bool used = i < w->at;
        p->parent[i] = (int32_t)i - 1;
        p->key_positions[i] = used ? pos_at(&w->trie->rows[w->row], i) : 0;
    }
    for (size_t i = 0; i < w->at; i++) w->where[i] = -1;
}

/* What of this pass later ones read: the tokens in front of the next one. */
static void write_store(asc_trie_walk *w) {
    asc_trie_pass *p = &w->pass;
    for (size_t i = 0; w->store && i < w->at; i++) {
        if (w->where[i] < 0) continue;
        p->keep_from[p->n_keep] = w->place[w->where[i]];
        p->keep_to[p->n_keep++] = (int32_t)i;
    }
}

asc_status asc_trie_walk_next(asc_trie_walk *w, bool *more) {
    asc_trie_pass *p = &w->pass;
    asc_status st = ASC_OK;
    p->n = p->n_takes = p->n_layers = p->n_keep = p->n_ended = 0;
    p->pairs = 0.0;
    *more = find_token(w);
    if (!*more) return ASC_OK;
    read_store(w);
    while (st == ASC_OK && p->n < w->most) {
        const size_t row = w->row, left = length(&w->trie->rows[row]) - w->at;
        if (!w->store && left > w->most - p->n && p->n > 0) break; /* sequences stay whole */
        while (st == ASC_OK && p->n < w->most && w->at < length(&w->trie->rows[row]))
            st = add_token(w, p->n++);
        const size_t done = w->row;
        if (!find_token(w)) {
            p->n_ended += w->trie->n_rows - done;
            break;
        }
        p->n_ended += w->row - done;
    }
    if (st != ASC_OK) return st;
    arrange(w);
    if (w->row < w->trie->n_rows) write_store(w);
    return ASC_OK;
}

/* What makes two passes one program. */
typedef struct shape {
    size_t n, tail;
    bool asks, keeps;
} shape;
enum { MOST_SHAPES = 16 };

static void count_shape(asc_trie_survey *s, shape *seen, const asc_trie_pass *p) {
    const shape x = {.n = p->n, .tail = p->tail, .asks = p->n_layers > 0, .keeps = p->n_keep > 0};
    for (size_t i = 0; i < s->shapes; i++)
        if (seen[i].n == x.n && seen[i].tail == x.tail && seen[i].asks == x.asks && seen[i].keeps == x.keeps)
            return;
    if (s->shapes < MOST_SHAPES) seen[s->shapes++] = x;
}

static asc_status look(const asc_trie *t, size_t most, bool store, size_t tail, asc_trie_survey *out) {
    asc_trie_walk w;
    shape seen[MOST_SHAPES];
    bool more = true;
    *out = (asc_trie_survey){0};
    asc_status st = asc_trie_walk_init(&w, t, most, store, 0, tail);
    while (st == ASC_OK) {
        st = asc_trie_walk_next(&w, &more);
        if (st == ASC_OK) st = asc_poll_cancel(t->ctx);
        if (st != ASC_OK || !more) break;
        const asc_trie_pass *p = &w.pass;
        out->passes++;
        out->tokens += p->n;
        out->pairs += p->pairs;
        out->tails += p->n_layers > 0 ? p->tail : 0;
        if (p->n > out->n) out->n = p->n;
        if (p->tail > out->tail) out->tail = p->tail;
        if (p->n_layers > out->n_layers) out->n_layers = p->n_layers;
        if (p->n_keep > 0 && (size_t)p->keep_to[p->n_keep - 1] + 1 > out->past)
            out->past = (size_t)p->keep_to[p->n_keep - 1] + 1;
        if (p->n_ended > out->ended) out->ended = p->n_ended;
        if (p->pairs > out->most_pairs) out->most_pairs = p->pairs;
        count_shape(out, seen, p);
    }
    asc_trie_walk_deinit(&w);
    return st;
}

asc_status asc_trie_look(const asc_trie *t, size_t most, bool store, asc_trie_survey *out) {
    asc_status st = look(t, most, store, 0, out);
    return st == ASC_OK ? look(t, most, store, out->tail, out) : st;
}
