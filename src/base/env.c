/* env.c - the table of environment variables; see env.h. */
#include "env.h"
#include <stdlib.h>
#include <string.h>

static const asc_env_info table[ASC_N_ENV] = {
#define ENV(id, name, kind, fallback, help) {name, #kind, fallback, help, NULL},
#include "env.def"
#undef ENV
};

const char *asc_env_text(asc_env_id id) {
    const char *s = getenv(table[id].name);
    return s != NULL && s[0] != '\0' ? s : table[id].fallback;
}

bool asc_env_flag(asc_env_id id) {
    static const char *const off[] = {"", "0", "no", "off", "false"};
    const char *s = asc_env_text(id);
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        if (strcmp(s, off[i]) == 0) return false;
    }
    return true;
}

bool asc_env_at(size_t i, asc_env_info *out) {
    if (i >= ASC_N_ENV) return false;
    *out = table[i];
    const char *s = getenv(table[i].name);
    out->value = s != NULL && s[0] != '\0' ? s : NULL;
    return true;
}
