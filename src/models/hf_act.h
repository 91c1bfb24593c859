/* hf_act.h - activations by the names of config files. */
#ifndef ASC_HF_ACT_H
#define ASC_HF_ACT_H

#include "hf_values.h"
#include "layers.h"

/* The activation that a key names; `fallback` is such a name, for an absent key. UNIMPLEMENTED names key and
 * value. */
ASC_MUST_USE asc_status asc_hf_read_act(const asc_hf_keys *k, const char *key, const char *fallback,
                                        asc_mlp_act *out);

#endif
