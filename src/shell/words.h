/* words.h - an attribution as words on lines: those of the prompt that have scores, those of the answer, and
 * what each says about the other. Plain data, no terminal.
 */
#ifndef SHELL_WORDS_H
#define SHELL_WORDS_H

#include "ascribe/report.h"

typedef struct word {
    asc_view text;  /* without the blanks around; may hold any bytes; borrowed from the result or tokenizer */
    bool blank;     /* a blank stands before it */
    bool breaks;    /* it begins a line */
    bool fixed;     /* cannot be chosen: it has no score */
    size_t feature; /* of the prompt: number of the feature */
    size_t first, n; /* of the answer: its rows of the matrix */
    size_t columns;  /* that it takes, at most those of the line */
    size_t line, at; /* where it is: words_lay */
} word;

typedef struct words {
    word *v;
    size_t n, n_lines;
} words;

enum { SIDE_PROMPT, SIDE_ANSWER };

typedef struct word_sheet {
    words side[2];
    size_t columns, indent;
    const asc_result *r; /* borrowed, with the matrix if there is one */
    char *memory;        /* of pieces of the answer */
} word_sheet;

/* Words of a result. Answer tokens make words where their scores may be added (logprob, logit), else each is
 * one; without a matrix the answer is one word. tk may be NULL (then tokens are numbers). RESOURCE_EXHAUSTED.
 */
ASC_MUST_USE asc_status words_make(asc_ctx *ctx, const asc_result *r, const asc_tokenizer *tk,
                                   word_sheet *out);
void words_free(word_sheet *s);
/* Places all words on lines of so many columns, behind `indent` blanks. */
void words_lay(asc_ctx *ctx, word_sheet *s, size_t columns, size_t indent);

/* What word i of one side says about word k of the other: score and error in the result's unit. */
double words_score(const word_sheet *s, int side, size_t i, size_t k, double *error);
/* Words of the other side, the largest |score| first; `out` has room for them, the count is returned. */
size_t words_ranked(const word_sheet *s, int side, size_t i, size_t *out);
/* The word of one side that reads so, or whose number (from 1) it is; SIZE_MAX: none. */
size_t words_find(const word_sheet *s, int side, asc_view text);

#endif
