/* serve_queue.c - waiting jobs: in turn over clients, first come first served within one; and what jobs of a
 * kind took so far, by which predictions are corrected.
 */
#include "server.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static queue_client *find(const job_queue *q, uint64_t client) {
    queue_client *c = q->ring;
    if (c == NULL) return NULL;
    do {
        if (c->client == client) return c;
        c = c->next;
    } while (c != q->ring);
    return NULL;
}

bool queue_put(job_queue *q, job *j) {
    queue_client *c = find(q, j->client);
    if (c == NULL) {
        c = calloc(1, sizeof *c);
        if (c == NULL) return false;
        c->client = j->client;
        c->next = q->ring != NULL ? q->ring->next : c;
        if (q->ring != NULL) q->ring->next = c;
        q->ring = c; /* the last to be served */
    }
    j->next = NULL;
    if (c->tail != NULL)
        c->tail->next = j;
    else
        c->head = j;
    c->tail = j;
    c->n++;
    q->n++;
    return true;
}

static void drop_client(job_queue *q, queue_client *c) {
    queue_client *before = c;
    while (before->next != c) before = before->next;
    before->next = c->next;
    if (q->ring == c) q->ring = before != c ? before : NULL;
    free(c);
}

bool queue_remove(job_queue *q, job *j) {
    queue_client *c = find(q, j->client);
    job *before = NULL, *at = c != NULL ? c->head : NULL;
    for (; at != NULL && at != j; at = at->next) before = at;
    if (at == NULL) return false;
    *(before != NULL ? &before->next : &c->head) = j->next;
    if (c->tail == j) c->tail = before;
    j->next = NULL;
    c->n--;
    q->n--;
    if (c->head == NULL) drop_client(q, c);
    return true;
}

job *queue_take(job_queue *q) {
    if (q->ring == NULL) return NULL;
    queue_client *c = q->ring->next;
    job *j = c->head;
    q->ring = c;
    queue_remove(q, j);
    return j;
}

size_t queue_of(const job_queue *q, uint64_t client) {
    const queue_client *c = find(q, client);
    return c != NULL ? c->n : 0;
}

double queue_seconds(const job_queue *q, uint64_t client) {
    const queue_client *c = q->ring;
    double sum = 0;
    if (c == NULL) return 0;
    do {
        for (const job *j = c->head; j != NULL && (client == 0 || c->client == client); j = j->next)
            sum += j->expected;
        c = c->next;
    } while (c != q->ring);
    return sum;
}

size_t queue_place(const job_queue *q, const job *j) {
    const queue_client *own = find(q, j->client), *c;
    size_t rank = 0, before = 0;
    bool earlier = true;
    if (own == NULL) return 0;
    for (const job *k = own->head; k != NULL && k != j; k = k->next) rank++;
    before = rank;
    c = q->ring;
    do { /* of those whose turn comes before ours, one job more */
        c = c->next;
        if (c == own)
            earlier = false;
        else
            before += c->n < rank + earlier ? c->n : rank + earlier;
    } while (c != q->ring);
    return before;
}

static kind_past *past_of(job_queue *q, const char *name) {
    for (size_t i = 0; i < q->n_past; i++)
        if (strcmp(q->past[i].name, name) == 0) return &q->past[i];
    if (q->n_past == SERVE_MAX_KINDS) return NULL;
    q->past[q->n_past] = (kind_past){.name = name, .seconds = 1, .ratio = 1};
    return &q->past[q->n_past++];
}

double queue_expect(job_queue *q, const job_kind *k, double predicted) {
    const kind_past *p = past_of(q, k->name);
    if (p == NULL) return predicted > 0 ? predicted : 1;
    return predicted > 0 ? predicted * p->ratio : p->seconds;
}

void queue_learn(job_queue *q, const job *j) {
    kind_past *p = past_of(q, j->kind->name);
    double took = j->ended - j->started, weight;
    if (p == NULL || j->stop != STOP_NONE || took < 0) return;
    weight = p->n < 8 ? 1.0 / (double)(p->n + 1) : 0.125;
    p->n++;
    p->seconds += weight * (took - p->seconds);
    if (j->price.seconds > 0) p->ratio += weight * (fmin(fmax(took / j->price.seconds, 0.05), 20) - p->ratio);
}
