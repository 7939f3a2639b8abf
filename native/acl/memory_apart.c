/* memory_apart.c - one file in memory, mapped twice. A signal handler says when the host touches a device's memory. */
#include "memory_apart.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "report.h"

#define REGION_BYTES ((size_t)1 << 40)
#define PAGE 4096

static struct {
    pthread_once_t once;
    int file;
    char *shown, *real; /* NULL: no such memory on this system */
    atomic_size_t used;
    struct sigaction before;
} region = {.once = PTHREAD_ONCE_INIT, .file = -1};

/* Called on a fault: says which instruction touched the memory of a device, then lets the fault be one. */
static void on_fault(int signal_number, siginfo_t *info, void *context) {
    char *address = info->si_addr;
    if (address >= region.shown && address < region.shown + REGION_BYTES) {
        const ucontext_t *at = context;
        char place[512];
#if defined(__x86_64__)
        asc_describe_site((const char *)at->uc_mcontext.gregs[REG_RIP] + 1, place, sizeof place);
#elif defined(__aarch64__)
        asc_describe_site((const char *)at->uc_mcontext.pc + 1, place, sizeof place);
#else
        (void)at;
        snprintf(place, sizeof place, "an unknown place");
#endif
        fprintf(stderr,
                "[ACL CHECK] host code at %s touches memory of a device (%p); copy it with aclrtMemcpy "
                "(ACL_MEMCPY_DEVICE_TO_HOST) and read the copy\n",
                place, (void *)address);
    }
    sigaction(signal_number, &region.before, NULL);
}

static void map_region(void) {
    region.file = memfd_create("ascend_ep device memory", MFD_CLOEXEC);
    if (region.file < 0 || ftruncate(region.file, REGION_BYTES) != 0) return;
    int flags = MAP_SHARED | MAP_NORESERVE;
    char *real = mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE, flags, region.file, 0);
    char *shown = mmap(NULL, REGION_BYTES, PROT_NONE, flags, region.file, 0);
    if (real == MAP_FAILED || shown == MAP_FAILED) return;
    region.real = real;
    region.shown = shown;
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, &region.before);
}

void *asc_acl_apart_new(size_t bytes) {
    pthread_once(&region.once, map_region);
    if (!region.shown) return NULL;
    size_t whole = (bytes + PAGE - 1) / PAGE * PAGE + PAGE;
    size_t at = atomic_fetch_add(&region.used, whole);
    return at + whole <= REGION_BYTES ? region.shown + at : NULL;
}

void asc_acl_apart_free(void *pointer, size_t bytes) {
    size_t whole = (bytes + PAGE - 1) / PAGE * PAGE;
    fallocate(region.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (char *)pointer - region.shown, (off_t)whole);
}

void *asc_acl_apart_real(const void *pointer) {
    const char *address = pointer;
    if (!region.shown || address < region.shown || address >= region.shown + REGION_BYTES)
        return (void *)(uintptr_t)pointer;
    return region.real + (address - region.shown);
}
