/* html_put.h - text of others in a page or a drawing, and what the pages share. */
#ifndef ASC_HTML_PUT_H
#define ASC_HTML_PUT_H

#include "text_parts.h"

/* Characters that show nothing or move things become escapes; line breaks stay if `lines`; escapes are marked
 * as such (not inside attributes) if `marked`. */
void asc_put_html(asc_text *t, asc_view v, bool lines, bool marked);
/* As an element's text, and as an attribute's. */
void asc_put_html_text(asc_text *t, asc_view v);
void asc_put_html_attribute(asc_text *t, asc_view v);
/* 'sha256-...' of a fixed part, as a content policy wants it. */
void asc_put_html_hash(asc_text *t, asc_view v);
/* JSON inside a script element: no angle bracket, ampersand or invisible character is left. */
void asc_put_html_json(asc_text *t, asc_view v);

#endif
