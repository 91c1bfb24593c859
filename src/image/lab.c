/* lab.c - sRGB to CIELAB. */
#include "lab.h"
#include <math.h>

static double linear(uint8_t byte) {
    double v = byte / 255.0;
    return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

/* Cube root with the straight piece near black. */
static double curve(double t) {
    const double d = 6.0 / 29.0;
    return t > d * d * d ? cbrt(t) : t / (3 * d * d) + 4.0 / 29.0;
}

void asc_lab_of(const uint8_t rgb[3], float lab[3]) {
    double r = linear(rgb[0]), g = linear(rgb[1]), b = linear(rgb[2]);
    double x = curve((0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047);
    double y = curve(0.2126729 * r + 0.7151522 * g + 0.0721750 * b);
    double z = curve((0.0193339 * r + 0.1191920 * g + 0.9503041 * b) / 1.08883);
    lab[0] = (float)(116 * y - 16);
    lab[1] = (float)(500 * (x - y));
    lab[2] = (float)(200 * (y - z));
}
