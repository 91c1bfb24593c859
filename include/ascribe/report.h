/* ascribe/report.h - a result as JSON, as text for a terminal and as a page; and back from JSON, to run it
 * again.
 *
 * The JSON is described in docs/formats/result.md. The page is one file: no request to anywhere, everything
 * escaped, the JSON embedded. Nothing here computes a score.
 */
#ifndef ASCRIBE_REPORT_H
#define ASCRIBE_REPORT_H

#include "ascribe/attr.h"
#include "ascribe/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a report is about; all borrowed. */
typedef struct asc_report {
    const asc_request *request;
    const asc_result *result;
    const asc_tokenizer *tokenizer; /* for the text of tokens; NULL = ids only */
    asc_weights_mode weights;       /* as the model was opened */
} asc_report;

typedef enum asc_colours { ASC_COLOURS_NONE, ASC_COLOURS_256, ASC_COLOURS_RGB } asc_colours;

/* Zero-initialise, then set struct_size. */
typedef struct asc_report_style {
    size_t struct_size;
    asc_colours colours;
    size_t columns; /* of a line; 0 = 100, at least 40 */
    size_t rows;    /* of the table of scores: the largest ones; 0 = all, in the order of the text */
} asc_report_style;

/* Append to out; errors stick there (asc_text_status). */
ASC_API void asc_report_json(asc_text *out, const asc_report *rep);
ASC_API void asc_report_text(asc_text *out, const asc_report *rep, const asc_report_style *style);
ASC_API void asc_report_html(asc_ctx *ctx, asc_text *out, const asc_report *rep);
/* Of a dry run, instead of asc_report_text: what it would cost. */
ASC_API void asc_report_price(asc_ctx *ctx, asc_text *out, const asc_report *rep);

/* One sentence: what a score of this result means. The unit of its scores: "nats", "logits", "". */
ASC_API void asc_report_meaning(asc_text *out, const asc_result *r);
ASC_API const char *asc_report_unit(const asc_result *r);

/* A result read back: enough to ask again and to compare. */
typedef struct asc_saved {
    asc_request request; /* its strings live as long as this */
    asc_weights_mode weights;
    const char *model_file, *model_sha256; /* sha256 "" if it was not taken */
    const char *device, *mode, *precision, *isa, *version;
    const char *const *precision_at; /* "SITE=LEVEL" */
    size_t n_precision_at;
    int n_threads;
    double value, baseline_value; /* NaN where null */
    double *scores, *errors;      /* of the features, in order; errors are NaN where null */
    size_t n_features;
    const int32_t *prompt_ids, *target_ids;
    size_t n_prompt_ids, n_target_ids;
    const asc_adapter *adapters;
    size_t n_adapters;
} asc_saved;

/* Reads what asc_report_json wrote. Errors: INVALID_ARGUMENT (not JSON, not a result: the key is named),
 * UNIMPLEMENTED (a schema of another version), RESOURCE_EXHAUSTED. *out is NULL on failure. */
ASC_API ASC_MUST_USE asc_status asc_saved_parse(asc_ctx *ctx, asc_view json, asc_saved **out);
ASC_API void asc_saved_destroy(asc_ctx *ctx, asc_saved *s); /* NULL is accepted */

/* docs/methods.md and docs/ops.md, and one line per op. */
ASC_API void asc_methods_markdown(asc_text *out);
ASC_API void asc_ops_page(asc_text *out);

typedef struct asc_op_info {
    const char *name, *formula, *doc;
    int min_inputs, max_inputs;
    bool differentiable;
} asc_op_info;
ASC_API bool asc_op_at(size_t i, asc_op_info *out); /* false when i is past the last */

#ifdef __cplusplus
}
#endif
#endif
