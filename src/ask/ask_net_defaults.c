/* ask_net_defaults.c - pictures, windows and sites where a question leaves them open. The command line's
 * options and questions as JSON mean the same since both come here. */
#include "alloc.h"
#include "ascribe/net_defaults.h"
#include "net.h"
#include "task.h"

enum { MAGIKA_BYTES = 2048, MAGIKA_PADDING = 256 };

void asc_net_lift_example(const asc_net *net, size_t i, asc_array *a) {
    const asc_port *p = &net->inputs[i];
    if (a->shape.rank + 1 != p->shape.rank || a->shape.rank == ASC_MAX_RANK) return;
    if (!p->batch && p->shape.dims[0] >= 0 && p->shape.dims[0] != 1) return;
    memmove(a->shape.dims + 1, a->shape.dims, (size_t)a->shape.rank * sizeof *a->shape.dims);
    a->shape.dims[0] = 1;
    a->shape.rank++;
}

int64_t asc_net_picture_input(const asc_net *net) {
    for (size_t i = 0; i < net->n_inputs; i++) {
        if (net->inputs[i].shape.rank == 4) return (int64_t)i;
    }
    return -1;
}

asc_image_prep asc_net_picture_prep(const asc_net *net, size_t i, const asc_picture_words *w) {
    const int64_t *dims = net->inputs[i].shape.dims;
    int64_t channels = dims[1], rows = dims[2], cols = dims[3];
    bool sized = w->resize[0] > 0, cropped = w->crop[0] > 0;
    if (net->prep != NULL && !sized && !cropped && w->normalise == NULL && w->channels == NULL)
        return *net->prep;
    asc_image_prep prep = {.struct_size = sizeof prep, .filter = ASC_FILTER_BICUBIC};
    prep.nhwc = channels != 3 && channels != 1 && (cols == 3 || cols == 1);
    if (prep.nhwc) {
        rows = dims[1];
        cols = dims[2];
        channels = dims[3];
    }
    prep.normalise = w->normalise != NULL ? w->normalise : "imagenet";
    prep.grey = channels == 1;
    if (w->channels != NULL) {
        prep.bgr = strcmp(w->channels, "bgr") == 0;
        prep.grey = strcmp(w->channels, "grey") == 0;
    }
    if (sized && w->resize[1] == 0) prep.resize_short = w->resize[0];
    if (sized && w->resize[1] > 0) {
        prep.width = w->resize[0];
        prep.height = w->resize[1];
    }
    if (!sized && !cropped && rows > 0 && cols > 0) { /* what the net wants */
        prep.width = cols;
        prep.height = rows;
    }
    prep.crop_width = w->crop[0];
    prep.crop_height = w->crop[1] > 0 ? w->crop[1] : w->crop[0];
    return prep;
}

static bool of_magika(const asc_net *net) {
    return net->n_inputs > 0 && net->inputs[0].shape.rank == 2 &&
           net->inputs[0].shape.dims[1] == MAGIKA_BYTES;
}

const char *asc_net_bytes_preset(const asc_net *net) { return of_magika(net) ? "magika" : "raw"; }

bool asc_net_bytes_padding(const asc_net *net, double *out) {
    if (of_magika(net)) *out = MAGIKA_PADDING;
    return of_magika(net);
}

/* Does the value of a site look like what is wanted? For bytes: a row for each byte. For a picture: a map of
 * its own. */
static asc_status site_fits(asc_net *net, const asc_attr_request *q, const char *site, bool bytes,
                            const asc_shape *in, bool *fits) {
    asc_array v = {0};
    const asc_shape *s = &v.shape;
    asc_status st = asc_net_run(net, q->inputs, q->n_inputs, &site, 1, &v);
    if (st != ASC_OK) return st;
    *fits = v.elem == ASC_ELEM_F32 || v.elem == ASC_ELEM_F64;
    if (bytes) {
        *fits = *fits && s->rank == in->rank + 1;
        for (int d = 0; *fits && d < in->rank; d++) *fits = s->dims[d] == in->dims[d];
    } else {
        *fits = *fits && s->rank == 4 && s->dims[2] > 1 && s->dims[3] > 1;
    }
    asc_array_free(net->ctx, &v);
    return ASC_OK;
}

asc_status asc_net_choose_site(asc_net *net, const asc_attr_request *q, bool bytes, int64_t picture_input,
                               asc_site_choice *out) {
    int method = asc_method_find(q->method);
    *out = (asc_site_choice){0};
    if (q->n_at > 0 || method < 0) return ASC_OK;
    asc_method_traits traits = asc_method_traits_at((size_t)method);
    bool map = picture_input >= 0 && strstr(asc_method_at((size_t)method)->name, "grad-cam") != NULL;
    bytes = bytes && !traits.takes_integers;
    if ((!bytes && !map) || (map && q->neuron.value != NULL)) return ASC_OK;
    const asc_shape *in = &q->inputs[bytes ? 0 : picture_input].shape;
    for (size_t i = 0; i < net->n_sites; i++) {
        const char *site = net->sites[bytes ? i : net->n_sites - 1 - i];
        bool fits = false;
        asc_status st = site_fits(net, q, site, bytes, in, &fits);
        if (st != ASC_OK) return st;
        if (!fits) continue;
        if (traits.needs_site || bytes)
            out->at = site;
        else
            out->through = site; /* guided-grad-cam: scores of the input, by way of a layer */
        out->sum_rows = bytes;
        return ASC_OK;
    }
    return ASC_OK; /* the library's own message says what to do */
}

static void sum_rows(asc_scores *s) {
    int64_t width = s->shape.dims[s->shape.rank - 1], rows = 1;
    s->shape.rank--;
    for (int d = 0; d < s->shape.rank; d++) rows *= s->shape.dims[d];
    for (int64_t i = 0; i < rows; i++) {
        double sum = 0.0, error = 0.0;
        for (int64_t k = 0; k < width; k++) {
            sum += s->data[i * width + k];
            if (s->error != NULL) error += s->error[i * width + k];
        }
        s->data[i] = sum;
        if (s->error != NULL) s->error[i] = error;
    }
}

void asc_attribution_sum_rows(asc_attribution *r) {
    if (r->n_scores == 0) return;
    sum_rows(&r->scores[0]);
    asc_attribution_find_bound(r);
}

asc_status asc_mask_make(asc_ctx *ctx, const asc_mask_words *words, const asc_image *picture, bool nhwc,
                         asc_array *out) {
    int64_t n = 0;
    asc_status st =
        words->grid ? asc_mask_grid(ctx, picture->height, picture->width, words->rows, words->cols, out, &n)
                    : asc_mask_superpixels(ctx, picture, words->rows, 0.0, out, &n);
    if (st == ASC_OK && nhwc) out->shape.dims[out->shape.rank++] = 1; /* [rows, cols] before the channels */
    return st;
}

void asc_picture_window(const asc_image *picture, const asc_image_prep *prep, int64_t window[3]) {
    int64_t side = (picture->height < picture->width ? picture->height : picture->width) / 8;
    if (side < 1) side = 1;
    const int64_t w[3] = {prep->grey ? 1 : 3, side, side};
    for (int d = 0; d < 3; d++) window[d] = w[prep->nhwc ? (d + 1) % 3 : d];
}

void asc_default_stride(const asc_image_prep *prep, const int64_t *window, size_t n, int64_t *stride) {
    for (size_t d = 0; d < n; d++) {
        bool channels = prep != NULL && d == (prep->nhwc ? 2u : 0u) && window[d] == (prep->grey ? 1 : 3);
        stride[d] = channels || window[d] == 1 ? window[d] : window[d] / 2;
    }
}
