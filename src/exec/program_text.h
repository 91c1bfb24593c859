/* program_text.h - the text of a program as files keep it. */
#ifndef ASC_PROGRAM_TEXT_H
#define ASC_PROGRAM_TEXT_H

#include "program.h"

/* Appends the text that asc_program_parse reads back. labels: with those that fit a line; without, texts of
 * one structure are the same whoever recorded it. The buffer's error, if it has one. */
ASC_MUST_USE asc_status asc_program_text(asc_ctx *ctx, const asc_program *p, bool labels, asc_strbuf *out);

#endif
