/* net_report.c - the public reports of attributions on nets: from a request, its result and what is known
 * about the input to one sheet that the files net_*.c show. */
#include "cpu.h"
#include "file.h"
#include "hash.h"
#include "net_parts.h"
#include "view.h"
#include <stdio.h>

enum { HASHED = 1 << 30 /* larger model files are named without their hash */ };

/* A sheet and what it points to. */
typedef struct desk {
    asc_net_sheet sheet;
    asc_arena arena;
    char sha256[65];
} desk;

/* Dimensions of one example's scores; [C,H,W] or [H,W,C] of the picture, or a map [H,W] or [1,H,W] of it. */
static bool shows_picture(const asc_scores *s, const asc_attribution *r, const asc_image *picture,
                          bool nhwc) {
    int rank = s->shape.rank;
    const int64_t *d = s->shape.dims;
    if (rank > 2 && (size_t)d[0] == r->n_examples) d++, rank--;
    if (rank > 2 && r->n_outputs > 1 && (size_t)d[0] == r->n_outputs) d++, rank--;
    if (rank == 3 && nhwc) return d[0] == picture->height && d[1] == picture->width;
    return rank >= 2 && d[rank - 2] == picture->height && d[rank - 1] == picture->width;
}

static int64_t input_by_name(const asc_net_report *r, const char *name) {
    for (size_t i = 0; r->net != NULL && i < asc_net_n_inputs(r->net); i++)
        if (strcmp(asc_net_input(r->net, i).name, name) == 0) return (int64_t)i;
    return -1;
}

/* The integer input that holds the bytes: one number for each offset. */
static const asc_array *byte_input(const asc_net_report *r) {
    for (size_t i = 0; i < r->request->n_inputs; i++) {
        const asc_array *a = &r->request->inputs[i];
        if (!asc_elem_is_float(a->elem) && (size_t)asc_array_count(a) == r->n_offsets) return a;
    }
    return NULL;
}

/* Has an element, or a row behind it, for each offset. */
static bool shows_bytes(const asc_net_report *r, const asc_scores *s) {
    for (int d = 0; d < s->shape.rank && d < 3; d++)
        if ((size_t)s->shape.dims[d] == r->n_offsets) return true;
    return false;
}

static void fill_view(const asc_net_report *r, size_t k, asc_net_view *v) {
    const asc_scores *s = &r->result->scores[k];
    int64_t input = input_by_name(r, s->name);
    v->name = s->name;
    v->site = input < 0;
    if (input >= 0 && (size_t)input < r->request->n_inputs) v->values = &r->request->inputs[input];
    if (r->picture != NULL && shows_picture(s, r->result, r->picture, r->nhwc)) {
        v->show = ASC_SHOW_PICTURE;
        v->picture = r->picture;
        v->nhwc = r->nhwc && input >= 0;
        return;
    }
    if (r->bytes != NULL && r->offsets != NULL && shows_bytes(r, s)) {
        v->values = byte_input(r);
        v->show = ASC_SHOW_BYTES;
        v->offsets = r->offsets;
        v->n_offsets = r->n_offsets;
        return;
    }
    if (k == 0 && r->feature_names != NULL) {
        v->names = r->feature_names;
        v->n_names = r->n_feature_names;
    } else if (r->picture != NULL && input < 0) {
        v->picture = r->picture; /* maps of sites lie over the picture they come from */
    }
}

static const char *input_note(desk *d, const asc_net_report *r) {
    char note[512];
    if (r->picture_path == NULL) return NULL;
    if (r->picture == NULL) return r->picture_path;
    snprintf(note, sizeof note, "%.200s, seen as %lld x %lld pixels%s%.200s", r->picture_path,
             (long long)r->picture->width, (long long)r->picture->height,
             r->picture->note[0] != '\0' ? "; " : "", r->picture->note);
    return asc_arena_strdup(&d->arena, asc_view_of(note));
}

/* Of small files; what cannot be read any more has no hash. */
static void take_hash(asc_ctx *ctx, desk *d, const char *path) {
    asc_map map;
    if (path == NULL) return;
    if (asc_map_open(ctx, path, &map) != ASC_OK) {
        asc_error_clear(ctx);
        return;
    }
    if (map.size <= HASHED) {
        asc_sha256_hex(map.data, map.size, d->sha256);
        d->sheet.model_sha256 = d->sha256;
    }
    asc_map_close(ctx, &map);
}

/* The first report says what the input is; the others bring results. */
static bool desk_init(asc_ctx *ctx, desk *d, const asc_net_report *const *rs, size_t n, bool hash) {
    const asc_net_report *r = rs[0];
    size_t views = 0, at = 0;
    *d = (desk){0};
    asc_arena_init(&d->arena, ctx, ASC_MEM_GENERAL);
    for (size_t i = 0; i < n; i++) views += rs[i]->result->n_scores;
    const asc_attribution **results = asc_arena_alloc(&d->arena, n * sizeof *results);
    asc_net_view *v = asc_arena_alloc(&d->arena, (views + 1) * sizeof *v);
    if (results == NULL || v == NULL) return false;
    for (size_t i = 0; i < n; i++) {
        results[i] = rs[i]->result;
        for (size_t k = 0; k < rs[i]->result->n_scores; k++) fill_view(rs[i], k, &v[at++]);
    }
    d->sheet = (asc_net_sheet){.model = r->model_path,
                               .request = r->request,
                               .target_text = r->target_text,
                               .results = results,
                               .n_results = n,
                               .views = v,
                               .n_views = views,
                               .top = r->top,
                               .n_top = r->n_top,
                               .command = r->command,
                               .device = ctx->device_name,
                               .mode = ctx->mode_name,
                               .precision = asc_precision_name(ctx->precision),
                               .isa = asc_isa_name((asc_isa)ctx->isa),
                               .n_threads = ctx->n_threads,
                               .seed = r->request->seed,
                               .input_note = input_note(d, r)};
    if (hash) take_hash(ctx, d, r->model_path);
    return true;
}

void asc_net_report_text(asc_ctx *ctx, asc_text *t, const asc_net_report *r, const asc_report_style *style) {
    desk d;
    if (desk_init(ctx, &d, &r, 1, false))
        asc_net_sheet_text(ctx, t, &d.sheet, style);
    else
        t->b.failed = true;
    asc_arena_deinit(&d.arena);
}

void asc_net_report_json(asc_ctx *ctx, asc_text *t, const asc_net_report *r) {
    desk d;
    if (desk_init(ctx, &d, &r, 1, true))
        asc_net_sheet_json(t, &d.sheet);
    else
        t->b.failed = true;
    asc_arena_deinit(&d.arena);
}

void asc_net_report_compare_html(asc_ctx *ctx, asc_text *t, const asc_net_report *const *rs, size_t n) {
    desk d;
    if (n == 0) return;
    if (desk_init(ctx, &d, rs, n, true))
        asc_net_sheet_html(ctx, t, &d.sheet);
    else
        t->b.failed = true;
    asc_arena_deinit(&d.arena);
}

void asc_net_report_html(asc_ctx *ctx, asc_text *t, const asc_net_report *r) {
    asc_net_report_compare_html(ctx, t, &r, 1);
}

asc_status asc_net_report_png(asc_ctx *ctx, const asc_net_report *r, const char *path) {
    desk d;
    asc_image im = {0};
    if (r->picture == NULL) {
        ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "there is no picture to lay scores over");
        return asc_hint(ctx, "give the net a picture; --html draws tables, bytes and signals too");
    }
    asc_status st = ASC_RESOURCE_EXHAUSTED;
    if (desk_init(ctx, &d, &r, 1, false)) st = asc_net_sheet_image(ctx, &d.sheet, &im);
    if (st == ASC_OK) st = asc_image_write(ctx, path, &im);
    asc_image_free(ctx, &im);
    asc_arena_deinit(&d.arena);
    return st;
}
