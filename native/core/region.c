/* Reading a bundle into address space that ends at a guard page. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle.h"

uint64_t asc_page_bytes(void) {
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

static int32_t reserve(asc_region *region, uint64_t size, asc_status *status) {
    uint64_t page = asc_page_bytes(), body = asc_align_up(size, page);
    void *at = mmap(NULL, body + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return asc_failf(status, ASC_E_MEMORY, "no address space for a bundle of %lu bytes", size);
    *region = (asc_region){.bytes = at, .size = size, .reserved = body + page};
    if (mprotect(at, body, PROT_READ | PROT_WRITE) == 0) return ASC_OK;
    asc_region_free(region);
    return asc_failf(status, ASC_E_MEMORY, "no memory for a bundle of %lu bytes", size);
}

static int32_t seal(asc_region *region, asc_status *status) {
    if (mprotect(region->bytes, region->reserved - asc_page_bytes(), PROT_READ) == 0) return ASC_OK;
    asc_region_free(region);
    return asc_fail(status, ASC_E_MEMORY, "the bundle's memory can't be made read-only");
}

void asc_region_free(asc_region *region) {
    if (region->n_watched) close(region->fd);
    free(region->watched);
    asc_guard_free(region->guard);
    if (region->bytes) munmap(region->bytes, region->reserved);
    *region = (asc_region){0};
}

int32_t asc_region_new(asc_region *region, uint64_t size, asc_status *status) {
    if (size > INT64_MAX / 2) return asc_fail(status, ASC_E_ARGUMENT, "no bundle is that large");
    int32_t code = reserve(region, size, status);
    if (code == ASC_OK) (void)madvise(region->bytes, region->reserved - asc_page_bytes(), MADV_HUGEPAGE);
    return code;
}

int32_t asc_region_finish(asc_region *region, asc_frame *frame, asc_status *status) {
    (void)madvise(region->bytes, region->reserved - asc_page_bytes(), MADV_HUGEPAGE); /* what came small may grow */
    int32_t code = asc_frame_parse(frame, region->bytes, region->size, status);
    return code == ASC_OK ? seal(region, status) : code;
}

int32_t asc_region_copy(asc_region *region, asc_frame *frame, const void *bytes, uint64_t size, asc_status *status) {
    int32_t code = asc_frame_parse(frame, bytes, size, status);
    if (code == ASC_OK) code = reserve(region, size, status);
    if (code != ASC_OK) return code;
    memcpy(region->bytes, bytes, size);
    return seal(region, status);
}

static int read_range(int fd, uint8_t *to, uint64_t from, uint64_t size) {
    while (size) {
        ssize_t got = pread(fd, to, size < 1u << 30 ? size : 1u << 30, (off_t)from);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return 0;
        to += got;
        from += (uint64_t)got;
        size -= (uint64_t)got;
    }
    return 1;
}

/* Guards what is mapped, and makes room to watch so many files, which are fd or in the folder fd. */
static int guard(asc_region *region, uint32_t files, int fd) {
    region->guard = asc_guard_new(region->mapped, asc_align_up(region->mapped_bytes, asc_page_bytes()));
    region->watched = calloc(files, sizeof *region->watched);
    region->fd = region->guard && region->watched ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    region->n_watched = region->fd < 0 ? 0 : files;
    return region->n_watched > 0;
}

/* Maps the whole pages of the weights; returns how many bytes that covers, 0 when it can't be done. */
static uint64_t map_weights(int fd, asc_region *region, const asc_part *weights) {
    uint64_t page = asc_page_bytes(), whole = weights->size / page * page;
    if (weights->offset + weights->size == region->size) whole = asc_align_up(weights->size, page);
    if (weights->size < ASC_LEAST_MAPPED || weights->offset % page) return 0;
    void *at = region->bytes + weights->offset;
    region->mapped = at;
    region->mapped_bytes = whole;
    if (!guard(region, 1, fd) || !asc_watch(region->watched, fd) ||
        mmap(at, whole, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, (off_t)weights->offset) == MAP_FAILED) {
        region->mapped = NULL; /* they are read */
        return 0;
    }
    (void)madvise(at, whole, MADV_WILLNEED);
    return whole < weights->size ? whole : weights->size;
}

static int fill(int fd, asc_region *region, const asc_frame *frame, uint32_t flags) {
    const asc_part *weights = asc_frame_part(frame, ASC_PART_WEIGHTS);
    if (!weights || flags & ASC_OPEN_NO_MMAP) return read_range(fd, region->bytes, 0, region->size);
    uint64_t after = weights->offset + map_weights(fd, region, weights);
    return read_range(fd, region->bytes, 0, weights->offset) &&
           read_range(fd, region->bytes + after, after, region->size - after);
}

static int32_t load_fd(asc_region *region, asc_frame *frame, int fd, uint32_t flags, asc_status *status) {
    uint8_t head[ASC_FRAME_BYTES] = {0};
    struct stat info;
    asc_watched before;
    if (fstat(fd, &info) != 0 || !asc_watch(&before, fd))
        return asc_failf(status, ASC_E_IO, "fstat: %s", strerror(errno));
    if (!S_ISREG(info.st_mode)) return asc_fail(status, ASC_E_IO, "not a regular file");
    uint64_t size = (uint64_t)info.st_size, n = size < sizeof head ? size : sizeof head;
    if (!read_range(fd, head, 0, n)) return asc_fail(status, ASC_E_IO, "the file can't be read");
    int32_t code = asc_frame_parse(frame, head, size, status);
    if (code == ASC_OK) code = reserve(region, size, status);
    if (code != ASC_OK) return code;
    /* The frame was parsed from the first read; the second must have brought the same bytes. No digest covers weights
     * at load, so nothing may have been written to the file while it was read. */
    if (!fill(fd, region, frame, flags) || memcmp(region->bytes, head, n) != 0 || !asc_unchanged(&before, fd, NULL)) {
        asc_region_free(region);
        return asc_fail(status, ASC_E_IO, "the file changed or ended while it was read");
    }
    return seal(region, status);
}

int32_t asc_region_reserve(asc_region *region, uint64_t size, uint32_t files, int folder, asc_status *status) {
    int32_t code = reserve(region, size, status);
    if (code != ASC_OK) return code;
    region->mapped = region->bytes;
    region->mapped_bytes = size;
    if (guard(region, files, folder)) return ASC_OK;
    asc_region_free(region);
    return asc_fail(status, ASC_E_MEMORY, "no memory or no file descriptor to watch files of weights");
}

int32_t asc_region_place(asc_region *region, uint32_t file, uint64_t at, int fd, uint64_t size, uint32_t flags,
                         asc_status *status) {
    uint64_t page = asc_page_bytes(), whole = asc_align_up(size, page);
    uint8_t *to = region->bytes + at;
    int mapped = !(flags & ASC_OPEN_NO_MMAP) && asc_watch(&region->watched[file], fd) &&
                 mmap(to, whole, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED;
    if (mapped) {
        (void)madvise(to, whole, MADV_WILLNEED);
    } else {
        region->mapped = NULL; /* what was read would not come back */
        asc_watched before;
        region->watched[file] = (asc_watched){0};
        if (!asc_watch(&before, fd) || !read_range(fd, to, 0, size) || !asc_unchanged(&before, fd, NULL))
            return asc_fail(status, ASC_E_IO, "a file of weights can't be read, or was written to while it was");
        if (mprotect(to, whole, PROT_READ) != 0)
            return asc_fail(status, ASC_E_MEMORY, "the memory of weights can't be made read-only");
    }
    if (mprotect(to + whole, page, PROT_NONE) == 0) return ASC_OK;
    return asc_fail(status, ASC_E_MEMORY, "there are too many files of weights to map");
}

void asc_region_drop(const asc_region *region, const uint8_t *at, uint64_t bytes) {
    uint64_t page = asc_page_bytes();
    if (!region->mapped || at < region->mapped || at >= region->mapped + region->mapped_bytes) return;
    uint64_t begin = (uint64_t)(at - region->mapped) / page * page;
    uint64_t end = asc_align_up((uint64_t)(at - region->mapped) + bytes, page);
    if (end > region->mapped_bytes) end = asc_align_up(region->mapped_bytes, page);
    (void)madvise(region->mapped + begin, end - begin, MADV_DONTNEED);
}

int32_t asc_region_load(asc_region *region, asc_frame *frame, const char *path, uint32_t flags, asc_status *status) {
    /* A pipe is opened at once, and refused then; else this would wait for who writes to it. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return asc_failf(status, ASC_E_IO, "%s: %s", path, strerror(errno));
    int32_t code = load_fd(region, frame, fd, flags, status);
    close(fd);
    return code;
}
