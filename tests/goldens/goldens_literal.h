/* goldens_literal.h - the Python values of captum_expected.tsv as JSON. */
#ifndef ASC_GOLDENS_LITERAL_H
#define ASC_GOLDENS_LITERAL_H

#include "json.h"
#include "view.h"

/* Numbers, True, False, None, 'text', bare names, tuples ({"tuple": [...]}), lists, which become arrays
 * ({"shape", "dtype", "data"}) when all that is in them is numbers, arange(a,step=b).view([...]),
 * full([...],v), empty[...]. NULL: not a value (callable:NAME, a tensor of which a summary was recorded);
 * *why says what it is. */
asc_json *golden_literal(asc_ctx *ctx, asc_view text, const char **why);

/* "key=value, key=value; ctor{key=value}" as an object whose values are JSON; what is no value is left as
 * text. Keys of ctor{...} stand beside the others. */
asc_json *golden_arguments(asc_ctx *ctx, asc_view text);

#endif
