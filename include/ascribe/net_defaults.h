/* ascribe/net_defaults.h - what a question about a net means where it leaves something open, and the short
 * words for parts of it: shared by the command line and by questions as JSON (ascribe/ask.h).
 */
#ifndef ASCRIBE_NET_DEFAULTS_H
#define ASCRIBE_NET_DEFAULTS_H

#include "ascribe/net_report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A dimension of 1 in front of an array for input i that is one example as it stands. */
ASC_API void asc_net_lift_example(const asc_net *net, size_t i, asc_array *a);

/* ---- pictures, bytes ---------------------------------------------------------------------------------- */

/* The first input that can be a picture (4 dimensions); -1: none. */
ASC_API int64_t asc_net_picture_input(const asc_net *net);

/* What is said of a picture; zeros and NULL: nothing. */
typedef struct asc_picture_words {
    int64_t resize[2], crop[2]; /* width, height; height 0: the shorter side, a square */
    const char *normalise;      /* a preset's name */
    const char *channels;       /* "rgb", "bgr", "grey" */
} asc_picture_words;

/* How a picture becomes input i (a picture input): as the net's folder says when nothing else is said, else
 * in the size that the port wants, bicubic, with ImageNet's normalisation. */
ASC_API asc_image_prep asc_net_picture_prep(const asc_net *net, size_t i, const asc_picture_words *words);

/* The preset for bytes as the net's first input: "magika" for 2,048 of them, else "raw". */
ASC_API const char *asc_net_bytes_preset(const asc_net *net);
/* The number that stands for no byte: true for nets of 2,048 of them, which have one. */
ASC_API bool asc_net_bytes_padding(const asc_net *net, double *out);

/* ---- the explained number ----------------------------------------------------------------------------- */

/* Names of the classes of the net's first output, as its file gives them; NULL and 0: it does not. */
ASC_API const char *const *asc_net_labels(const asc_net *net, size_t *n);
/* Index of a class by its name; -1: none, and *nearest is the name most like it (NULL: none is alike).
 */
ASC_API int64_t asc_label_find(const char *const *labels, size_t n, asc_view name, const char **nearest);

/* What the net says by itself, for the first example. */
enum { ASC_NET_TOP = 5 };
typedef struct asc_net_look {
    asc_shape row; /* shape of the explained value of one example */
    asc_class_score top[ASC_NET_TOP];
    size_t n_top;
} asc_net_look;

/* Runs the net once on the request's inputs and looks at its target.value. labels (NULL = none) must outlive
 * *out. Errors: those of asc_net_run. */
ASC_API ASC_MUST_USE asc_status asc_net_look_at(asc_net *net, const asc_attr_request *q,
                                                const char *const *labels, size_t n_labels,
                                                asc_net_look *out);
/* The largest number as the target, for all examples; index[] is what it borrows. A single number (rank 0)
 * and an empty value leave *target as it is. */
ASC_API void asc_net_look_target(const asc_net_look *look, int64_t index[ASC_MAX_RANK], asc_target *target);
/* "logits[3,1] (cat)": the target of all examples in words. */
ASC_API void asc_net_target_text(const asc_net *net, const asc_target *target, const char *const *labels,
                                 size_t n_labels, char *out, size_t size);

/* "conv2:3,0,0" or "conv2" (*rank 0) to a site and an index; site points into text or is a name of the net's
 * own. false: neither. */
ASC_API bool asc_neuron_parse(const asc_net *net, const char *text, asc_view *site, int64_t *index,
                              int *rank);

/* ---- sites -------------------------------------------------------------------------------------------- */

typedef struct asc_site_choice {
    const char *at;      /* the site to attribute to; NULL = none chosen */
    const char *through; /* guided-grad-cam: the layer on the way; NULL = none chosen */
    bool sum_rows;       /* scores are per byte once each row of them is summed (asc_attribution_sum_rows) */
} asc_site_choice;

/* Bytes have no gradient. Methods that need one get the first inner value with one row per byte (its one-hot
 * code, or its look-up): what they say there, summed over each row, is what they say of the byte. Class
 * activation maps of a picture get the last inner value that is a map itself, as the paper takes the last
 * convolution layer. Nothing is chosen where the request names sites, or none fits. bytes: the first input
 * holds them; picture_input: -1 = none. Runs the net, up to once for each site. Errors: those of asc_net_run.
 */
ASC_API ASC_MUST_USE asc_status asc_net_choose_site(asc_net *net, const asc_attr_request *q, bool bytes,
                                                    int64_t picture_input, asc_site_choice *out);
/* Sums the first scores over their last axis, in place; the error bound then is that of the sums. */
ASC_API void asc_attribution_sum_rows(asc_attribution *r);

/* ---- features, windows, rules ------------------------------------------------------------------------- */

/* "grid:16", "grid:16x8", "superpixels:60". */
typedef struct asc_mask_words {
    bool grid;
    int64_t rows, cols; /* of a patch; superpixels: how many, in rows */
} asc_mask_words;
ASC_API bool asc_mask_parse(const char *text, asc_mask_words *out); /* false: none of these */
/* The mask of the picture's input [1,C,H,W] or (nhwc) [1,H,W,C]; freed by asc_array_free. */
ASC_API ASC_MUST_USE asc_status asc_mask_make(asc_ctx *ctx, const asc_mask_words *words,
                                              const asc_image *picture, bool nhwc, asc_array *out);

/* occlusion of a picture: a window of an eighth of the shorter side, all channels. */
ASC_API void asc_picture_window(const asc_image *picture, const asc_image_prep *prep, int64_t window[3]);
/* Half of each window; all channels of a picture at once (prep NULL = no picture). */
ASC_API void asc_default_stride(const asc_image_prep *prep, const int64_t *window, size_t n, int64_t *stride);

/* "3,-1,5" to at most `most` whole numbers with this separator between them; returns how many, 0: it is no
 * such list. */
ASC_API int asc_whole_numbers_parse(const char *text, char separator, int64_t *out, int most);

/* "NAME[:A[,B]]" to a rule whose name (at most 31 characters) is copied to name; false: not of that form. */
ASC_API bool asc_rule_parse(const char *text, char name[32], asc_rule_choice *out);

#ifdef __cplusplus
}
#endif
#endif
