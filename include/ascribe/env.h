/* ascribe/env.h - what the library takes from outside: environment variables, and what it was made with.
 */
#ifndef ASCRIBE_ENV_H
#define ASCRIBE_ENV_H

#include "ascribe/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asc_env_info {
    const char *name;     /* "ASC_FREEZE" */
    const char *kind;     /* "flag", "text" */
    const char *fallback; /* what holds when it is not set */
    const char *help;     /* one line */
    const char
        *value; /* in this process's environment now; NULL = not set. Contexts read it when they are made */
} asc_env_info;

/* Variable i of the table; false behind the last one. The strings live as long as the process. */
ASC_API bool asc_env_at(size_t i, asc_env_info *out);

/* What the library was made with: fact i, as "compiler" "gcc 12.2.0, C17"; false when i is past the last. */
ASC_API bool asc_build_fact(size_t i, const char **name, const char **value);

#ifdef __cplusplus
}
#endif
#endif
