/* cmd_serve.c - ascribe serve: options into serve_options; the rest is src/serve. */
#include "cli.h"
#include "serve.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TOKEN = 4096, DEFAULT_PORT = 8080 };

/* The token is in a file because a command line can be read by everybody on the machine. */
static int read_token(const cli *c, char token[MAX_TOKEN]) {
    const char *path = c->value[OPT_TOKEN_FILE];
    FILE *f = fopen(path, "r");
    if (f == NULL || fgets(token, MAX_TOKEN, f) == NULL) {
        fprintf(stderr, "ascribe: cannot read a token from '%.300s': %s\n  try: openssl rand -hex 32 >FILE\n",
                path, f == NULL ? strerror(errno) : "it is empty");
        if (f != NULL) fclose(f);
        return EXIT_INPUT;
    }
    fclose(f);
    token[strcspn(token, "\r\n")] = '\0';
    return EXIT_DONE;
}

static int read_limits(const cli *c, serve_options *o) {
    size_t port;
    int rc = cli_size(c, OPT_PORT, DEFAULT_PORT, &port);
    if (rc == EXIT_DONE && port > 65535) rc = cli_usage("--port is from 0 to 65535");
    if (rc == EXIT_DONE) rc = cli_bytes(c, OPT_MAX_STORE, 0, &o->max_store_bytes);
    if (rc == EXIT_DONE) rc = cli_bytes(c, OPT_MAX_BODY, 0, &o->max_body_bytes);
    if (rc == EXIT_DONE) rc = cli_size(c, OPT_MAX_TOKENS, 0, &o->max_tokens);
    if (rc == EXIT_DONE) rc = cli_number(c, OPT_MAX_JOB_SECONDS, 0, &o->max_seconds);
    if (rc == EXIT_DONE) rc = cli_bytes(c, OPT_MAX_MEMORY, 0, &o->max_memory_bytes);
    if (rc == EXIT_DONE) rc = cli_size(c, OPT_MAX_QUEUE, 0, &o->max_queue);
    if (rc == EXIT_DONE) rc = cli_size(c, OPT_MAX_CLIENTS, 0, &o->max_clients);
    if (rc == EXIT_DONE) rc = cli_number(c, OPT_IDLE_SECONDS, 0, &o->idle_seconds);
    if (rc != EXIT_DONE) return rc;
    o->port = (int)port;
    if (o->max_clients > 10000) return cli_usage("--max-clients is at most 10000");
    if (o->max_queue > 10000) return cli_usage("--max-queue is at most 10000");
    if (o->max_body_bytes > (size_t)1 << 30) return cli_usage("--max-body is at most 1G");
    if (o->idle_seconds > 3600) return cli_usage("--idle-seconds is at most 3600");
    return EXIT_DONE;
}

int cmd_serve(cli *c) {
    char token[MAX_TOKEN] = "";
    cli_adapters a;
    size_t threads, seed;
    serve_options o = {.model_path = c->operand[0],
                       .host = c->value[OPT_HOST],
                       .allow_hosts = c->value[OPT_ALLOW_HOST],
                       .store = c->value[OPT_STORE],
                       .log_prompts = cli_has(c, OPT_LOG_PROMPTS),
                       .quiet = cli_has(c, OPT_QUIET),
                       .ctx = {.device = c->value[OPT_DEVICE],
                               .mode = c->value[OPT_MODE],
                               .isa = c->value[OPT_ISA],
                               .precision = c->value[OPT_PRECISION]}};
    int rc = read_limits(c, &o);
    if (rc == EXIT_DONE) rc = cli_size(c, OPT_THREADS, 0, &threads);
    if (rc == EXIT_DONE && (threads > 1024 || (threads == 0 && cli_has(c, OPT_THREADS))))
        rc = cli_usage("--threads is from 1 to 1024");
    if (rc == EXIT_DONE) rc = cli_size(c, OPT_SEED, 0, &seed);
    if (rc == EXIT_DONE) rc = cli_read_adapters(c, &a);
    if (rc == EXIT_DONE && cli_has(c, OPT_TOKEN_FILE)) rc = read_token(c, token);
    if (rc != EXIT_DONE) return rc;
    o.token = token[0] != '\0' ? token : NULL;
    o.ctx.n_threads = (int)threads;
    o.ctx.seed = seed;
    o.model = (asc_model_options){
        .struct_size = sizeof o.model, .weights = cli_weights(c), .adapters = a.v, .n_adapters = a.n};
    cli_watch_file(c->operand[0]);
    return serve_run(&o);
}
