/* special_match.c - see special_match.h. */
#include "special_match.h"
#include "view.h"

static bool before(const asc_pieces *p, int32_t a, int32_t b) {
    int c = asc_view_cmp(asc_pieces_at(p, (size_t)a), asc_pieces_at(p, (size_t)b));
    return c != 0 ? c < 0 : a > b; /* the smallest id of equal pieces comes last */
}

/* Heap sort: the number of specials is the file's choice, so no quadratic time. */
static void sift(const asc_pieces *p, int32_t *v, size_t root, size_t n) {
    for (size_t child = 2 * root + 1; child < n; child = 2 * root + 1) {
        if (child + 1 < n && before(p, v[child], v[child + 1])) child++;
        if (!before(p, v[root], v[child])) return;
        int32_t t = v[root];
        v[root] = v[child];
        v[child] = t;
        root = child;
    }
}

static void sort_ids(const asc_pieces *p, int32_t *v, size_t n) {
    for (size_t i = n / 2; i-- > 0;) sift(p, v, i, n);
    for (size_t i = n; i-- > 1;) {
        int32_t t = v[0];
        v[0] = v[i];
        v[i] = t;
        sift(p, v, 0, i);
    }
}

static bool is_special(const asc_pieces *p, size_t id) {
    unsigned set = ASC_PIECE_MASK(ASC_TOKEN_CONTROL) | ASC_PIECE_MASK(ASC_TOKEN_UNKNOWN) |
                   ASC_PIECE_MASK(ASC_TOKEN_USER_DEFINED);
    return (set & ASC_PIECE_MASK(p->type[id])) != 0 && asc_pieces_at(p, id).len > 0;
}

/* Of equal pieces the last in order, the smallest id, stays: matching must not depend on how many there are.
 */
static void drop_doubles(asc_special_set *s, const asc_pieces *p) {
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (i + 1 < s->n &&
            asc_view_eq(asc_pieces_at(p, (size_t)s->ids[i]), asc_pieces_at(p, (size_t)s->ids[i + 1]))) {
            continue;
        }
        s->ids[kept++] = s->ids[i];
    }
    s->n = kept;
}

asc_status asc_special_set_init(asc_ctx *ctx, asc_special_set *s, const asc_pieces *pieces) {
    *s = (asc_special_set){0};
    size_t n = 0;
    for (size_t id = 0; id < pieces->n; id++) n += is_special(pieces, id);
    s->ids = asc_alloc(ctx, ASC_MEM_TOKENIZER, n * sizeof *s->ids);
    if (s->ids == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t id = 0; id < pieces->n; id++) {
        if (!is_special(pieces, id)) continue;
        s->ids[s->n++] = (int32_t)id;
        s->first[(unsigned char)asc_pieces_at(pieces, id).ptr[0]] = true;
    }
    sort_ids(pieces, s->ids, s->n);
    drop_doubles(s, pieces);
    return ASC_OK;
}

void asc_special_set_deinit(asc_ctx *ctx, asc_special_set *s) {
    asc_free(ctx, s->ids);
    *s = (asc_special_set){0};
}

/* Byte number `depth` of a piece, 0 for its end, so that it sorts before all longer ones. */
static unsigned byte_at(const asc_special_set *s, const asc_pieces *p, size_t i, size_t depth) {
    asc_view v = asc_pieces_at(p, (size_t)s->ids[i]);
    return depth < v.len ? (unsigned)(unsigned char)v.ptr[depth] + 1 : 0;
}

/* First index in [lo, hi) whose byte at `depth` is at least b. */
static size_t lower(const asc_special_set *s, const asc_pieces *p, size_t lo, size_t hi, size_t depth,
                    unsigned b) {
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (byte_at(s, p, mid, depth) < b) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

int32_t asc_special_at(const asc_special_set *s, const asc_pieces *pieces, asc_view text, size_t pos,
                       size_t control_limit, size_t user_limit) {
    size_t limit = control_limit > user_limit ? control_limit : user_limit, lo = 0, hi = s->n;
    if (limit > text.len) limit = text.len;
    if (pos >= limit || !s->first[(unsigned char)text.ptr[pos]]) return -1;
    int32_t best = -1;
    for (size_t depth = 0; lo < hi && pos + depth < limit; depth++) {
        unsigned b = (unsigned)(unsigned char)text.ptr[pos + depth] + 1;
        lo = lower(s, pieces, lo, hi, depth, b);
        hi = lower(s, pieces, lo, hi, depth, b + 1);
        if (lo < hi && byte_at(s, pieces, lo, depth + 1) == 0) {
            bool user = pieces->type[s->ids[lo]] == ASC_TOKEN_USER_DEFINED;
            if (pos + depth + 1 <= (user ? user_limit : control_limit)) best = s->ids[lo];
        }
    }
    return best;
}
