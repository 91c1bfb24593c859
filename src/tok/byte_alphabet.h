/* byte_alphabet.h - GPT-2's alphabet: each byte is written as one printable character. Bytes 21-7E, A1-AC and
 * AE-FF stand for themselves; the other 68, in ascending order, are U+0100, U+0101, ... (so a space is
 * U+0120). */
#ifndef ASC_BYTE_ALPHABET_H
#define ASC_BYTE_ALPHABET_H

#include "view.h"

typedef struct asc_byte_alphabet {
    int16_t byte_of[0x144]; /* code point -> byte, -1 = not in the alphabet */
} asc_byte_alphabet;

void asc_byte_alphabet_init(asc_byte_alphabet *a);
/* Decodes a piece to bytes; out has room for piece.len. Returns false (out is then undefined) when a
 * character is not in the alphabet. */
bool asc_byte_alphabet_decode(const asc_byte_alphabet *a, asc_view piece, char *out, size_t *out_len);

#endif
