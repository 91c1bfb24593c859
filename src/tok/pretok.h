/* pretok.h - pre-tokenizers: they cut a text into the words inside which BPE merges. Those in most use are
 * scanners over code points written from the published pattern (pretok.c), the others are the patterns
 * themselves; the table of names is in pretok_table.c. */
#ifndef ASC_PRETOK_H
#define ASC_PRETOK_H

#include "ascribe/tokens.h"
#include "pattern.h"

typedef struct asc_scan {
    const char *text;
    size_t end;      /* look-ahead stops here, as at the end of a text */
    size_t run_end;  /* private to a scanner: how far it has looked; start with 0 */
    size_t run_line; /* the same: behind the last line break in the white space up to there */
    size_t n_looks;  /* characters that were looked at, over and over those that were so again */
} asc_scan;

enum { ASC_PRETOK_PATTERNS = 6 };
typedef struct asc_pretok {
    const char *name;                        /* as in tokenizer.ggml.pre */
    size_t (*next)(asc_scan *s, size_t pos); /* pos < end; end of the word that begins there, > pos. NULL: */
    /* these cut instead, one after another: a match is a piece, and so is what lies between two; the next
     * pattern cuts the pieces. NULL behind the last. */
    const char *pattern[ASC_PRETOK_PATTERNS];
    bool ignore_merges; /* a word that is a token as a whole is that token */
    bool add_bos;       /* default of tokenizer.ggml.add_bos_token */
} asc_pretok;

/* By name; a missing name ({NULL,0}) and "default" mean gpt-2. NULL when there is none of that name. */
const asc_pretok *asc_pretok_find(asc_view name);
/* "smollm, gpt-2, ..." for messages. */
extern const char asc_pretok_names[];

/* The scanners of pretok.c. */
size_t asc_scan_gpt2(asc_scan *s, size_t pos);
size_t asc_scan_smollm(asc_scan *s, size_t pos);
size_t asc_scan_llama3(asc_scan *s, size_t pos);
size_t asc_scan_qwen2(asc_scan *s, size_t pos);
size_t asc_scan_jais2(asc_scan *s, size_t pos);

/* The patterns of a pre-tokenizer, compiled. */
typedef struct asc_pretok_patterns {
    asc_pattern *v[ASC_PRETOK_PATTERNS];
    size_t n;
} asc_pretok_patterns;

ASC_MUST_USE asc_status asc_pretok_compile(asc_ctx *ctx, const asc_pretok *p, asc_pretok_patterns *out);
void asc_pretok_patterns_deinit(asc_ctx *ctx, asc_pretok_patterns *p);
/* Replaces cuts by the pieces of text[part), as ranges of the text, in order and without gaps; any bytes.
 * Errors: RESOURCE_EXHAUSTED (memory, a limit of pattern.h). */
ASC_MUST_USE asc_status asc_pretok_cut(asc_ctx *ctx, const asc_pretok_patterns *p, asc_view text,
                                       asc_span part, asc_cuts *cuts);

#endif
