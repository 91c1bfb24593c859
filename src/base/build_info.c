/* build_info.c - what this library was made with. Nothing here differs between two builds of one source by
 * one tool chain: no time, no host, no folder. */
#include "asc_build_facts.h"
#include "ascribe/env.h"

static const struct {
    const char *name, *value;
} facts[] = {{"compiler", ASC_FACT_COMPILER}, {"build", ASC_FACT_BUILD},   {"processor", ASC_FACT_CPU},
             {"kernels", ASC_FACT_KERNELS},   {"oneDNN", ASC_FACT_ONEDNN}, {"libraries", ASC_FACT_LIBRARIES}};

bool asc_build_fact(size_t i, const char **name, const char **value) {
    if (i >= sizeof facts / sizeof *facts) return false;
    *name = facts[i].name;
    *value = facts[i].value;
    return true;
}
