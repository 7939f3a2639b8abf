/* faults.c - a library for LD_PRELOAD that makes the n-th allocation or system call of a program fail.
 *
 *   ASC_FAULTS=alloc|calls|power
 *                            what fails: allocations, system calls about files and mappings, or the power: before the
 *                            n-th call that writes, all that no fsync followed is lost (power.c), and the program ends
 *   ASC_FAULTS_AT=N          which one, from 1; 0: none, they are counted alone
 *   ASC_FAULTS_KIND=K        calls: EIO (default), ENOSPC, ENOMEM, EMFILE, EINTR (the call is as if interrupted, once),
 *                            or short (reads and writes move one byte)
 *   ASC_FAULTS_ON=1          all from the n-th on, as on a full disk
 *   ASC_FAULTS_OF=TEXT       only calls made by libraries with this in their name
 *   ASC_FAULTS_COUNT=FILE    at the end: how many there were, and how many allocations of OF's libraries are left
 *
 * A program may also arm it itself: asc_faults_arm(at) begins to count, asc_faults_disarm() returns the count. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "power.h"

#define SHOWN __attribute__((visibility("default")))
#define MOST_RANGES 16
#define LIVE (1u << 16)

static struct faults {
    int armed, allocations, calls, power, on, short_count, error;
    long at;
    atomic_long seen;
    const char *of;
    uintptr_t ranges[MOST_RANGES][2];
    int n_ranges;
    const char *failed; /* the call that failed first */
} faults;

static __thread int inside; /* what this library itself allocates doesn't count */
static _Atomic(void *) live[LIVE];

static int one_library(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    if (!info->dlpi_name || !strstr(info->dlpi_name, faults.of)) return 0;
    for (int i = 0; i < info->dlpi_phnum && faults.n_ranges < MOST_RANGES; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X)) continue;
        uintptr_t begin = info->dlpi_addr + p->p_vaddr;
        faults.ranges[faults.n_ranges][0] = begin;
        faults.ranges[faults.n_ranges++][1] = begin + p->p_memsz;
    }
    return 0;
}

static int is_of(const void *caller) {
    if (!faults.of) return 1;
    for (int i = 0; i < faults.n_ranges; i++)
        if ((uintptr_t)caller >= faults.ranges[i][0] && (uintptr_t)caller < faults.ranges[i][1]) return 1;
    return 0;
}

static void find_ranges(void) {
    if (!faults.of) return;
    inside++;
    faults.n_ranges = 0;
    dl_iterate_phdr(one_library, NULL);
    inside--;
}

/* Whether this call is the one that fails. */
static int fails(int wanted, const void *caller, const char *name) {
    if (!wanted || !faults.armed || inside || !is_of(caller)) return 0;
    long n = atomic_fetch_add(&faults.seen, 1) + 1;
    if (!faults.at) return 0;
    if (n == faults.at) faults.failed = name;
    return faults.on ? n >= faults.at : n == faults.at;
}

SHOWN void asc_faults_arm(long at);
SHOWN long asc_faults_disarm(void);
SHOWN long asc_faults_left(void);
SHOWN const char *asc_faults_failed(void);
SHOWN void asc_faults_power_off(void);

void asc_faults_arm(long at) {
    find_ranges();
    faults.at = at;
    atomic_store(&faults.seen, 0);
    if (faults.power) power_begin(at);
    faults.armed = 1;
}

long asc_faults_disarm(void) {
    faults.armed = 0;
    power_end();
    return atomic_load(&faults.seen);
}

/* The name of the function that failed first. */
const char *asc_faults_failed(void) {
    return faults.failed ? faults.failed : "";
}

/* Allocations by the libraries that are looked at which were not freed. */
long asc_faults_left(void) {
    long n = 0;
    for (unsigned i = 0; i < LIVE; i++) n += atomic_load(&live[i]) != NULL;
    return n;
}

void asc_faults_power_off(void) {
    power_off();
}

static int error_of(const char *kind) {
    static const struct {
        const char *name;
        int number;
    } KINDS[] = {{"EIO", EIO}, {"ENOSPC", ENOSPC}, {"ENOMEM", ENOMEM}, {"EMFILE", EMFILE}, {"EINTR", EINTR}};
    for (size_t i = 0; kind && i < sizeof KINDS / sizeof *KINDS; i++)
        if (strcmp(kind, KINDS[i].name) == 0) return KINDS[i].number;
    return EIO;
}

__attribute__((constructor)) static void begin(void) {
    const char *what = getenv("ASC_FAULTS"), *at = getenv("ASC_FAULTS_AT"), *kind = getenv("ASC_FAULTS_KIND");
    if (!what) return;
    faults.allocations = strcmp(what, "alloc") == 0;
    faults.calls = strcmp(what, "calls") == 0;
    faults.power = strcmp(what, "power") == 0;
    faults.of = getenv("ASC_FAULTS_OF");
    faults.on = getenv("ASC_FAULTS_ON") != NULL;
    faults.short_count = kind && strcmp(kind, "short") == 0;
    faults.error = error_of(kind);
    if (at) asc_faults_arm(atol(at));
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("ASC_FAULTS_COUNT");
    long n = asc_faults_disarm();
    char text[64];
    if (!path) return;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int length = snprintf(text, sizeof text, "%ld %ld\n", n, asc_faults_left());
    if (fd < 0 || syscall(SYS_write, fd, text, (size_t)length) < 0) _exit(99);
    (void)syscall(SYS_close, fd);
}

/* ---- allocations ------------------------------------------------------------------------------ */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t align, size_t size);
extern void __libc_free(void *at);

static unsigned place_of(const void *at) {
    return (unsigned)((uintptr_t)at >> 4) * 2654435761u >> 16;
}

static void *born(void *at, const void *caller) {
    if (!at || !faults.armed || inside || !is_of(caller)) return at;
    for (unsigned i = 0, p = place_of(at); i < 64; i++) {
        void *none = NULL;
        if (atomic_compare_exchange_strong(&live[(p + i) % LIVE], &none, at)) break;
    }
    return at;
}

static void died(void *at) {
    if (!at) return;
    for (unsigned i = 0, p = place_of(at); i < 64; i++) {
        void *this = at;
        if (atomic_compare_exchange_strong(&live[(p + i) % LIVE], &this, NULL)) break;
    }
}

#define CALLER __builtin_return_address(0)
#define NO_MEMORY_IF_IT_FAILS(nothing)                 \
    if (fails(faults.allocations, CALLER, __func__)) { \
        errno = ENOMEM;                                \
        return nothing;                                \
    }

SHOWN void *malloc(size_t size) {
    NO_MEMORY_IF_IT_FAILS(NULL)
    return born(__libc_malloc(size), CALLER);
}

SHOWN void *calloc(size_t n, size_t size) {
    NO_MEMORY_IF_IT_FAILS(NULL)
    return born(__libc_calloc(n, size), CALLER);
}

SHOWN void *realloc(void *old, size_t size) {
    NO_MEMORY_IF_IT_FAILS(NULL)
    died(old);
    return born(__libc_realloc(old, size), CALLER);
}

SHOWN void *aligned_alloc(size_t align, size_t size) {
    NO_MEMORY_IF_IT_FAILS(NULL)
    return born(__libc_memalign(align, size), CALLER);
}

SHOWN void *memalign(size_t align, size_t size) {
    NO_MEMORY_IF_IT_FAILS(NULL)
    return born(__libc_memalign(align, size), CALLER);
}

SHOWN int posix_memalign(void **out, size_t align, size_t size) {
    if (fails(faults.allocations, CALLER, __func__)) return ENOMEM;
    void *at = born(__libc_memalign(align, size), CALLER);
    if (at) *out = at;
    return at ? 0 : ENOMEM;
}

SHOWN void free(void *at) {
    died(at);
    __libc_free(at);
}

/* ---- system calls ----------------------------------------------------------------------------- */

enum { OTHER, OPENS, WRITES };

/* Whether a call of this class fails for that reason: only some ever give EMFILE and ENOSPC. */
static int can_fail(int class) {
    if (class == WRITES && fails(faults.power, NULL, "power")) power_off();
    if (!faults.calls || faults.short_count) return 0;
    return faults.error == EMFILE ? class == OPENS : faults.error == ENOSPC ? class == WRITES : 1;
}

#define FAIL_IF_IT_IS_ITS_TURN(class)               \
    if (fails(can_fail(class), CALLER, __func__)) { \
        errno = faults.error;                       \
        return -1;                                  \
    }

/* Without a file it is an allocation, and fails for want of memory alone. */
SHOWN void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    if ((fd >= 0 && fails(can_fail(OTHER), CALLER, __func__)) || fails(faults.allocations, CALLER, __func__)) {
        errno = faults.allocations ? ENOMEM : faults.error == EINTR ? EAGAIN : faults.error;
        return MAP_FAILED;
    }
    if (protection & PROT_WRITE && flags & MAP_SHARED) power_written(fd);
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

SHOWN void *mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset)
    __attribute__((alias("mmap")));

SHOWN int mprotect(void *at, size_t size, int protection) {
    FAIL_IF_IT_IS_ITS_TURN(OTHER)
    return (int)syscall(SYS_mprotect, at, size, protection);
}

static int class_of_open(int flags) {
    return flags & (O_CREAT | O_TRUNC) && (faults.power || faults.error == ENOSPC) ? WRITES : OPENS;
}

static unsigned mode_of(int flags, va_list more) {
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, unsigned) : 0;
}

static int opened(int folder, const char *path, int flags, unsigned mode) {
    int noted = flags & O_CREAT ? (power_next_call(), power_name_before(folder, path)) : -1;
    int fd = (int)syscall(SYS_openat, folder, path, flags, mode), why = errno;
    power_name_after(noted, fd);
    power_opened(fd, flags);
    errno = why;
    return fd;
}

SHOWN int open(const char *path, int flags, ...) {
    FAIL_IF_IT_IS_ITS_TURN(class_of_open(flags))
    va_list more;
    va_start(more, flags);
    unsigned mode = mode_of(flags, more);
    va_end(more);
    return opened(AT_FDCWD, path, flags, mode);
}

SHOWN int open64(const char *path, int flags, ...) __attribute__((alias("open")));

SHOWN int openat(int folder, const char *path, int flags, ...) {
    FAIL_IF_IT_IS_ITS_TURN(class_of_open(flags))
    va_list more;
    va_start(more, flags);
    unsigned mode = mode_of(flags, more);
    va_end(more);
    return opened(folder, path, flags, mode);
}

SHOWN int openat64(int folder, const char *path, int flags, ...) __attribute__((alias("openat")));

static size_t short_of(size_t size, const void *caller) {
    return faults.short_count && size > 1 && fails(faults.calls, caller, "short") ? 1 : size;
}

SHOWN ssize_t read(int fd, void *to, size_t size) {
    FAIL_IF_IT_IS_ITS_TURN(OTHER)
    return syscall(SYS_read, fd, to, short_of(size, CALLER));
}

SHOWN ssize_t pread(int fd, void *to, size_t size, off_t at) {
    FAIL_IF_IT_IS_ITS_TURN(OTHER)
    return syscall(SYS_pread64, fd, to, short_of(size, CALLER), at);
}

SHOWN ssize_t pread64(int fd, void *to, size_t size, off_t at) __attribute__((alias("pread")));

SHOWN ssize_t write(int fd, const void *from, size_t size) {
    FAIL_IF_IT_IS_ITS_TURN(WRITES)
    power_written(fd);
    return syscall(SYS_write, fd, from, short_of(size, CALLER));
}

SHOWN ssize_t pwrite(int fd, const void *from, size_t size, off_t at) {
    FAIL_IF_IT_IS_ITS_TURN(WRITES)
    power_written(fd);
    return syscall(SYS_pwrite64, fd, from, short_of(size, CALLER), at);
}

SHOWN ssize_t pwrite64(int fd, const void *from, size_t size, off_t at) __attribute__((alias("pwrite")));

SHOWN ssize_t recv(int fd, void *to, size_t size, int flags) {
    FAIL_IF_IT_IS_ITS_TURN(OTHER)
    return syscall(SYS_recvfrom, fd, to, short_of(size, CALLER), flags, NULL, NULL);
}

SHOWN DIR *opendir(const char *path) {
    if (fails(can_fail(OPENS), CALLER, __func__)) {
        errno = faults.error;
        return NULL;
    }
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? NULL : fdopendir(fd);
}

SHOWN int close(int fd) { /* which closes, whatever it returns, as on Linux */
    int done = (int)syscall(SYS_close, fd);
    FAIL_IF_IT_IS_ITS_TURN(OTHER)
    return done;
}

#define CALL(class, name, declared, number, ...)  \
    SHOWN int name declared {                     \
        FAIL_IF_IT_IS_ITS_TURN(class)             \
        return (int)syscall(number, __VA_ARGS__); \
    }

#define NOTED_CALL(name, declared, note, number, ...) \
    SHOWN int name declared {                         \
        FAIL_IF_IT_IS_ITS_TURN(WRITES)                \
        note(fd);                                     \
        return (int)syscall(number, __VA_ARGS__);     \
    }

static int renamed(int f, const char *from, int t, const char *to) {
    power_next_call();
    int one = power_name_before(f, from), other = power_name_before(t, to);
    int done = (int)syscall(SYS_renameat, f, from, t, to), why = errno;
    power_name_after(one, done);
    power_name_after(other, done);
    power_name_moved(one, other);
    errno = why;
    return done;
}

SHOWN int rename(const char *from, const char *to) {
    FAIL_IF_IT_IS_ITS_TURN(WRITES)
    return renamed(AT_FDCWD, from, AT_FDCWD, to);
}

SHOWN int renameat(int f, const char *from, int t, const char *to) {
    FAIL_IF_IT_IS_ITS_TURN(WRITES)
    return renamed(f, from, t, to);
}

#define NAMING_CALL(class, name, declared, folder_of_it, number, ...) \
    SHOWN int name declared {                                         \
        FAIL_IF_IT_IS_ITS_TURN(class)                                 \
        power_next_call();                                            \
        int noted = power_name_before(folder_of_it, path);            \
        int done = (int)syscall(number, __VA_ARGS__), why = errno;    \
        power_name_after(noted, done);                                \
        errno = why;                                                  \
        return done;                                                  \
    }

NOTED_CALL(fsync, (int fd), power_synced, SYS_fsync, fd)
NOTED_CALL(fdatasync, (int fd), power_synced, SYS_fdatasync, fd)
NOTED_CALL(ftruncate, (int fd, off_t size), power_written, SYS_ftruncate, fd, size)
NOTED_CALL(ftruncate64, (int fd, off_t size), power_written, SYS_ftruncate, fd, size)
NAMING_CALL(OTHER, unlink, (const char *path), AT_FDCWD, SYS_unlink, path)
NAMING_CALL(OTHER, unlinkat, (int folder, const char *path, int flags), folder, SYS_unlinkat, folder, path, flags)
NAMING_CALL(WRITES, mkdir, (const char *path, mode_t mode), AT_FDCWD, SYS_mkdir, path, mode)
NAMING_CALL(OTHER, rmdir, (const char *path), AT_FDCWD, SYS_rmdir, path)
NAMING_CALL(WRITES, symlink, (const char *to, const char *path), AT_FDCWD, SYS_symlink, to, path)
CALL(OTHER, fchmod, (int fd, mode_t mode), SYS_fchmod, fd, mode)
CALL(OTHER, flock, (int fd, int how), SYS_flock, fd, how)
CALL(OTHER, fstat, (int fd, struct stat *out), SYS_fstat, fd, out)
CALL(OTHER, fstat64, (int fd, struct stat64 *out), SYS_fstat, fd, out)
CALL(OTHER, stat, (const char *path, struct stat *out), SYS_stat, path, out)
CALL(OTHER, stat64, (const char *path, struct stat64 *out), SYS_stat, path, out)
CALL(OTHER, lstat, (const char *path, struct stat *out), SYS_lstat, path, out)
CALL(OTHER, lstat64, (const char *path, struct stat64 *out), SYS_lstat, path, out)
CALL(OPENS, memfd_create, (const char *name, unsigned flags), SYS_memfd_create, name, flags)
CALL(OPENS, dup, (int fd), SYS_dup, fd)
CALL(OPENS, socket, (int domain, int type, int protocol), SYS_socket, domain, type, protocol)
CALL(OPENS, accept4, (int fd, struct sockaddr *from, socklen_t *size, int flags), SYS_accept4, fd, from, size, flags)
CALL(OPENS, epoll_create1, (int flags), SYS_epoll_create1, flags)
CALL(OTHER, epoll_ctl, (int set, int what, int fd, struct epoll_event *event), SYS_epoll_ctl, set, what, fd, event)
CALL(OTHER, bind, (int fd, const struct sockaddr *to, socklen_t size), SYS_bind, fd, to, size)
CALL(OTHER, listen, (int fd, int backlog), SYS_listen, fd, backlog)
CALL(OTHER, setsockopt, (int fd, int level, int name, const void *value, socklen_t size), SYS_setsockopt, fd, level,
     name, value, size)
CALL(OTHER, getsockname, (int fd, struct sockaddr *to, socklen_t *size), SYS_getsockname, fd, to, size)
CALL(OPENS, pipe2, (int fds[2], int flags), SYS_pipe2, fds, flags)

SHOWN int fcntl(int fd, int command, ...) {
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) {
        FAIL_IF_IT_IS_ITS_TURN(OPENS)
    }
    va_list more;
    va_start(more, command);
    long argument = va_arg(more, long);
    va_end(more);
    return (int)syscall(SYS_fcntl, fd, command, argument);
}

SHOWN int fcntl64(int fd, int command, ...) __attribute__((alias("fcntl")));

SHOWN pid_t fork(void) {
    typedef pid_t create(void);
    static _Atomic(create *) real;
    if (fails(faults.calls && !faults.short_count && faults.error != EINTR, CALLER, __func__)) {
        errno = EAGAIN;
        return -1;
    }
    if (!real) {
        void *found = dlsym(RTLD_NEXT, "fork");
        memcpy((void *)&real, &found, sizeof found);
    }
    return real();
}

SHOWN int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                         void *argument) {
    typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    static _Atomic(create *) real;
    if (fails(faults.calls || faults.allocations, CALLER, __func__)) return EAGAIN;
    if (!real) {
        void *found = dlsym(RTLD_NEXT, "pthread_create");
        memcpy((void *)&real, &found, sizeof found);
    }
    return real(thread, attributes, function, argument);
}
