/* slic.c - superpixels: k-means over colour and place in which a centre only looks at its surroundings
 * (Achanta et al., "SLIC Superpixels Compared to State-of-the-Art Superpixel Methods", PAMI 2012). Two things
 * are our own: what is left over after the last step is joined to the neighbour of the nearest colour, and
 * ids are given in the order in which regions appear. No draws, fixed order: always the same regions. */
#include "image.h"
#include "lab.h"
#include <math.h>
#include <string.h>

enum { STEPS = 10, SMALL = 4 /* regions below 1/4 of the usual size are joined */ };

typedef struct centre {
    double v[5]; /* L, a, b, x, y */
} centre;

typedef struct job {
    asc_ctx *ctx;
    int64_t w, h, n; /* n = w * h */
    float (*lab)[3];
    double *distance;
    int32_t *label, *root;
    centre *centres, *sums;
    int64_t *size;
    int64_t n_centres;
    double step, weight; /* grid step; what a squared pixel counts against squared CIELAB */
} job;

static double colour_distance(const float a[3], const double b[3]) {
    double l = a[0] - b[0], x = a[1] - b[1], y = a[2] - b[2];
    return l * l + x * x + y * y;
}

static double contrast(const job *j, int64_t x, int64_t y) {
    if (x < 1 || y < 1 || x > j->w - 2 || y > j->h - 2) return INFINITY;
    double sum = 0;
    for (int c = 0; c < 3; c++) {
        double dx = j->lab[y * j->w + x + 1][c] - j->lab[y * j->w + x - 1][c];
        double dy = j->lab[(y + 1) * j->w + x][c] - j->lab[(y - 1) * j->w + x][c];
        sum += dx * dx + dy * dy;
    }
    return sum;
}

static void set_centre(job *j, centre *c, int64_t x, int64_t y) {
    for (int k = 0; k < 3; k++) c->v[k] = j->lab[y * j->w + x][k];
    c->v[3] = (double)x;
    c->v[4] = (double)y;
}

/* On a grid, each moved to the calmest of the nine pixels around it: off the borders. */
static void seed(job *j, int64_t across, int64_t down) {
    for (int64_t r = 0; r < down; r++)
        for (int64_t q = 0; q < across; q++) {
            int64_t x = (2 * q + 1) * j->w / (2 * across), y = (2 * r + 1) * j->h / (2 * down), bx = x,
                    by = y;
            double best = contrast(j, x, y);
            for (int64_t dy = -1; dy <= 1; dy++)
                for (int64_t dx = -1; dx <= 1; dx++) {
                    double v = contrast(j, x + dx, y + dy);
                    if (v < best) best = v, bx = x + dx, by = y + dy;
                }
            set_centre(j, &j->centres[r * across + q], bx, by);
        }
}

static int64_t clamp(double v, int64_t last) { return v < 0 ? 0 : v > (double)last ? last : (int64_t)v; }

static void assign(job *j) {
    for (int64_t i = 0; i < j->n; i++) j->distance[i] = INFINITY;
    for (int64_t k = 0; k < j->n_centres; k++) {
        const double *v = j->centres[k].v;
        int64_t x0 = clamp(v[3] - j->step, j->w - 1), x1 = clamp(v[3] + j->step, j->w - 1);
        int64_t y0 = clamp(v[4] - j->step, j->h - 1), y1 = clamp(v[4] + j->step, j->h - 1);
        for (int64_t y = y0; y <= y1; y++)
            for (int64_t x = x0; x <= x1; x++) {
                int64_t i = y * j->w + x;
                double dx = (double)x - v[3], dy = (double)y - v[4];
                double d = colour_distance(j->lab[i], v) + j->weight * (dx * dx + dy * dy);
                if (d < j->distance[i]) j->distance[i] = d, j->label[i] = (int32_t)k;
            }
    }
}

static void move_centres(job *j) {
    memset(j->sums, 0, (size_t)j->n_centres * sizeof *j->sums);
    memset(j->size, 0, (size_t)j->n_centres * sizeof *j->size);
    for (int64_t y = 0; y < j->h; y++)
        for (int64_t x = 0; x < j->w; x++) {
            int64_t i = y * j->w + x;
            double *s = j->sums[j->label[i]].v;
            for (int c = 0; c < 3; c++) s[c] += j->lab[i][c];
            s[3] += (double)x;
            s[4] += (double)y;
            j->size[j->label[i]]++;
        }
    for (int64_t k = 0; k < j->n_centres; k++)
        for (int c = 0; c < 5 && j->size[k] > 0; c++)
            j->centres[k].v[c] = j->sums[k].v[c] / (double)j->size[k];
}

static int32_t find(int32_t *root, int32_t i) {
    while (root[i] != i) {
        root[i] = root[root[i]];
        i = root[i];
    }
    return i;
}

/* The lower index stays the root: ids do not depend on the order of joining. */
static void join(int32_t *root, int32_t a, int32_t b) {
    a = find(root, a);
    b = find(root, b);
    if (a < b) root[b] = a;
    if (b < a) root[a] = b;
}

/* Connected pieces of equal labels; afterwards root[] leads to the first pixel of a pixel's piece. */
static void split(job *j) {
    for (int64_t i = 0; i < j->n; i++) j->root[i] = (int32_t)i;
    for (int64_t y = 0; y < j->h; y++)
        for (int64_t x = 0; x < j->w; x++) {
            int64_t i = y * j->w + x;
            if (x > 0 && j->label[i] == j->label[i - 1]) join(j->root, (int32_t)i, (int32_t)(i - 1));
            if (y > 0 && j->label[i] == j->label[i - j->w]) join(j->root, (int32_t)i, (int32_t)(i - j->w));
        }
}

typedef struct piece {
    double colour[3];
    int64_t size;
    double nearest; /* distance of colour to `other` */
    int32_t other;  /* root of the neighbour of the nearest colour; -1 = none */
} piece;

static void measure(job *j, piece *p) {
    memset(p, 0, (size_t)j->n * sizeof *p);
    for (int64_t i = 0; i < j->n; i++) {
        piece *q = &p[find(j->root, (int32_t)i)];
        for (int c = 0; c < 3; c++) q->colour[c] += j->lab[i][c];
        q->size++;
    }
    for (int64_t i = 0; i < j->n; i++) {
        for (int c = 0; c < 3 && p[i].size > 0; c++) p[i].colour[c] /= (double)p[i].size;
        p[i].nearest = INFINITY;
        p[i].other = -1;
    }
}

static void meet(piece *p, int32_t a, int32_t b) {
    double d = 0;
    for (int c = 0; c < 3; c++) d += (p[a].colour[c] - p[b].colour[c]) * (p[a].colour[c] - p[b].colour[c]);
    if (d < p[a].nearest) p[a].nearest = d, p[a].other = b;
    if (d < p[b].nearest) p[b].nearest = d, p[b].other = a;
}

/* Joins small pieces to neighbours until none is left; every round joins each of them at least once. */
static asc_status join_small(job *j) {
    piece *p = asc_calloc(j->ctx, ASC_MEM_SCRATCH, (size_t)j->n, sizeof *p);
    if (p == NULL) return ASC_RESOURCE_EXHAUSTED;
    int64_t least = (int64_t)(j->step * j->step) / SMALL;
    for (bool again = true; again;) {
        again = false;
        measure(j, p);
        for (int64_t y = 0; y < j->h; y++)
            for (int64_t x = 0; x < j->w; x++) {
                int64_t i = y * j->w + x;
                int32_t a = find(j->root, (int32_t)i);
                int32_t right = x + 1 < j->w ? find(j->root, (int32_t)(i + 1)) : a;
                int32_t below = y + 1 < j->h ? find(j->root, (int32_t)(i + j->w)) : a;
                if (right != a) meet(p, a, right);
                if (below != a) meet(p, a, below);
            }
        for (int64_t i = 0; i < j->n; i++)
            if (p[i].size > 0 && p[i].size < least && p[i].other >= 0) {
                join(j->root, (int32_t)i, p[i].other);
                again = true;
            }
    }
    asc_free(j->ctx, p);
    return ASC_OK;
}

static int64_t number(job *j) {
    int32_t next = 0;
    for (int64_t i = 0; i < j->n; i++) {
        int32_t r = find(j->root, (int32_t)i); /* r <= i: it has its id already, or gets the next one */
        j->label[i] = r == i ? next++ : j->label[r];
    }
    return next;
}

static asc_status job_init(job *j, const asc_image *image) {
    j->w = image->width;
    j->h = image->height;
    j->n = j->w * j->h;
    size_t n = (size_t)j->n, k = (size_t)j->n_centres;
    j->lab = asc_calloc(j->ctx, ASC_MEM_SCRATCH, n, sizeof *j->lab);
    j->distance = asc_calloc(j->ctx, ASC_MEM_SCRATCH, n, sizeof *j->distance);
    j->label = asc_calloc(j->ctx, ASC_MEM_GENERAL, n, sizeof *j->label);
    j->root = asc_calloc(j->ctx, ASC_MEM_SCRATCH, n, sizeof *j->root);
    j->centres = asc_calloc(j->ctx, ASC_MEM_SCRATCH, k, sizeof *j->centres);
    j->sums = asc_calloc(j->ctx, ASC_MEM_SCRATCH, k, sizeof *j->sums);
    j->size = asc_calloc(j->ctx, ASC_MEM_SCRATCH, k, sizeof *j->size);
    if (j->lab == NULL || j->distance == NULL || j->label == NULL || j->root == NULL || j->centres == NULL ||
        j->sums == NULL || j->size == NULL)
        return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++) asc_lab_of(image->rgb + 3 * i, j->lab[i]);
    return ASC_OK;
}

static void job_deinit(job *j) {
    void *const owned[] = {j->lab, j->distance, j->label, j->root, j->centres, j->sums, j->size};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) asc_free(j->ctx, owned[i]);
}

static asc_status check(asc_ctx *ctx, const asc_image *image, int64_t wanted, double compactness) {
    int64_t most = image->width * image->height;
    if (wanted < 1 || wanted > most)
        return ASC_FAIL(ctx, ASC_OUT_OF_RANGE, "%lld superpixels of a picture of %lld pixels",
                        (long long)wanted, (long long)most);
    if (!(compactness >= 0) || !isfinite(compactness))
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "compactness %g is not a number above 0", compactness);
    return ASC_OK;
}

asc_status asc_mask_superpixels(asc_ctx *ctx, const asc_image *image, int64_t wanted, double compactness,
                                asc_array *out, int64_t *n) {
    *out = (asc_array){0};
    *n = 0;
    asc_status st = check(ctx, image, wanted, compactness);
    if (st != ASC_OK) return st;
    double m = compactness > 0 ? compactness : 10, pixels = (double)image->width * (double)image->height;
    double step = sqrt(pixels / (double)wanted);
    int64_t across = (int64_t)lround((double)image->width / step);
    if (across < 1) across = 1;
    if (across > wanted) across = wanted;
    int64_t down = (int64_t)lround((double)wanted / (double)across);
    if (down < 1) down = 1;
    if (across > image->width) across = image->width;
    if (down > image->height) down = image->height;
    job j = {.ctx = ctx, .n_centres = across * down};
    /* A centre looks one step of the wider side of its cell around, and no pixel stays without one. */
    j.step = fmax((double)image->width / (double)across, (double)image->height / (double)down) + 2;
    j.weight = m * m * (double)(across * down) / pixels;
    ASC_TRY(job_init(&j, image));
    seed(&j, across, down);
    for (int s = 0; s < STEPS; s++) {
        assign(&j);
        move_centres(&j);
        ASC_TRY(asc_poll_cancel(ctx));
    }
    split(&j);
    j.step = sqrt(pixels / (double)(across * down));
    ASC_TRY(join_small(&j));
    *n = number(&j);
    *out = (asc_array){.elem = ASC_ELEM_I32, .shape = ASC_SHAPE(j.h, j.w), .data = j.label};
    j.label = NULL;
done:
    job_deinit(&j);
    return st;
}
