/* splitter.h - the second stage of a tokenizer file: cuts a normalised text into the sections inside which
 * the model makes tokens ("pre_tokenizer"). A Sequence is laid out flat. */
#ifndef ASC_SPLITTER_H
#define ASC_SPLITTER_H

#include "json.h"
#include "pattern.h"

typedef enum asc_split_kind {
    ASC_SPLIT_BYTE_LEVEL,
    ASC_SPLIT_PATTERN,
    ASC_SPLIT_WHITESPACE,      /* runs of word characters, runs of what is neither word nor space */
    ASC_SPLIT_WHITESPACE_ONLY, /* WhitespaceSplit */
    ASC_SPLIT_BERT,
    ASC_SPLIT_PUNCTUATION,
    ASC_SPLIT_DIGITS,
    ASC_SPLIT_METASPACE,
    ASC_SPLIT_CHAR,
    ASC_SPLIT_SCRIPTS,
    ASC_SPLIT_FIXED
} asc_split_kind;

/* What happens to a match. */
typedef enum asc_split_behavior {
    ASC_SPLIT_REMOVED,
    ASC_SPLIT_ISOLATED,
    ASC_SPLIT_WITH_PREVIOUS,
    ASC_SPLIT_WITH_NEXT,
    ASC_SPLIT_CONTIGUOUS
} asc_split_behavior;

typedef enum asc_prepend_scheme {
    ASC_PREPEND_NEVER,
    ASC_PREPEND_FIRST,
    ASC_PREPEND_ALWAYS
} asc_prepend_scheme;

typedef struct asc_split_step {
    asc_split_kind kind;
    asc_split_behavior behavior;
    bool invert;
    bool prefix_space;    /* byte level */
    asc_pattern *pattern; /* pattern; byte level with use_regex */
    asc_prepend_scheme prepend;
    bool split;   /* metaspace: cut as well */
    char mark[5]; /* metaspace, char: the character */
    size_t mark_len;
    size_t length; /* fixed */
} asc_split_step;

typedef struct asc_splitter {
    asc_split_step *v;
    size_t n, cap;
} asc_splitter;

/* A piece of the text: bytes [start, end) of an aligned text, or an added token. */
typedef struct asc_section {
    size_t start, end;
    size_t base;       /* byte of the original where it begins */
    int32_t id;        /* the added token, -1 = text for the model */
    uint32_t from, to; /* added token: its range in the original */
} asc_section;
typedef struct asc_sections {
    asc_ctx *ctx;
    asc_section *v;
    size_t n, cap;
} asc_sections;

typedef struct asc_split_scratch {
    asc_aligned other, piece;
    asc_sections next;
    asc_cuts cuts, more;
} asc_split_scratch;

ASC_MUST_USE asc_status asc_sections_add(asc_sections *s, asc_section x);

/* Reads the "pre_tokenizer" section; NULL or null is one without steps. Errors as asc_normalizer_init. */
ASC_MUST_USE asc_status asc_splitter_init(asc_ctx *ctx, asc_splitter *s, const asc_json *j);
void asc_splitter_deinit(asc_ctx *ctx, asc_splitter *s);
void asc_split_scratch_init(asc_ctx *ctx, asc_split_scratch *s);
void asc_split_scratch_deinit(asc_split_scratch *s);
/* Replaces text and list. continues: nothing is put before the first section. */
ASC_MUST_USE asc_status asc_split(asc_ctx *ctx, const asc_splitter *s, asc_aligned *text, asc_sections *list,
                                  bool continues, asc_split_scratch *scratch);

#endif
