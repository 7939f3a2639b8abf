/* missing.c - preloaded into a program: the files that it would read and that aren't there, a line each in the file
 * $ACL_MISSING. Those named from the program's folder, and those below $ACL_ROOT. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int real_open(const char *path, int flags, mode_t mode) {
    static int (*real)(const char *, int, ...);
    if (!real) real = REAL(open);
    return real(path, flags, mode);
}

static void note(const char *path) {
    const char *file = getenv("ACL_MISSING"), *root = getenv("ACL_ROOT");
    int code = errno;
    if (code != ENOENT || !file || !path) return;
    if (path[0] == '/' && (!root || strncmp(path, root, strlen(root)) != 0)) return;
    int out = real_open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (out >= 0) {
        dprintf(out, "%s\n", path);
        close(out);
    }
    errno = code;
}

FILE *fopen(const char *path, const char *mode) {
    FILE *made = REAL(fopen)(path, mode);
    if (!made && mode[0] == 'r') note(path);
    return made;
}

FILE *fopen64(const char *path, const char *mode) {
    FILE *made = REAL(fopen64)(path, mode);
    if (!made && mode[0] == 'r') note(path);
    return made;
}

static int opened(const char *path, int flags, mode_t mode) {
    int made = real_open(path, flags, mode);
    if (made < 0 && (flags & O_ACCMODE) == O_RDONLY) note(path);
    return made;
}

#define MODE(flags, mode)                      \
    mode_t mode = 0;                           \
    if (flags & O_CREAT) {                     \
        va_list rest;                          \
        va_start(rest, flags);                 \
        mode = (mode_t)va_arg(rest, unsigned); \
        va_end(rest);                          \
    }

int open(const char *path, int flags, ...) {
    MODE(flags, mode)
    return opened(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    MODE(flags, mode)
    return opened(path, flags, mode);
}

int stat(const char *restrict path, struct stat *restrict found) {
    int code = REAL(stat)(path, found);
    if (code) note(path);
    return code;
}
