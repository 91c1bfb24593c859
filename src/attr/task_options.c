/* task_options.c - numbers of a request that mean nothing. */
#include "task_parts.h"
#include <math.h>

asc_status asc_task_check_numbers(asc_task *t) {
    const asc_attr_request *q = t->req;
    const struct {
        const char *name;
        double value;
        bool negative_ok;
    } numbers[] = {{"tolerance", q->tolerance, false}, {"kernel_width", q->kernel_width, false},
                   {"penalty", q->penalty, false},     {"epsilon", q->epsilon, false},
                   {"radius", q->radius, false},       {"step_size", q->step_size, true}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (!isfinite(numbers[i].value) || (!numbers[i].negative_ok && numbers[i].value < 0.0))
            return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "%s is %g; it must be a finite number from 0",
                            numbers[i].name, numbers[i].value);
    }
    for (size_t i = 0; i < q->n_stdevs; i++) {
        if (!isfinite(q->stdevs[i]) || q->stdevs[i] < 0.0)
            return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT,
                            "stdevs[%zu] is %g; it must be a finite number from 0", i, q->stdevs[i]);
    }
    for (size_t i = 0; i < q->n_window; i++) {
        if (q->window[i] < 1 || (q->stride != NULL && q->stride[i] < 1))
            return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "entry %zu of window and stride must be at least 1",
                            i);
    }
    return ASC_OK;
}
