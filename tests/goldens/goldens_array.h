/* goldens_array.h - arrays as the third-party files write them, and Captum's class names as requests. */
#ifndef ASC_GOLDENS_ARRAY_H
#define ASC_GOLDENS_ARRAY_H

#include "ascribe/attribute.h"
#include "goldens.h"

/* {"dtype", "shape", "b64"} or {"shape", "dtype", "data": [...]} with numbers. Image planes of bytes with
 * "map" become float32. data is malloc-ed (NULL when j is no array); free with golden_array_free. */
typedef struct golden_array {
    asc_array a;
    void *data;
} golden_array;
bool golden_array_read(const asc_json *j, golden_array *out);
void golden_array_free(golden_array *g);

/* One of Captum's classes and how it is asked for here. */
typedef struct golden_class {
    const char *captum, *method;
    const char *norm, *rule; /* NULL = not set */
    bool layer, neuron;      /* attributes to a site; explains a site's unit */
    bool stochastic;
} golden_class;
const golden_class *golden_class_find(asc_view captum); /* NULL = unknown */

/* goldens_asked.c: asks the request as a question too; its bits must be those of r. */
void goldens_asked(goldens *g, asc_net *net, const asc_attr_request *q, const asc_attribution *r,
                   const char *what);

#endif
