/* normalizer.h - the first stage of a tokenizer: changes to the text, in order. A Sequence is laid out flat.
 */
#ifndef ASC_NORMALIZER_H
#define ASC_NORMALIZER_H

#include "charsmap.h"
#include "json.h"
#include "pattern.h"

typedef enum asc_norm_kind {
    ASC_NORM_NFD, /* these four as asc_unicode_form */
    ASC_NORM_NFKD,
    ASC_NORM_NFC,
    ASC_NORM_NFKC,
    ASC_NORM_LOWERCASE,
    ASC_NORM_STRIP,
    ASC_NORM_STRIP_ACCENTS,
    ASC_NORM_BERT,
    ASC_NORM_REPLACE,
    ASC_NORM_PREPEND,
    ASC_NORM_BYTE_LEVEL,
    ASC_NORM_NMT,
    ASC_NORM_PRECOMPILED
} asc_norm_kind;

typedef struct asc_norm_step {
    asc_norm_kind kind;
    bool left, right;                                   /* strip */
    bool clean_text, chinese, strip_accents, lowercase; /* bert */
    char *text;                                         /* replace: by this; prepend: this */
    size_t text_len;
    asc_pattern *pattern;
    asc_charsmap map;
} asc_norm_step;

typedef struct asc_normalizer {
    asc_norm_step *v;
    size_t n, cap;
} asc_normalizer;

/* Memory of one call. */
typedef struct asc_norm_scratch {
    asc_aligned other;
    asc_changes changes;
    asc_cuts cuts;
} asc_norm_scratch;

/* Reads the "normalizer" section; j NULL or null is one without steps. Errors: UNIMPLEMENTED (a type that is
 * not known, by name), INVALID_ARGUMENT. */
ASC_MUST_USE asc_status asc_normalizer_init(asc_ctx *ctx, asc_normalizer *n, const asc_json *j);
void asc_normalizer_deinit(asc_ctx *ctx, asc_normalizer *n);
void asc_norm_scratch_init(asc_ctx *ctx, asc_norm_scratch *s);
void asc_norm_scratch_deinit(asc_norm_scratch *s);
/* Normalises all of `text` in place; its original begins at byte `base`. continues: what goes before a text
 * is not put before this one. */
ASC_MUST_USE asc_status asc_normalize(asc_ctx *ctx, const asc_normalizer *n, asc_aligned *text, size_t base,
                                      bool continues, asc_norm_scratch *s);

#endif
