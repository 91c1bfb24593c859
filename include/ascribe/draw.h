/* ascribe/draw.h - scores as drawings: pictures, SVG, lines for a terminal. Plain arrays in, nothing computed
 * but sums over channels.
 *
 * Guarantees: one diverging map, from blue (against) over white to orange (towards), whose halves stay apart
 * for all common kinds of colour blindness; every drawing states its scale and what was clipped. SVG is a
 * light sheet of its own: readable on light and dark pages, without style or script, every part reachable by
 * keyboard and labelled. Text of others is escaped. Scores that are not numbers are drawn grey.
 */
#ifndef ASCRIBE_DRAW_H
#define ASCRIBE_DRAW_H

#include "ascribe/image.h"
#include "ascribe/report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which colours scores get: +-limit and beyond the full ones. */
typedef struct asc_colour_scale {
    double limit;                   /* above 0, also when all scores are 0 */
    double low, high;               /* smallest and largest score */
    double percentile;              /* limit is this percentile of |score|; 100 = the largest */
    size_t n, n_clipped, n_unknown; /* scores; beyond the limit; not finite */
} asc_colour_scale;

/* percentile in (0, 100], 0 = 100; when that percentile of |score| is 0, the limit is the largest. */
ASC_API ASC_MUST_USE asc_status asc_colour_scale_of(asc_ctx *ctx, const double *scores, size_t n,
                                                    double percentile, asc_colour_scale *out);
/* One scale for both: the larger limit. */
ASC_API void asc_colour_scale_join(asc_colour_scale *into, const asc_colour_scale *other);
ASC_API void asc_colour_scale_rgb(const asc_colour_scale *s, double score, uint8_t rgb[3]);
/* "scores from -0.12 to 0.31; full colour from 0.25 on, the 99th percentile: 12 of 4096 scores are beyond" */
ASC_API void asc_colour_scale_caption(asc_text *out, const asc_colour_scale *s);

/* A map of scores; borrowed. */
typedef struct asc_heat {
    const double *scores; /* [rows][cols] */
    int64_t rows, cols;
    const char *label; /* "integrated-gradients"; NULL = none */
} asc_heat;

/* Scores of one picture, summed over channels: shape [H,W], [C,H,W] (nhwc: [H,W,C]) or with a 1 in front; C
 * of a [C,H,W] may be anything. *out [rows, cols] is freed by asc_array_free (float64). INVALID_ARGUMENT. */
ASC_API ASC_MUST_USE asc_status asc_heat_sum(asc_ctx *ctx, const double *scores, asc_shape shape, bool nhwc,
                                             asc_array *out);
/* The map over the picture (NULL = by itself), enlarged by whole factors to at least 224 pixels. */
ASC_API ASC_MUST_USE asc_status asc_draw_heat(asc_ctx *ctx, const asc_heat *heat,
                                              const asc_colour_scale *scale, const asc_image *picture,
                                              asc_image *out);
/* The picture (if any) and n maps side by side, labelled, with colour bar and caption, as one picture. */
ASC_API ASC_MUST_USE asc_status asc_draw_heat_grid(asc_ctx *ctx, const asc_heat *heats, size_t n,
                                                   const asc_colour_scale *scale, const asc_image *picture,
                                                   asc_image *out);
/* The same as SVG with embedded PNGs. title is read out: "Scores of the picture". */
ASC_API ASC_MUST_USE asc_status asc_draw_heat_svg(asc_ctx *ctx, asc_text *out, const char *title,
                                                  const asc_heat *heats, size_t n,
                                                  const asc_colour_scale *scale, const asc_image *picture);

/* Rows of a table; borrowed. */
typedef struct asc_bars {
    const double *scores;
    const double *errors;     /* NULL = unknown */
    const double *values;     /* of the features; NULL = not shown */
    const char *const *names; /* NULL = numbers */
    size_t n;
    size_t most; /* rows drawn, those with the largest scores; 0 = all, in order */
} asc_bars;
ASC_API ASC_MUST_USE asc_status asc_draw_bars_svg(asc_ctx *ctx, asc_text *out, const char *title,
                                                  const asc_bars *bars, const asc_colour_scale *scale);

/* Bytes with offsets; borrowed. */
typedef struct asc_byte_strip {
    const int32_t *bytes;   /* above 255 = padding, not drawn */
    const int64_t *offsets; /* in the file; NULL = 0, 1, 2, ... */
    const double *scores;
    size_t n;
} asc_byte_strip;
/* Hexadecimal and printable characters, 16 a row, as in hex dumps; at most 1,024 rows, the rest is told. */
ASC_API ASC_MUST_USE asc_status asc_draw_bytes_svg(asc_ctx *ctx, asc_text *out, const char *title,
                                                   const asc_byte_strip *strip,
                                                   const asc_colour_scale *scale);

/* A line over coloured ground: signal[n], one score each. Long ones are binned; the caption says how. */
ASC_API ASC_MUST_USE asc_status asc_draw_signal_svg(asc_ctx *ctx, asc_text *out, const char *title,
                                                    const double *signal, const double *scores, size_t n,
                                                    const asc_colour_scale *scale);

/* For a terminal: bars; a coarse map in half blocks, or sums of its parts as numbers when there are no
 * colours. */
ASC_API void asc_draw_bars_text(asc_text *out, const asc_bars *bars, const asc_colour_scale *scale,
                                const asc_report_style *style);
ASC_API void asc_draw_heat_text(asc_text *out, const asc_heat *heat, const asc_colour_scale *scale,
                                const asc_report_style *style);

#ifdef __cplusplus
}
#endif
#endif
