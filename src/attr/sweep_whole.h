/* sweep_whole.h - a sweep as one program, for models that are not walked layer by layer. */
#ifndef ASC_SWEEP_WHOLE_H
#define ASC_SWEEP_WHOLE_H

#include "sweep.h"

/* As asc_sweep_run, without its counting; s->want is 0. */
ASC_MUST_USE asc_status asc_sweep_whole(asc_sweep *s);
/* Its price for stand-ins of x, x0 and by (NULL where there is none). */
ASC_MUST_USE asc_status asc_sweep_whole_price(const asc_sweep *s, asc_tensor *const *leaves, asc_price *out);

#endif
