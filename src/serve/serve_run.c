/* serve_run.c - the server as a program: says where it is, waits for a signal, ends in good order. */
#include "server.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

/* How long clients get to read what they asked for after the last job is done. */
static const double READ_OUT_SECONDS = 5;

static int next_signal(const sigset_t *set, double seconds) {
    struct timespec t = {.tv_sec = (time_t)seconds, .tv_nsec = (long)(seconds * 1e9) % 1000000000};
    int sig;
    do {
        sig = seconds > 0 ? sigtimedwait(set, NULL, &t) : sigwaitinfo(set, NULL);
    } while (sig < 0 && errno == EINTR);
    return sig;
}

static void end(server *s, const sigset_t *set) {
    size_t told = server_stop_jobs(s, false);
    pthread_mutex_lock(&s->lock);
    bool running = s->running != NULL;
    pthread_mutex_unlock(&s->lock);
    fprintf(stderr, "ascribe: ending: no new jobs, %zu waiting told so%s\n", told,
            running ? ", the running one ends first (a second signal cancels it)" : "");
    double until = 0;
    while (!server_is_idle(s, 0.05)) {
        pthread_mutex_lock(&s->lock);
        bool busy = s->running != NULL;
        pthread_mutex_unlock(&s->lock);
        if (!busy && until == 0) until = serve_now() + READ_OUT_SECONDS;
        if (!busy && serve_now() > until) break;
        if (next_signal(set, 0.02) > 0) {
            fputs("ascribe: cancelling the running job\n", stderr);
            server_stop_jobs(s, true);
        }
    }
}

int serve_run(const serve_options *o) {
    server *s = NULL;
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, &before); /* every thread that is made from here on inherits it */
    signal(SIGPIPE, SIG_IGN);                  /* a reader of the log that leaves ends nobody's job */
    int rc = server_start(o, (route_table){serve_routes, serve_n_routes}, &s);
    if (rc == 0) {
        printf("ascribe serves %s at %s\n", o->model_path, s->address);
        fflush(stdout);
        next_signal(&set, 0);
        end(s, &set);
        server_stop(s);
        fputs("ascribe: ended\n", stderr);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}
