/* unicode_forms.h - NFC, NFD, NFKC, NFKD as lists of changes, so that byte ranges survive. */
#ifndef ASC_UNICODE_FORMS_H
#define ASC_UNICODE_FORMS_H

#include "aligned_text.h"

typedef enum asc_unicode_form { ASC_NFD, ASC_NFKD, ASC_NFC, ASC_NFKC } asc_unicode_form;

/* Replaces `out` by the changes that bring text into the form. */
ASC_MUST_USE asc_status asc_unicode_changes(asc_view text, asc_unicode_form form, asc_changes *out);

#endif
