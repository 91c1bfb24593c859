/* net_parts.h - what the reports of attributions on nets share: one array of scores, cut down to the example
 * that is shown. */
#ifndef ASC_NET_PARTS_H
#define ASC_NET_PARTS_H

#include "alloc.h"
#include "ascribe/net_report.h"
#include "draw_parts.h"

/* How scores are shown. AUTO: by what the view has (picture, offsets, names), then by shape. */
typedef enum asc_show {
    ASC_SHOW_AUTO,
    ASC_SHOW_PICTURE, /* a map, over the picture if there is one; channels are summed */
    ASC_SHOW_TABLE,   /* bars */
    ASC_SHOW_BYTES,   /* a hex dump; dimensions behind the first are summed (columns of an embedding) */
    ASC_SHOW_SIGNAL   /* a line for each channel */
} asc_show;

/* What is known about one attributed value; everything but the name may be missing. Borrowed. */
typedef struct asc_net_view {
    const char *name; /* as in asc_scores: an input or a site */
    bool site;        /* labels say its name */
    asc_show show;
    const asc_image *picture; /* as the net saw it (asc_image_to_array's `shown`) */
    bool nhwc;
    const asc_array *values;  /* the input itself: values of a table, a signal, bytes */
    const char *const *names; /* of the features: one per element, or per entry of the last dimension */
    size_t n_names;
    const int64_t *offsets; /* [n_offsets], places of bytes in their file; with `values` */
    size_t n_offsets;
} asc_net_view;

/* Everything that a report is about. Borrowed. */
typedef struct asc_net_sheet {
    const char *model, *model_sha256;      /* file; NULL if unknown */
    const asc_attr_request *request;       /* of the first result; NULL = unknown */
    const char *target_text;               /* NULL = from the request */
    const asc_attribution *const *results; /* one or several methods on the same input */
    size_t n_results;
    const asc_net_view *views;
    size_t n_views;
    const asc_class_score *top; /* "the model says"; NULL = not known */
    size_t n_top;
    size_t example, output; /* the one that is shown; JSON has all */
    const char *command;    /* that made it, for running it again; NULL = unknown */
    const char *device, *mode, *precision, *isa;
    int n_threads;
    uint64_t seed;
    const char *input_note; /* "photo.png, shorter side to 256, middle 224 x 224, imagenet" */
} asc_net_sheet;

enum { ASC_NET_SCHEMA = 1, ASC_BARS_MOST = 40, ASC_SIGNALS_MOST = 8 };

typedef struct asc_net_part {
    const asc_attribution *r;
    const asc_scores *s;
    const asc_net_view *view; /* NULL = nothing is known about it */
    asc_show show;            /* never AUTO */
    asc_shape shape;          /* of the example and output that are shown */
    const double *data, *error;
    size_t n;
    const double *values; /* [n], from the view; NULL = unknown */
} asc_net_part;

/* Everything lives in the arena. Array k of result i. False when memory runs out or the example is none. */
bool asc_net_part_of(asc_arena *a, const asc_net_sheet *rep, size_t i, size_t k, asc_net_part *out);
/* Name of element i: the view's, or "[2, 5]", or "byte 0x1f 'P'". */
const char *asc_net_element(asc_arena *a, const asc_net_part *p, size_t i);
/* Bars of a part: bars->names and values point into the arena. False when memory runs out. */
bool asc_net_bars(asc_arena *a, const asc_net_part *p, asc_bars *bars);
/* The part as a map, summed over channels; `sum` is freed by asc_array_free. */
ASC_MUST_USE asc_status asc_net_heat(asc_ctx *ctx, const asc_net_part *p, asc_array *sum, asc_heat *heat,
                                     asc_colour_scale *scale);
/* Maps of every part that is shown as one. With several, each is divided by its own limit, which its label
 * states. */
typedef struct asc_net_maps {
    asc_heat *heats;
    asc_array *sums;       /* what the heats point to */
    const asc_scores **of; /* which scores they are */
    size_t n;
    asc_colour_scale scale;
    const asc_image *picture;
} asc_net_maps;
ASC_MUST_USE asc_status asc_net_maps_init(asc_ctx *ctx, asc_arena *a, const asc_net_sheet *rep,
                                          asc_net_maps *out);
void asc_net_maps_deinit(asc_ctx *ctx, asc_net_maps *m);

/* Append to out; errors stick there. */
void asc_net_sheet_json(asc_text *out, const asc_net_sheet *sheet);
void asc_net_sheet_text(asc_ctx *ctx, asc_text *out, const asc_net_sheet *sheet,
                        const asc_report_style *style);
void asc_net_sheet_html(asc_ctx *ctx, asc_text *out, const asc_net_sheet *sheet);
/* The maps of all results over their picture as one picture. NOT_FOUND when there are none. */
ASC_MUST_USE asc_status asc_net_sheet_image(asc_ctx *ctx, const asc_net_sheet *sheet, asc_image *out);

/* Words that text and page share. */
/* "value 'logits', index 285 minus index 3". */
void asc_net_target_words(asc_text *out, const asc_net_sheet *sheet);
void asc_net_meaning(asc_text *t, const asc_attribution *r);
void asc_net_value_words(asc_text *t, const asc_net_sheet *rep, const asc_attribution *r);
void asc_net_sum_words(asc_text *t, const asc_net_sheet *rep, const asc_attribution *r);
void asc_net_error_words(asc_text *t, const asc_attribution *r);
void asc_net_cost_words(asc_text *t, const asc_attribution *r);
/* "Egyptian cat 12.3, tabby 11.2": the largest numbers of the explained value. */
void asc_net_says_words(asc_text *t, const asc_net_sheet *rep);

#endif
