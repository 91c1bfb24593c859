/* ops_doc.h - the reference page of the ops, written from their descriptors. */
#ifndef ASC_OPS_DOC_H
#define ASC_OPS_DOC_H

#include "op.h"
#include "strbuf.h"

/* Appends docs/ops.md (Markdown) to out: one row per op, in the order of ops.def. Errors: see
 * asc_strbuf_status. */
void asc_ops_markdown(asc_strbuf *out);

#endif
