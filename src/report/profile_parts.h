/* profile_parts.h - what the forms of a profile share: events in the order of their starts, and sums. */
#ifndef ASC_PROFILE_PARTS_H
#define ASC_PROFILE_PARTS_H

#include "ascribe/profile.h"
#include "profile.h"
#include "text_parts.h"

/* Events by rising start, a surrounding one before what it holds; depth[i] counts what surrounds event i. */
typedef struct asc_prof_order {
    const asc_prof_event **events;
    int *depth;
    size_t n;
    int max_depth;
} asc_prof_order;
ASC_MUST_USE asc_status asc_prof_order_make(asc_ctx *ctx, const asc_prof *p, asc_prof_order *out);
void asc_prof_order_free(asc_ctx *ctx, asc_prof_order *o);

/* Events with the same key, summed. */
typedef struct asc_prof_sum {
    char name[96];
    uint64_t calls, ns, thread_ns;
    double flops, bytes;
} asc_prof_sum;
typedef struct asc_prof_sums {
    asc_prof_sum *rows; /* by falling time */
    size_t n, cap;
    uint64_t ns; /* of all rows */
} asc_prof_sums;

typedef enum asc_prof_key {
    ASC_PROF_BY_OP,     /* name of the op or fused region */
    ASC_PROF_BY_PLACE,  /* label, with numbers as *: "blocks.*.mlp" */
    ASC_PROF_BY_LABEL,  /* label */
    ASC_PROF_BY_STACK,  /* stack of labels around it, without numbers */
    ASC_PROF_BY_RUNTIME /* what is no kernel: cuts by reason, compiles, passes, plans, copies */
} asc_prof_key;
ASC_MUST_USE asc_status asc_prof_sums_make(asc_ctx *ctx, const asc_prof *p, asc_prof_key key,
                                           asc_prof_sums *out);
void asc_prof_sums_free(asc_ctx *ctx, asc_prof_sums *s);

/* "integrated-gradients / step 8" into out, cut where it does not fit. */
void asc_prof_stack_text(const asc_prof *p, uint32_t frame, bool numbers, char *out, size_t size);
/* "step 8": an event's own name. */
void asc_prof_event_name(const asc_prof *p, const asc_prof_event *e, char *out, size_t size);

/* The timeline as an SVG drawing; two of them: all of it, and the longest cut. */
void asc_put_timeline(asc_text *t, const asc_prof *p, const asc_prof_order *o, uint64_t from, uint64_t to,
                      const char *what);
/* Sections of a page: duty, timelines, tables, memory. Nothing when nothing was recorded. */
void asc_put_profile_sections(asc_ctx *ctx, asc_text *t);
extern const char asc_profile_style[];

#endif
