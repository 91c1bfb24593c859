/* unicode.c - see unicode.h.
 * Debian 12's utf8proc knows Unicode 15.0; the letters and numbers that 15.1 and 16.0 added are listed here
 * (from the DerivedGeneralCategory files of those versions), so that ids agree with tokenizers that use the
 * newer tables. */
#include "unicode.h"
#include <stddef.h>
#include <utf8proc.h>

typedef struct range {
    uint32_t first, last;
} range;

static const range new_letters[] = {
    {0x1C89, 0x1C8A},   {0xA7CB, 0xA7CD},   {0xA7DA, 0xA7DC},   {0x105C0, 0x105F3}, {0x10D4A, 0x10D65},
    {0x10D6F, 0x10D85}, {0x10EC2, 0x10EC4}, {0x11380, 0x11389}, {0x1138B, 0x1138B}, {0x1138E, 0x1138E},
    {0x11390, 0x113B5}, {0x113B7, 0x113B7}, {0x113D1, 0x113D1}, {0x113D3, 0x113D3}, {0x11BC0, 0x11BE0},
    {0x13460, 0x143FA}, {0x16100, 0x1611D}, {0x16D40, 0x16D6C}, {0x18CFF, 0x18CFF}, {0x1E5D0, 0x1E5ED},
    {0x1E5F0, 0x1E5F0}, {0x2EBF0, 0x2EE5D},
};
static const range new_numbers[] = {
    {0x10D40, 0x10D49}, {0x116D0, 0x116E3}, {0x11BF0, 0x11BF9}, {0x16130, 0x16139},
    {0x16D70, 0x16D79}, {0x1CCF0, 0x1CCF9}, {0x1E5F1, 0x1E5FA},
};

static bool within(const range *r, size_t n, uint32_t cp) {
    for (size_t i = 0; i < n; i++) {
        if (cp >= r[i].first && cp <= r[i].last) return true;
    }
    return false;
}

static asc_char_class unassigned(uint32_t cp) {
    if (within(new_letters, sizeof new_letters / sizeof *new_letters, cp)) return ASC_CHAR_LETTER;
    if (within(new_numbers, sizeof new_numbers / sizeof *new_numbers, cp)) return ASC_CHAR_NUMBER;
    return ASC_CHAR_OTHER;
}

asc_char_class asc_char_classify(uint32_t cp) {
    if (cp < 0x80) {
        if ((cp | 0x20) >= 'a' && (cp | 0x20) <= 'z') return ASC_CHAR_LETTER;
        if (cp >= '0' && cp <= '9') return ASC_CHAR_NUMBER;
        return cp == ' ' || (cp >= 0x09 && cp <= 0x0D) ? ASC_CHAR_SPACE : ASC_CHAR_OTHER;
    }
    switch (utf8proc_category((utf8proc_int32_t)cp)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
        return ASC_CHAR_LETTER;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
        return ASC_CHAR_NUMBER;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return ASC_CHAR_SPACE;
    case UTF8PROC_CATEGORY_CN:
        return unassigned(cp);
    default:
        return cp == 0x85 ? ASC_CHAR_SPACE : ASC_CHAR_OTHER; /* NEL is a control character and white space */
    }
}
