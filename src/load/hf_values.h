/* hf_values.h - values of config.json and its like, checked: every refusal names the file, the key and what
 * it says. A key whose value is null counts as absent, as in the programs that write these files. */
#ifndef ASC_HF_VALUES_H
#define ASC_HF_VALUES_H

#include "json.h"

/* Where the keys are looked up. */
typedef struct asc_hf_keys {
    asc_ctx *ctx;
    const asc_json *obj;
    const char *file;   /* "FOLDER/config.json", for messages */
    const char *prefix; /* "" or "rope_scaling." */
} asc_hf_keys;

const asc_json *asc_hf_key(const asc_hf_keys *k, const char *key); /* NULL when absent or null */
/* A whole number in [1, most]; fallback 0 = the key is required, -1 = absent leaves *out as it is. */
ASC_MUST_USE asc_status asc_hf_count(const asc_hf_keys *k, const char *key, int64_t fallback, int64_t most,
                                     int64_t *out);
/* A finite number in [lo, hi]; fallback NAN = the key is required. */
ASC_MUST_USE asc_status asc_hf_number(const asc_hf_keys *k, const char *key, double fallback, double lo,
                                      double hi, double *out);
ASC_MUST_USE asc_status asc_hf_flag(const asc_hf_keys *k, const char *key, bool fallback, bool *out);
/* {NULL, 0} when absent and fallback is NULL. The view lies in the document. */
ASC_MUST_USE asc_status asc_hf_word(const asc_hf_keys *k, const char *key, const char *fallback,
                                    asc_view *out);
/* A list of exactly n numbers above 0, in arena memory. */
ASC_MUST_USE asc_status asc_hf_numbers(const asc_hf_keys *k, const char *key, size_t n, asc_arena *arena,
                                       const double **out);
/* Records UNIMPLEMENTED: "FILE: KEY is VALUE, which is not supported", and the hint. */
asc_status asc_hf_refuse(const asc_hf_keys *k, const char *key, const char *hint);
/* Records INVALID_ARGUMENT: "FILE: KEY is VALUE; expected WHAT". */
asc_status asc_hf_invalid(const asc_hf_keys *k, const char *key, const char *expected);

#endif
