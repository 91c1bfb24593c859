/* env.h - the environment variables that the library reads, as one table (env.def). Read while a context is
 * made and at no other time, so that a context never changes its mind. */
#ifndef ASC_ENV_H
#define ASC_ENV_H

#include "ascribe/env.h"

typedef enum asc_env_id {
#define ENV(id, name, kind, fallback, help) ASC_ENV_##id,
#include "env.def"
#undef ENV
    ASC_N_ENV
} asc_env_id;

/* The variable's value, or its default when it is not set or empty. Lent by the environment. */
const char *asc_env_text(asc_env_id id);
bool asc_env_flag(asc_env_id id); /* anything but "", "0", "no", "off" and "false" is true */

#endif
