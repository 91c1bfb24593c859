/* onnx_op_search.c - results that are lists of places: Unique, NonMaxSuppression. They are found on the host;
 * the values of Unique are chosen by their places and so have a gradient. */
#include "onnx_parts.h"

/* Items 0..n-1 of `len` numbers each: number j of item i is d[(j / inner * n + i) * inner + j % inner]. */
typedef struct items {
    const double *d;
    int64_t n, len, inner;
} items;

static int compare(const items *it, int32_t a, int32_t b) {
    for (int64_t j = 0; j < it->len; j++) {
        int64_t row = j / it->inner * it->n, col = j % it->inner;
        double x = it->d[(row + a) * it->inner + col], y = it->d[(row + b) * it->inner + col];
        if (x < y) return -1;
        if (x > y) return 1;
    }
    return 0;
}

/* Merge sort, stable; `room` has n elements. */
static void sort_items(const items *it, int32_t *order, int32_t *room) {
    for (int64_t width = 1; width < it->n; width *= 2) {
        for (int64_t from = 0; from < it->n; from += 2 * width) {
            int64_t mid = from + width < it->n ? from + width : it->n;
            int64_t end = from + 2 * width < it->n ? from + 2 * width : it->n, a = from, b = mid;
            for (int64_t k = from; k < end; k++) {
                bool left = b >= end || (a < mid && compare(it, order[a], order[b]) <= 0);
                room[k] = left ? order[a++] : order[b++];
            }
        }
        for (int64_t k = 0; k < it->n; k++) order[k] = room[k];
    }
}

asc_status asc_onnx_Unique(asc_onnx_call *c) {
    asc_shape s = asc_onnx_shape(c, 0), three;
    bool whole = asc_onnx_attr_find(c, "axis") == NULL, sorted = asc_onnx_attr_int(c, "sorted", 1) != 0;
    asc_tensor *x = asc_onnx_t(c, 0);
    if (whole) {
        s = ASC_SHAPE(asc_shape_elems(&s));
        x = asc_reshape(c->ctx, x, s);
    }
    int axis = whole ? 0 : asc_onnx_axis(c, asc_onnx_attr_int(c, "axis", 0), s.rank);
    const double *d = asc_onnx_doubles(c, 0);
    if (d == NULL || c->st != ASC_OK) return c->st;
    three = asc_onnx_three(&s, axis);
    items it = {.d = d, .n = three.dims[1], .len = three.dims[0] * three.dims[2], .inner = three.dims[2]};
    if (it.n > INT32_MAX) return asc_onnx_fail(c, ASC_UNIMPLEMENTED, "so many elements");
    size_t n = (size_t)it.n;
    int32_t *order = asc_onnx_memory(c, n, sizeof *order), *room = asc_onnx_memory(c, n, sizeof *room);
    int32_t *group = asc_onnx_memory(c, n, sizeof *group), *first = asc_onnx_memory(c, n, sizeof *first);
    double *place = asc_onnx_memory(c, n, sizeof *place), *inverse = asc_onnx_memory(c, n, sizeof *inverse);
    double *count = asc_onnx_memory(c, n, sizeof *count);
    if (c->st != ASC_OK) return c->st;
    for (int64_t i = 0; i < it.n; i++) order[i] = (int32_t)i;
    sort_items(&it, order, room);
    int64_t groups = 0;
    for (int64_t i = 0; i < it.n; i++) { /* equal items are in their own order: the first is the smallest */
        if (i == 0 || compare(&it, order[i - 1], order[i]) != 0) first[groups++] = order[i];
        group[order[i]] = (int32_t)(groups - 1);
    }
    if (!sorted) { /* numbered as they come */
        int64_t next = 0;
        for (int64_t i = 0; i < it.n; i++) {
            if (first[group[i]] == i) room[group[i]] = (int32_t)next++;
        }
        for (int64_t i = 0; i < it.n; i++) group[i] = room[group[i]];
        for (int64_t i = it.n - 1; i >= 0; i--) first[group[i]] = (int32_t)i;
    }
    for (int64_t i = 0; i < it.n; i++) {
        inverse[i] = group[i];
        count[group[i]]++;
    }
    for (int64_t g = 0; g < groups; g++) place[g] = first[g];
    asc_onnx_set_like(c, 0, asc_onnx_choose(c, x, axis, first, groups));
    asc_onnx_set_host(c, 1, ASC_SHAPE(groups), place, ASC_ONNX_INT64);
    asc_onnx_set_host(c, 2, ASC_SHAPE(it.n), inverse, ASC_ONNX_INT64);
    return asc_onnx_set_host(c, 3, ASC_SHAPE(groups), count, ASC_ONNX_INT64);
}

typedef struct box {
    double y0, x0, y1, x1;
} box;

static box box_of(const double *d, bool centre) {
    if (centre) { /* x, y, width, height */
        return (box){d[1] - d[3] / 2, d[0] - d[2] / 2, d[1] + d[3] / 2, d[0] + d[2] / 2};
    }
    bool y = d[0] <= d[2], x = d[1] <= d[3];
    return (box){y ? d[0] : d[2], x ? d[1] : d[3], y ? d[2] : d[0], x ? d[3] : d[1]};
}

/* Intersection over union. */
static double overlap(box a, box b) {
    double h = (a.y1 < b.y1 ? a.y1 : b.y1) - (a.y0 > b.y0 ? a.y0 : b.y0);
    double w = (a.x1 < b.x1 ? a.x1 : b.x1) - (a.x0 > b.x0 ? a.x0 : b.x0);
    if (h <= 0 || w <= 0) return 0;
    double both = h * w, sum = (a.y1 - a.y0) * (a.x1 - a.x0) + (b.y1 - b.y0) * (b.x1 - b.x0);
    return sum > both ? both / (sum - both) : 0;
}

typedef struct suppression {
    const double *boxes, *scores; /* of one example */
    int64_t n, most;
    double iou, score;
    bool centre, has_score;
    int32_t *order, *room, *kept;
} suppression;

/* Boxes of one class, best first, without those that overlap a better one; returns how many. */
static int64_t suppress(const suppression *p, const double *scores) {
    int64_t n = 0;
    items it = {.d = scores, .n = p->n, .len = 1, .inner = 1};
    for (int64_t i = 0; i < p->n; i++) p->order[i] = (int32_t)(p->n - 1 - i);
    sort_items(&it, p->order, p->room); /* upwards; equals with the first one last */
    for (int64_t i = p->n - 1; i >= 0 && n < p->most; i--) {
        int32_t at = p->order[i];
        if (p->has_score && !(scores[at] > p->score)) continue;
        bool keep = true;
        for (int64_t k = 0; k < n && keep; k++) {
            box a = box_of(p->boxes + 4 * at, p->centre), b = box_of(p->boxes + 4 * p->kept[k], p->centre);
            keep = !(overlap(a, b) > p->iou);
        }
        if (keep) p->kept[n++] = at;
    }
    return n;
}

asc_status asc_onnx_NonMaxSuppression(asc_onnx_call *c) {
    asc_shape bs = asc_onnx_shape(c, 0), ss = asc_onnx_shape(c, 1);
    if (bs.rank != 3 || ss.rank != 3 || bs.dims[2] != 4 || bs.dims[0] != ss.dims[0] ||
        bs.dims[1] != ss.dims[2] || bs.dims[1] > INT32_MAX)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "boxes of %d and scores of %d dimensions do not fit",
                             bs.rank, ss.rank);
    suppression p = {.n = bs.dims[1], .most = asc_onnx_int(c, 2, 0), .iou = asc_onnx_number(c, 3, 0)};
    p.score = asc_onnx_number(c, 4, 0);
    p.has_score = asc_onnx_has(c, 4);
    p.centre = asc_onnx_attr_int(c, "center_point_box", 0) != 0;
    const double *boxes = asc_onnx_doubles(c, 0), *scores = asc_onnx_doubles(c, 1);
    p.order = asc_onnx_memory(c, (size_t)p.n, sizeof *p.order);
    p.room = asc_onnx_memory(c, (size_t)p.n, sizeof *p.room);
    p.kept = asc_onnx_memory(c, (size_t)p.n, sizeof *p.kept);
    if (p.most > p.n) p.most = p.n;
    if (p.most < 0) p.most = 0;
    int64_t classes = ss.dims[1], lists = bs.dims[0] * classes, total = 0;
    if (p.most > 0 && lists > ASC_ONNX_MAX_ELEMS / 3 / p.most)
        return asc_onnx_fail(c, ASC_RESOURCE_EXHAUSTED, "%lld lists of boxes", (long long)lists);
    double *out = asc_onnx_memory(c, (size_t)(3 * lists * p.most), sizeof *out);
    if (c->st != ASC_OK || boxes == NULL || scores == NULL || out == NULL) return c->st;
    for (int64_t i = 0; i < lists; i++) {
        p.boxes = boxes + i / classes * p.n * 4;
        int64_t n = suppress(&p, scores + i * p.n);
        for (int64_t k = 0; k < n; k++, total++) {
            out[3 * total] = (double)(i / classes);
            out[3 * total + 1] = (double)(i % classes);
            out[3 * total + 2] = p.kept[k];
        }
    }
    return asc_onnx_set_host(c, 0, ASC_SHAPE(total, 3), out, ASC_ONNX_INT64);
}
