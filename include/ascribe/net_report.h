/* ascribe/net_report.h - a result of attribution on a net as text, JSON, a page, a picture. */
#ifndef ASCRIBE_NET_REPORT_H
#define ASCRIBE_NET_REPORT_H

#include "ascribe/attribute.h"
#include "ascribe/image.h"
#include "ascribe/report.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asc_class_score {
    int64_t index;
    const char *label; /* NULL = no name */
    double value;      /* as the net gives it */
} asc_class_score;

/* What a report speaks of. Everything is borrowed. Only request, result and net must be there; the rest says
 * what the numbers belong to, and so how they are drawn: picture > bytes > signal > table. */
typedef struct asc_net_report {
    const asc_attr_request *request;
    const asc_attribution *result;
    const asc_net *net;
    const char *model_path;   /* NULL for a net in C */
    const char *target_text;  /* "class 17 (cat)", "conv2[3,4]"; NULL = the whole output */
    const asc_image *picture; /* the resized, cropped picture whose pixels an input holds; NULL = none */
    const char *picture_path;
    bool nhwc;         /* layout of that input */
    const void *bytes; /* the file whose bytes an integer input holds; NULL = none */
    size_t n_bytes;
    const int64_t *offsets; /* place in the file of each element of that input, -1 = padding */
    size_t n_offsets;
    const char *const *feature_names; /* of the last dimension of the first attributed value; NULL = none */
    size_t n_feature_names;
    const asc_class_score *top; /* the net's own largest outputs, for the first example */
    size_t n_top;
    const char *command; /* the command line that makes it again; NULL = none */
} asc_net_report;

/* Table of the largest scores, the totals, the error, the notes; bars or a coarse map when style says
 * terminal. */
ASC_API void asc_net_report_text(asc_ctx *ctx, asc_text *t, const asc_net_report *r,
                                 const asc_report_style *style);
/* Of a dry run, instead of asc_net_report_text: what it would cost. */
ASC_API void asc_net_report_price(asc_text *t, const asc_net_report *r);
ASC_API void asc_net_report_json(asc_ctx *ctx, asc_text *t, const asc_net_report *r);
/* One self-contained page with drawings, table, metadata and the JSON inside. */
ASC_API void asc_net_report_html(asc_ctx *ctx, asc_text *t, const asc_net_report *r);
/* The picture with its scores laid over it, as a PNG file. FAILED_PRECONDITION without a picture. */
ASC_API ASC_MUST_USE asc_status asc_net_report_png(asc_ctx *ctx, const asc_net_report *r, const char *path);
/* Several results on one input side by side; labels are their methods. */
ASC_API void asc_net_report_compare_html(asc_ctx *ctx, asc_text *t, const asc_net_report *const *rs,
                                         size_t n);

/* A result read back: its command and its numbers. */
typedef struct asc_net_saved_scores {
    const char *method, *name;
    double *data; /* NaN where null */
    size_t n;
} asc_net_saved_scores;

typedef struct asc_net_saved {
    const char *command;                                    /* "" if it was not known */
    const char *model, *model_sha256, *version, *precision; /* "" if it was not known */
    asc_net_saved_scores *scores;                           /* of all results, in order */
    size_t n_scores;
} asc_net_saved;

/* Reads what asc_net_report_json wrote. Errors: INVALID_ARGUMENT (not JSON, not such a result: the key is
 * named), UNIMPLEMENTED (a schema of another version), RESOURCE_EXHAUSTED. *out is NULL on failure. */
ASC_API ASC_MUST_USE asc_status asc_net_saved_parse(asc_ctx *ctx, asc_view json, asc_net_saved **out);
ASC_API void asc_net_saved_destroy(asc_ctx *ctx, asc_net_saved *s); /* NULL is accepted */

#ifdef __cplusplus
}
#endif
#endif
