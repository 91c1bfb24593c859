/* exif.c - the orientation tag of an EXIF block, and nothing else of it. Damaged blocks have no orientation:
 * they say nothing about the pixels. */
#include "image.h"

enum { TAG_ORIENTATION = 0x0112, TYPE_SHORT = 3, ENTRY_BYTES = 12 };

static uint32_t number(const uint8_t *p, int bytes, bool big) {
    uint32_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint32_t)p[i] << (8 * (big ? bytes - 1 - i : i));
    return v;
}

int asc_exif_orientation(const uint8_t *data, size_t len) {
    if (len < 8 || data[0] != data[1] || (data[0] != 'I' && data[0] != 'M')) return 0;
    bool big = data[0] == 'M';
    size_t at = number(data + 4, 4, big);
    if (number(data + 2, 2, big) != 42 || at > len - 2) return 0;
    size_t n = number(data + at, 2, big);
    at += 2;
    for (size_t i = 0; i < n && len - at >= ENTRY_BYTES; i++, at += ENTRY_BYTES) {
        const uint8_t *e = data + at;
        if (number(e, 2, big) != TAG_ORIENTATION) continue;
        uint32_t v = number(e + 8, 2, big);
        bool fits = number(e + 2, 2, big) == TYPE_SHORT && number(e + 4, 4, big) == 1;
        return fits && v >= 1 && v <= 8 ? (int)v : 0;
    }
    return 0;
}
