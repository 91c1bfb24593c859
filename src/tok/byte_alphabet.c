/* byte_alphabet.c - see byte_alphabet.h. The table is published with GPT-2 (Radford et al. 2019). */
#include "byte_alphabet.h"

void asc_byte_alphabet_init(asc_byte_alphabet *a) {
    for (size_t i = 0; i < 0x144; i++) a->byte_of[i] = -1;
    int16_t next = 0x100;
    for (int16_t b = 0; b < 256; b++) {
        bool itself = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
        a->byte_of[itself ? b : next++] = b;
    }
}

bool asc_byte_alphabet_decode(const asc_byte_alphabet *a, asc_view piece, char *out, size_t *out_len) {
    size_t n = 0;
    for (size_t i = 0; i < piece.len;) {
        uint32_t cp;
        bool valid;
        i += asc_utf8_decode(piece.ptr + i, piece.len - i, &cp, &valid);
        if (!valid || cp >= 0x144 || a->byte_of[cp] < 0) return false;
        out[n++] = (char)a->byte_of[cp];
    }
    *out_len = n;
    return true;
}
