/* lab.h - CIELAB, in which distances between colours are about what eyes see. */
#ifndef ASC_LAB_H
#define ASC_LAB_H

#include <stdint.h>

/* sRGB bytes to L (0-100), a and b, white point D65 (IEC 61966-2-1, CIE 15). */
void asc_lab_of(const uint8_t rgb[3], float lab[3]);

#endif
