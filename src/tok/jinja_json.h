/* jinja_json.h - JSON in and out of template values. */
#ifndef ASC_JINJA_JSON_H
#define ASC_JINJA_JSON_H

#include "jinja_ast.h"
#include "json.h"

/* A JSON document as a value; strings are borrowed from the document, which must outlive the engine, and
 * count as the template's own. */
ASC_MUST_USE asc_status asc_jinja_from_json(asc_jinja *j, const asc_json *in, asc_jinja_value *out);
/* The same with strings that count as the caller's data, of a message (-1: of none). */
ASC_MUST_USE asc_status asc_jinja_from_data(asc_jinja *j, const asc_json *in, int32_t message,
                                            asc_jinja_value *out);
/* The filter `tojson(indent=None)`. */
asc_status asc_jinja_tojson(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out);

#endif
