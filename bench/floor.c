// The lower bound: the cost of the pipes alone. Reads all available input and writes complete lines back with one
// write. A server with the same number of system calls cannot be cheaper.
#define _GNU_SOURCE  // memrchr
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { capacity = 1 << 20 };

static char buffer[capacity];

static int write_all(const char* data, size_t size) {
    while (size > 0) {
        const ssize_t written = write(STDOUT_FILENO, data, size);
        if (written < 0) {
            if (errno == EINTR) continue;
            return -1;
        }
        data += written;
        size -= (size_t)written;
    }
    return 0;
}

int main(void) {
    size_t held = 0;  // bytes of an incomplete line
    for (;;) {
        if (held == capacity) return 2;
        const ssize_t got = read(STDIN_FILENO, buffer + held, capacity - held);
        if (got == 0) return 0;
        if (got < 0) {
            if (errno == EINTR) continue;
            return 1;
        }
        // Only the new bytes can contain a line end: the held bytes have none.
        const char* last = memrchr(buffer + held, '\n', (size_t)got);
        held += (size_t)got;
        if (!last) continue;
        const size_t complete = (size_t)(last - buffer) + 1;
        if (write_all(buffer, complete) != 0) return 1;
        held -= complete;
        memmove(buffer, buffer + complete, held);
    }
}
