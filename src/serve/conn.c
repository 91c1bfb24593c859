/* conn.c - connections: who they are, and the thread that ends those that are gone or too slow.
 *
 * The HTTP library ends connections that send nothing at all. What it does not see is here: clients that send
 * a byte now and then (slow loris) or read one, and clients that leave while their connection waits for a
 * job. A client that closes its sending side while its job waits or runs counts as gone: whether it still
 * reads cannot be told without sending something.
 */
#include "server.h"
#include <arpa/inet.h>
#include <linux/tcp.h> /* the C library's own knows fewer fields */
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static const double TICK_BUSY = 0.05, TICK_IDLE = 0.25, CROWDED_SECONDS = 2;
static const double BODY_RATE =
    16384; /* bytes a second below which a body, or the reading of a reply, is too slow */

static void name_client(conn *c, const struct sockaddr *a) {
    memcpy(c->address, "?", 2);
    if (a == NULL) return;
    if (a->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)a;
        inet_ntop(AF_INET, &v4->sin_addr, c->address, sizeof c->address);
        c->client = 1 + (uint64_t)ntohl(v4->sin_addr.s_addr);
    } else if (a->sa_family == AF_INET6) { /* a /64 is one household */
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)a;
        const uint8_t *b = v6->sin6_addr.s6_addr;
        inet_ntop(AF_INET6, &v6->sin6_addr, c->address, sizeof c->address);
        for (int i = 0; i < 8; i++)
            c->client = c->client << 8 | b[IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr) ? 8 + i : i];
    }
}

void conn_notify(void *cls, struct MHD_Connection *m, void **slot, enum MHD_ConnectionNotificationCode code) {
    server *s = cls;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *fd = MHD_get_connection_info(m, MHD_CONNECTION_INFO_CONNECTION_FD),
                                       *who = MHD_get_connection_info(m, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
        conn *c = calloc(1, sizeof *c);
        *slot = c;
        if (c == NULL) return;
        c->fd = fd != NULL ? fd->connect_fd : -1;
        c->since = serve_now();
        name_client(c, who != NULL ? who->client_addr : NULL);
        pthread_mutex_lock(&s->lock);
        c->next = s->conns;
        if (c->next != NULL) c->next->prev = c;
        s->conns = c;
        s->n_conns++;
        pthread_cond_signal(&s->tick);
        pthread_mutex_unlock(&s->lock);
        return;
    }
    conn *c = *slot;
    if (c == NULL) return;
    *slot = NULL;
    pthread_mutex_lock(&s->lock); /* the descriptor is closed after this, so nobody polls another's */
    if (c->next != NULL) c->next->prev = c->prev;
    *(c->prev != NULL ? &c->prev->next : &s->conns) = c->next;
    s->n_conns--;
    pthread_mutex_unlock(&s->lock);
    free(c);
}

/* How long this connection may go on as it does. */
static double deadline(const server *s, const conn *c) {
    const double patience = s->o.idle_seconds;
    if (c->phase == CONN_BODY) return c->since + 2 * patience + (double)c->received / BODY_RATE;
    bool crowded = 4 * s->n_conns > 3 * s->o.max_clients;
    /* One that was idle for `patience` is ended by the library, so a request that begins late still has as
     * long to arrive. */
    return c->since + (crowded && CROWDED_SECONDS < patience ? CROWDED_SECONDS : 2 * patience);
}

bool conn_has_left(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLRDHUP};
    return fd >= 0 && poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/* Bytes that the other side has taken so far; 0: the system does not say. */
static uint64_t bytes_read(int fd) {
    struct tcp_info t = {0};
    socklen_t n = sizeof t;
    if (fd < 0 || getsockopt(fd, IPPROTO_TCP, TCP_INFO, &t, &n) != 0) return 0;
    return n >= offsetof(struct tcp_info, tcpi_bytes_acked) + sizeof t.tcpi_bytes_acked ? t.tcpi_bytes_acked
                                                                                        : 0;
}

/* A reply that is all there waits in memory for its reader; while a job still writes, the job waits
 * (serve_job.c). */
static bool reads_too_slowly(const server *s, conn *c, double now) {
    const uint64_t read = bytes_read(c->fd);
    if (c->reading == 0) {
        c->reading = now;
        c->read_at = read;
    }
    return now > c->reading + 2 * s->o.idle_seconds + (double)(read - c->read_at) / BODY_RATE;
}

static void look_at(server *s, conn *c, double now) {
    job *j = c->x != NULL ? c->x->job : NULL;
    if (j != NULL && j->state != JOB_ENDED && j->stop == STOP_NONE && conn_has_left(c->fd)) {
        job_stop_now(j, STOP_GONE);
        return;
    }
    if (c->ended) return;
    if (c->phase == CONN_REPLY) {
        const bool whole = c->sending && (j == NULL || j->state == JOB_ENDED);
        if (!whole || !reads_too_slowly(s, c, now)) return;
    } else if (now < deadline(s, c)) {
        return;
    }
    c->ended = true;
    shutdown(c->fd, SHUT_RDWR); /* the library sees its end and cleans up */
}

void *conn_watch(void *cls) {
    server *s = cls;
    pthread_mutex_lock(&s->lock);
    while (!s->closing) {
        double now = serve_now();
        for (conn *c = s->conns; c != NULL; c = c->next) look_at(s, c, now);
        job *j = s->running;
        if (j != NULL && j->stop == STOP_NONE && now - j->started > s->o.max_seconds)
            job_stop_now(j, STOP_TIME);
        if (s->bench_since > 0 && !s->bench_stopped && now - s->bench_since > SERVE_BENCH_SECONDS) {
            s->bench_stopped = true;
            asc_cancel(s->bench.ctx);
        }
        if (s->dead != NULL) {
            pthread_mutex_unlock(&s->lock);
            job_bury(s);
            pthread_mutex_lock(&s->lock);
            continue;
        }
        if (s->conns == NULL && s->running == NULL)
            pthread_cond_wait(&s->tick, &s->lock);
        else
            serve_wait(&s->tick, &s->lock, s->running != NULL || s->queue.n > 0 ? TICK_BUSY : TICK_IDLE);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}
