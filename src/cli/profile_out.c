/* profile_out.c - --profile DIR: records what a command does and writes it when the command ends, also when
 * it failed. */
#include "cli.h"
#include "ascribe/profile.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int cli_profile_folder(cli *c) {
    const char *folder = c->value[OPT_PROFILE];
    struct stat s;
    if (folder == NULL) return EXIT_DONE;
    if (folder[0] == '\0') return cli_usage("--profile needs the name of a folder");
    if (mkdir(folder, 0777) != 0 && (errno != EEXIST || stat(folder, &s) != 0 || !S_ISDIR(s.st_mode))) {
        fprintf(stderr, "ascribe: cannot make the folder '%s': %s\n  try: a folder that you may write to\n",
                folder, errno == EEXIST ? "a file of that name is there" : strerror(errno));
        return EXIT_INPUT;
    }
    return EXIT_DONE;
}

int cli_profile_begin(cli *c) {
    const int rc = cli_profile_folder(c);
    if (rc != EXIT_DONE || c->value[OPT_PROFILE] == NULL) return rc;
    asc_status st = asc_profile_start(c->ctx, NULL);
    return st == ASC_OK ? EXIT_DONE : cli_error(c, st);
}

int cli_profile_end(cli *c, int rc) {
    if (c->value[OPT_PROFILE] == NULL || c->ctx == NULL || asc_profile_summary_of(c->ctx).events == 0)
        return rc;
    asc_profile_stop(c->ctx);
    cli_clear_progress();
    asc_status st = asc_profile_write(c->ctx, c->value[OPT_PROFILE]);
    if (st == ASC_OK) return rc;
    const int own = cli_error(c, st);
    return rc != EXIT_DONE ? rc : own;
}
