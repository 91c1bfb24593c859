/* page.h - the page for people: what its files share. The page itself is in page/, embedded when the program
 * is built (scripts/embed-page.py); it is filled in here with what the tables know.
 */
#ifndef ASC_PAGE_H
#define ASC_PAGE_H

#include "serve.h"
#include <stdio.h>

typedef struct page_file {
    const char *path, *type, *etag; /* "/page/page.js"; etag with its quotes, by content */
    const unsigned char *bytes;
    size_t len;
} page_file;
/* Generated, in order of the paths; "/page/index.html" is the frame of the page and served at "/" only. */
extern const page_file page_files[];
extern const size_t page_n_files;

/* Text as HTML, in elements and attributes: < > & " ' and what is no character of a text become entities or
 * U+FFFD. */
void page_put(FILE *f, asc_view v);
void page_puts(FILE *f, const char *s);

/* How a field of the form shows a key. */
bool page_key_known(const asc_question_key *k, asc_subject_kind kind);
bool page_method_known(size_t i, asc_subject_kind kind);
/* Does the model take messages; does the net take a picture, through which input (-1: none)? */
bool page_is_chat(asc_subject *s);
int page_picture_input(asc_subject *s);
const char *page_kind_name(asc_subject_kind kind);

/* All fields of the form, made of the tables. */
void page_fields(FILE *f, asc_subject *s, bool wants_token);

/* The policy of the page: its own files and nothing else. */
#define PAGE_POLICY                                                                                          \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "          \
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "      \
    "trusted-types 'none'"
/* The policy that a page of a result carries inside, as a header, in a sandbox: nothing in such a page can
 * reach the server. `out` may be short: then nothing but the sandbox. */
void page_result_policy(asc_view html, char *out, size_t size);

/* The form's fields as a question (JSON, made with malloc); NULL without memory. */
char *page_question(exchange *x, asc_subject_kind kind);

#endif
