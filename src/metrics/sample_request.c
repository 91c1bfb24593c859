/* sample_request.c - what is asked of a small net, method by method. Path methods run with a fixed rule: the
 * adaptive one chooses its points by errors that it measures, and would be compared with itself at other
 * points.
 */
#include "sample_nets.h"
#include <string.h>

enum { STEPS = 16, SAMPLES = 64 };

/* Does the method make sense there? Guided Grad-CAM enlarges maps, so its site must have places. */
bool asc_sample_applies(const asc_method *m, const asc_sample_net *s, bool at_site) {
    if (m->attribute == NULL) return false;
    if (strcmp(m->info.name, "guided-grad-cam") == 0) return at_site && strcmp(s->name, "cnn") == 0;
    if (!at_site) return !m->needs_site;
    return m->needs_site || asc_method_reads(&m->info, "at") || (m->by_gradient && !m->needs_neuron);
}

asc_attr_request asc_sample_request(const asc_method *m, const asc_sample_net *s, bool at_site,
                                    asc_sample_parts *p) {
    asc_attr_request q = {.struct_size = sizeof q,
                          .method = m->info.name,
                          .inputs = &s->input,
                          .n_inputs = 1,
                          .rule = "gauss-legendre",
                          .steps = STEPS,
                          .samples = m->samples > 0 ? SAMPLES : 0,
                          .seed = 7};
    p->index[0] = 1;
    p->stdev = 0.1;
    q.target = (asc_target){.n_rows = 1, .rank = 1, .index = p->index};
    q.baselines = m->takes_rows && !at_site ? &s->rows : &s->baseline;
    q.n_baselines = 1;
    if (at_site) {
        q.at = &s->site;
        q.n_at = 1;
    }
    if (m->needs_neuron) {
        memcpy(p->unit, s->unit, sizeof s->unit);
        q.neuron = (asc_target){.value = s->site, .n_rows = 1, .rank = s->unit_rank, .index = p->unit};
    }
    if (m->samples > 0 && m->by_gradient) {
        q.stdevs = &p->stdev;
        q.n_stdevs = 1;
    }
    if (m->takes_integers &&
        asc_method_reads(&m->info, "masks")) { /* few features: all coalitions can be told apart */
        q.masks = at_site ? &s->site_mask : &s->mask;
        q.n_masks = 1;
    }
    if (strcmp(m->info.name, "noise-tunnel") == 0) q.base = "input-x-gradient";
    if (strcmp(m->info.name, "occlusion") == 0) {
        q.window = s->window;
        q.n_window = s->n_window;
    }
    return q;
}
