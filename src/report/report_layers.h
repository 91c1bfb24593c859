/* report_layers.h - a result's rows of scores for sites of layers (asc_result.inner), in every report. Each
 * writes nothing when there are none. */
#ifndef ASC_REPORT_LAYERS_H
#define ASC_REPORT_LAYERS_H

#include "report_parts.h"

/* A table: sites, totals, and as many of the strongest features as fit the columns. */
void asc_put_layers_text(asc_text *t, const asc_report *rep, size_t columns);
/* "layers": [{site, layer, head, total, error, scores}]. */
void asc_put_layers_json(asc_text *t, const asc_result *r);
/* A section with a coloured table of all features. */
void asc_put_layers_html(asc_text *t, const asc_report *rep);

#endif
