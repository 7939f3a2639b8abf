/* Loading the shared objects of a bundle: from memory, and only when they are trusted. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "custom.h"
#include "sha256.h"

static int write_all(int fd, const uint8_t *bytes, uint64_t size) {
    while (size) {
        ssize_t n = write(fd, bytes, size < 1u << 30 ? size : 1u << 30);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return 0;
        bytes += n;
        size -= (uint64_t)n;
    }
    return 1;
}

/* The loader takes two objects of one path for the same one, even when the first descriptor of that
 * number was closed long ago. So the path carries the digest: '/' for a 0 bit and "/." for a 1 bit, which
 * the kernel skips. */
static void memfd_path(int fd, const uint8_t digest[32], char *path, size_t room) {
    char bits[2 * 256 + 1], *at = bits;
    for (int i = 0; i < 256; i++) {
        *at++ = '/';
        if (digest[i / 8] >> i % 8 & 1) *at++ = '.';
    }
    *at = 0;
    asc_format(path, room, "/proc/self%s/fd/%d", bits, fd);
}

static void *load_from_memfd(const uint8_t *bytes, uint64_t size, const uint8_t digest[32]) {
    int fd = memfd_create("asc_custom_op", MFD_CLOEXEC);
    if (fd < 0) return NULL;
    char path[640];
    memfd_path(fd, digest, path, sizeof path);
    void *handle = write_all(fd, bytes, size) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    close(fd);
    return handle;
}

/* Where memfd or /proc is not to be had: a file in a directory that only this user can enter. */
static void *load_from_directory(const uint8_t *bytes, uint64_t size) {
    char directory[256], path[300];
    const char *base = secure_getenv("TMPDIR");
    if (!base || !*base || strlen(base) > 200) base = "/tmp";
    asc_format(directory, sizeof directory, "%s/ascend_ep.XXXXXX", base);
    if (!mkdtemp(directory)) return NULL;
    asc_format(path, sizeof path, "%s/custom_op.so", directory);
    void *handle = NULL;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) {
        int written = write_all(fd, bytes, size);
        close(fd);
        if (written) handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        unlink(path);
    }
    rmdir(directory);
    return handle;
}

static int32_t open_library(asc_library *library, const asc_native *native, const char *name, const uint8_t *bytes,
                            const asc_options *options) {
    asc_status *why = &library->why;
    uint8_t digest[32];
    char hex[65];
    asc_sha256(bytes, native->bytes, digest);
    asc_hex(digest, hex);
    why->node = -1;
    if (memcmp(digest, native->sha256, sizeof digest) != 0)
        return asc_failf(why, ASC_E_CHECKSUM, "the native library '%s' is not the one that the plan names", name);
    if (options->flags & ASC_OPEN_NO_NATIVE)
        return asc_failf(why, ASC_E_TRUST,
                         "the native library '%s' is needed, but the bundle was opened without native code", name);
    if (!asc_is_trusted(digest, options->trust))
        return asc_failf(why, ASC_E_TRUST,
                         "the native library '%s' (sha256:%s) is not trusted here; if you know where it comes from: "
                         "ascend-om trust, or --trust=sha256:%s",
                         name, hex, hex);
    library->handle = load_from_memfd(bytes, native->bytes, digest);
    if (!library->handle) library->handle = load_from_directory(bytes, native->bytes);
    if (!library->handle) {
        const char *reason = dlerror();
        return asc_failf(why, ASC_E_IO, "the native library '%s' can't be loaded: %s", name,
                         reason ? reason : strerror(errno));
    }
    return ASC_OK;
}

int32_t asc_libraries_open(asc_library **out, const asc_plan *plan, const uint8_t *native_part,
                           const asc_options *options, asc_status *status) {
    uint32_t count = asc_plan_n_natives(plan);
    asc_library *libraries = calloc(count + 1, sizeof *libraries);
    if (!libraries) return asc_fail(status, ASC_E_MEMORY, "no memory for the native libraries");
    *out = libraries;
    for (uint32_t i = 0; i < count; i++) {
        const asc_native *n = &asc_plan_natives(plan)[i];
        int32_t code = open_library(&libraries[i], n, asc_plan_string(plan, n->name), native_part + n->offset, options);
        if (code == ASC_OK || code == ASC_E_TRUST || !options->log) continue;
        options->log(options->log_user, 2, libraries[i].why.text);
    }
    return ASC_OK;
}

void asc_libraries_close(asc_library *libraries, uint32_t count) {
    for (uint32_t i = 0; libraries && i < count; i++)
        if (libraries[i].handle) dlclose(libraries[i].handle);
    free(libraries);
}
