/* stop_text.h - the text of tokens as they come: in whole characters, up to the first stop string, whatever
 * token borders it crosses. */
#ifndef ASC_STOP_TEXT_H
#define ASC_STOP_TEXT_H

#include "ascribe/model.h"
#include "strbuf.h"

typedef struct asc_stop_text {
    const asc_view *stop; /* borrowed */
    size_t n_stop;
    asc_strbuf held; /* ready bytes, then those that wait */
    size_t ready;    /* handed out, to be dropped at the next call */
} asc_stop_text;

/* INVALID_ARGUMENT (an empty stop string, too long, too many). End with asc_stop_text_deinit in any case. */
ASC_MUST_USE asc_status asc_stop_text_init(asc_ctx *ctx, const asc_view *stop, size_t n_stop,
                                           asc_stop_text *out);
void asc_stop_text_deinit(asc_stop_text *t);
/* Appends a token's text; *out is what can be shown, until the next call. `last`: nothing follows, all goes
 * out. *stopped: a stop string was met; what stands before it goes out. RESOURCE_EXHAUSTED. */
ASC_MUST_USE asc_status asc_stop_text_add(asc_stop_text *t, asc_view piece, bool last, asc_view *out,
                                          bool *stopped);

#endif
