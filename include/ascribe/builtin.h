/* ascribe/builtin.h - three small nets that need no file: something to measure and to compare on. Weights and
 * inputs are fixed draws, the same everywhere.
 */
#ifndef ASCRIBE_BUILTIN_H
#define ASCRIBE_BUILTIN_H

#include "ascribe/attribute.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asc_builtin asc_builtin;

/* "mlp" (8-12-10-3), "cnn" (1x6x6, two convolutions), "transformer" (one block over 4 tokens); NULL past the
 * last. */
ASC_API const char *asc_builtin_name(size_t i);

/* Makes one of them; ended with close before its context. NOT_FOUND names the nets there are. *out is NULL on
 * failure. */
ASC_API ASC_MUST_USE asc_status asc_builtin_open(asc_ctx *ctx, const char *name, asc_builtin **out);
ASC_API void asc_builtin_close(asc_builtin *b); /* NULL is accepted */
ASC_API asc_net *asc_builtin_net(const asc_builtin *b);

/* A request of `method` for the net on its own example, with everything that the method needs; path methods
 * take a fixed rule. at_site: the layer form, at a value in the middle. Borrowed from b, valid until the next
 * call. NOT_FOUND: no such method for nets; UNIMPLEMENTED: it makes no sense there. */
ASC_API ASC_MUST_USE asc_status asc_builtin_request(asc_builtin *b, const char *method, bool at_site,
                                                    asc_attr_request *out);

#ifdef __cplusplus
}
#endif
#endif
