// The lower bound for HTTP: the cost of the sockets alone. One thread waits with epoll, reads, and writes a constant
// response for each complete request. Of a request it parses only the end of the head and the length of the body.
//
//     bench-http_floor [BODY_BYTES]
#define _GNU_SOURCE  // accept4, memmem
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { capacity = 16384, events_at_once = 64 };

struct connection {
    int fd;
    size_t held;  // bytes of incomplete requests
    char bytes[capacity];
};

static char answer[capacity];
static size_t answer_size;

static void make_answer(size_t body) {
    const int head = snprintf(answer, sizeof answer,
                              "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n", body);
    if (body < 2 || (size_t)head + body > sizeof answer) {
        fprintf(stderr, "http_floor: invalid body size %zu\n", body);
        exit(2);
    }
    answer_size = (size_t)head + body;
    memset(answer + head, 'x', body);
    answer[head] = answer[answer_size - 1] = '"';
}

// The size of the first request in the held bytes; 0 if it is incomplete.
static size_t first_request(const char* bytes, size_t size) {
    const char* end = memmem(bytes, size, "\r\n\r\n", 4);
    if (!end) return 0;
    const size_t head = (size_t)(end - bytes) + 4;
    static const char name[] = "\r\nContent-Length: ";
    const char* length = memmem(bytes, head, name, sizeof name - 1);
    const size_t whole = head + (length ? strtoul(length + sizeof name - 1, NULL, 10) : 0);
    return whole <= size ? whole : 0;
}

// Returns 0 if the connection continues.
static int serve(struct connection* c) {
    const ssize_t got = recv(c->fd, c->bytes + c->held, capacity - c->held, 0);
    if (got <= 0) return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
    c->held += (size_t)got;
    size_t done = 0;
    for (size_t one; (one = first_request(c->bytes + done, c->held - done)) > 0; done += one) {
        // The pending responses always fit into the socket buffer: a short write is an error here.
        if (send(c->fd, answer, answer_size, MSG_NOSIGNAL) != (ssize_t)answer_size) return -1;
    }
    c->held -= done;
    if (c->held == capacity) return -1;
    if (c->held > 0) memmove(c->bytes, c->bytes + done, c->held);
    return 0;
}

static int check(int result, const char* what) {
    if (result < 0) {
        perror(what);
        exit(1);
    }
    return result;
}

int main(int argc, char** argv) {
    make_answer(argc > 1 ? strtoul(argv[1], NULL, 10) : 128);

    const int listener = check(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket");
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof here;
    check(bind(listener, (struct sockaddr*)&here, size), "bind");
    check(listen(listener, 1024), "listen");
    check(getsockname(listener, (struct sockaddr*)&here, &size), "getsockname");
    const int waiting = check(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    struct epoll_event wanted = {.events = EPOLLIN, .data.ptr = NULL};
    check(epoll_ctl(waiting, EPOLL_CTL_ADD, listener, &wanted), "epoll_ctl");
    fprintf(stderr, "serving http://127.0.0.1:%d/mcp\n", ntohs(here.sin_port));

    for (;;) {
        struct epoll_event ready[events_at_once];
        const int count = epoll_wait(waiting, ready, events_at_once, -1);
        if (count < 0 && errno != EINTR) check(count, "epoll_wait");
        for (int i = 0; i < count; ++i) {
            struct connection* c = ready[i].data.ptr;
            if (c) {
                if (serve(c) != 0) {
                    close(c->fd);
                    free(c);
                }
                continue;
            }
            const int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (fd < 0) continue;
            const int on = 1;
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            c = malloc(sizeof *c);
            if (!c) abort();
            c->fd = fd;
            c->held = 0;
            struct epoll_event its = {.events = EPOLLIN, .data.ptr = c};
            check(epoll_ctl(waiting, EPOLL_CTL_ADD, fd, &its), "epoll_ctl");
        }
    }
}
