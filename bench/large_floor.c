// The lower bound for large messages over stdio: reads a line, copies it once to memory of its own, and writes it. Buffers are kept, pipes
// are enlarged.
#define _GNU_SOURCE  // memrchr, F_SETPIPE_SZ
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { capacity = 64 << 20, block = 256 << 10 };

int main(void) {
    char* const line = malloc(capacity);
    char* const copy = malloc(capacity);
    if (!line || !copy) return 1;
    fcntl(STDIN_FILENO, F_SETPIPE_SZ, block);
    fcntl(STDOUT_FILENO, F_SETPIPE_SZ, block);
    for (size_t held = 0;;) {
        const ssize_t got = read(STDIN_FILENO, line + held, block);
        if (got <= 0) return got == 0 ? 0 : 1;
        const int complete = memrchr(line + held, '\n', (size_t)got) != NULL;
        held += (size_t)got;
        if (held > capacity - block) return 2;
        if (!complete) continue;
        memcpy(copy, line, held);
        for (size_t done = 0; done < held;) {
            const ssize_t n = write(STDOUT_FILENO, copy + done, held - done);
            if (n < 0) return 1;
            done += (size_t)n;
        }
        held = 0;
    }
}
