/* corrupted.h - the other prompt of the patching methods. */
#ifndef ASC_CORRUPTED_H
#define ASC_CORRUPTED_H

#include "method.h"

/* Its ids, as many as the prompt's, into j->other (the job's); the result's baseline names it. Errors:
 * INVALID_ARGUMENT (none was given, another number of tokens, the same prompt), UNIMPLEMENTED (conversations;
 * a conversation as the prompt). */
ASC_MUST_USE asc_status asc_job_corrupted(asc_job *j);

#endif
