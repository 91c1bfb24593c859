/* listen.c - the address: found, checked, bound; and the names under which it is reached. */
#include "server.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 256, INPUT_ERROR = 3 };

static void describe(const struct addrinfo *a, guard_names *n) {
    getnameinfo(a->ai_addr, a->ai_addrlen, n->numeric, sizeof n->numeric, NULL, 0, NI_NUMERICHOST);
    if (a->ai_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)a->ai_addr;
        n->any_address = v4->sin_addr.s_addr == INADDR_ANY;
        n->loopback = (ntohl(v4->sin_addr.s_addr) >> 24) == 127;
    } else {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)a->ai_addr;
        n->any_address = IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr);
        n->loopback = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
    }
    if (gethostname(n->machine, sizeof n->machine - 1) != 0) n->machine[0] = '\0';
}

static int complain(const char *host, int port, const char *what, int error) {
    fprintf(stderr, "ascribe: cannot %s %s, port %d: %s\n", what, host, port, strerror(error));
    if (error == EADDRINUSE)
        fprintf(stderr, "  try: another --port (0 takes a free one), or end the program that has this one\n");
    else if (error == EACCES)
        fprintf(stderr, "  try: a --port from 1024 on\n");
    else if (error == EADDRNOTAVAIL)
        fprintf(stderr, "  try: an address of this machine (ip addr)\n");
    return INPUT_ERROR;
}

static int bound_port(int fd) {
    struct sockaddr_storage a;
    socklen_t n = sizeof a;
    if (getsockname(fd, (struct sockaddr *)&a, &n) != 0) return 0;
    return ntohs(a.ss_family == AF_INET ? ((struct sockaddr_in *)&a)->sin_port
                                        : ((struct sockaddr_in6 *)&a)->sin6_port);
}

int listen_open(const char *host, int port, guard_names *names, int *out_port, int *out_fd) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | AI_PASSIVE},
                    *list = NULL;
    char service[16];
    const int on = 1;
    *out_fd = -1;
    snprintf(service, sizeof service, "%d", port);
    int found = getaddrinfo(host, service, &hints, &list);
    if (found != 0) {
        fprintf(stderr, "ascribe: '%.200s' is no address of this machine: %s\n  try: --host 127.0.0.1\n",
                host, gai_strerror(found));
        return INPUT_ERROR;
    }
    const struct addrinfo *a = list;
    while (a != NULL && a->ai_family != AF_INET) a = a->ai_next; /* of several, what everybody can reach */
    if (a == NULL) a = list;
    describe(a, names);
    names->host = host;
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc = 0;
    if (fd < 0) {
        rc = complain(host, port, "open a socket for", errno);
    } else {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (bind(fd, a->ai_addr, a->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0)
            rc = complain(host, port, "listen at", errno);
    }
    freeaddrinfo(list);
    if (rc != 0) {
        if (fd >= 0) close(fd);
        return rc;
    }
    *out_port = bound_port(fd);
    *out_fd = fd;
    return 0;
}
