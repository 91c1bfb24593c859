/* template_json.h - values of a template and documents, of JSON that is read already. */
#ifndef ASC_TEMPLATE_JSON_H
#define ASC_TEMPLATE_JSON_H

#include "alloc.h"
#include "ascribe/template.h"
#include "json.h"

/* As asc_template_values_parse; texts are copied into the arena, out->memory stays NULL. */
ASC_MUST_USE asc_status asc_template_values_read(asc_ctx *ctx, const asc_json *root, asc_arena *a,
                                                 asc_template_values *out);
/* As asc_document_parse; borrows from j. */
ASC_MUST_USE asc_status asc_document_read(asc_ctx *ctx, const asc_json *j, asc_document *out);

#endif
