/* Mapped files that change or end under a session.
 *
 * Reading a page that its file no longer has, or that the file system can't bring, raises SIGBUS. A handler puts zeros
 * in the place of the pages that are gone, in mapped files of bundles only, and marks the mapping as lost; the
 * instruction goes on, and the run, which looks at the mark when it is over, ends in an error. Any other SIGBUS goes to
 * the handler that was there before. What is written into a file in place shows in its size or time. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle.h"

/* A signal handler has no argument of ours, hence globals. Guards are used again, never freed: a handler may be
 * looking at them. */
static _Atomic(asc_guard *) guards;
static struct sigaction before;
static uintptr_t page_bytes;
static pthread_once_t installed = PTHREAD_ONCE_INIT;
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;

static int replace(asc_guard *g, uintptr_t at) {
    uintptr_t end = atomic_load(&g->end), begin = atomic_load(&g->begin); /* in this order: begin is written first */
    if (at < begin || at >= end) return 0;
    uintptr_t page = at & ~(page_bytes - 1);
    atomic_store(&g->lost, 1);
    return mmap((void *)page, end - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

static void on_bus_error(int number, siginfo_t *info, void *context) {
    int saved = errno;
    for (asc_guard *g = info->si_code > 0 ? atomic_load(&guards) : NULL; g; g = g->next)
        if (replace(g, (uintptr_t)info->si_addr)) {
            errno = saved;
            return;
        }
    errno = saved;
    if (info->si_code <= 0 && before.sa_handler == SIG_IGN) return; /* sent by a program, and ignored as before */
    if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(number, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(number);
    } else {
        (void)signal(number, SIG_DFL); /* the instruction faults again, and the process ends where it is */
        if (info->si_code <= 0) raise(number);
    }
}

static void install(void) {
    struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
    ours.sa_sigaction = on_bus_error;
    sigemptyset(&ours.sa_mask);
    page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    (void)sigaction(SIGBUS, NULL, &before);
    (void)sigaction(SIGBUS, &ours, NULL);
}

static asc_guard *unused_guard(void) {
    for (asc_guard *g = atomic_load(&guards); g; g = g->next)
        if (!atomic_exchange(&g->taken, 1)) return g;
    asc_guard *g = calloc(1, sizeof *g);
    if (!g) return NULL;
    g->taken = 1;
    pthread_mutex_lock(&adding); /* the handler only reads the list */
    g->next = atomic_load(&guards);
    atomic_store(&guards, g);
    pthread_mutex_unlock(&adding);
    return g;
}

asc_guard *asc_guard_new(const uint8_t *begin, uint64_t bytes) {
    pthread_once(&installed, install);
    asc_guard *g = unused_guard();
    if (!g) return NULL;
    atomic_store(&g->lost, 0);
    atomic_store(&g->begin, (uintptr_t)begin);
    atomic_store(&g->end, (uintptr_t)begin + bytes);
    return g;
}

void asc_guard_free(asc_guard *guard) {
    if (!guard) return;
    atomic_store(&guard->end, 0);
    atomic_store(&guard->taken, 0);
}

int32_t asc_watch(asc_watched *watched, int fd) {
    struct stat info;
    if (fstat(fd, &info) != 0) return 0;
    *watched = (asc_watched){(uint64_t)info.st_dev, (uint64_t)info.st_ino, (uint64_t)info.st_size,
                             info.st_mtim.tv_sec * INT64_C(1000000000) + info.st_mtim.tv_nsec};
    return 1;
}

/* Whether the file that `info` is of holds what it held. One of another inode was put in its place, and what is mapped
 * is still the old one. */
static int same(const asc_watched *watched, const struct stat *info) {
    if (watched->inode != (uint64_t)info->st_ino || watched->device != (uint64_t)info->st_dev) return 1;
    return watched->bytes == (uint64_t)info->st_size &&
           watched->modified == info->st_mtim.tv_sec * INT64_C(1000000000) + info->st_mtim.tv_nsec;
}

int32_t asc_unchanged(const asc_watched *watched, int fd, const char *name) {
    struct stat info;
    int found = name ? fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) : fstat(fd, &info);
    return found != 0 || same(watched, &info);
}
