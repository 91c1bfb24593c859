/* pretok.h - pre-tokenizers: they cut a text into the words inside which BPE merges. Each is a scanner over
 * code points written from the published pattern; the table of names is in pretok.c. */
#ifndef ASC_PRETOK_H
#define ASC_PRETOK_H

#include "ascribe/base.h"

typedef struct asc_scan {
    const char *text;
    size_t end;     /* look-ahead stops here, as at the end of a text */
    size_t run_end; /* private to a scanner: how far it has looked; start with 0 */
} asc_scan;

typedef struct asc_pretok {
    const char *name;                        /* as in tokenizer.ggml.pre */
    size_t (*next)(asc_scan *s, size_t pos); /* pos < end; end of the word that begins there, > pos */
    bool ignore_merges;                      /* a word that is a token as a whole is that token */
    bool add_bos;                            /* default of tokenizer.ggml.add_bos_token */
} asc_pretok;

/* By name; a missing name ({NULL,0}) and "default" mean gpt-2. NULL when there is none of that name. */
const asc_pretok *asc_pretok_find(asc_view name);
/* "smollm, gpt-2, ..." for messages. */
extern const char asc_pretok_names[];

#endif
