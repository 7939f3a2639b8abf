/* Every allocation of open, bind and execute fails once: the call fails with ASC_E_MEMORY, nothing leaks
 * (LeakSanitizer looks), and the next try works. Linked with --wrap for the allocating functions. */
#include <stdlib.h>
#include <sys/mman.h>

#include "check.h"
#include "model.h"
#include "sample_bundle.h"

static long countdown = -1; /* allocations until one fails; negative: none does */

static int fails(void) {
    return countdown >= 0 && countdown-- == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
int __real_posix_memalign(void **out, size_t align, size_t size);
void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
int __wrap_posix_memalign(void **out, size_t align, size_t size);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : __real_malloc(size);
}
void *__wrap_calloc(size_t n, size_t size) {
    return fails() ? NULL : __real_calloc(n, size);
}
int __wrap_posix_memalign(void **out, size_t align, size_t size) {
    return fails() ? 12 : __real_posix_memalign(out, align, size);
}
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    return fails() ? MAP_FAILED : __real_mmap(at, size, protection, flags, fd, offset);
}

/* Opens, binds and runs the first partition; the code of the first step that fails. */
static int32_t one_run(const uint8_t *file, uint64_t size) {
    asc_options o = {.struct_bytes = sizeof o, .num_threads = 1};
    asc_model *m = NULL;
    asc_bound *bound = NULL;
    asc_status status;
    asc_tensor x = {.dims = {2, 4}, .dtype = ASC_FLOAT32, .rank = 2};
    float in[8] = {1, 2, 3}, y[10];
    int64_t s[1];
    const void *ins[] = {in};
    void *outs[] = {y, s};
    int32_t code = asc_model_from_memory(file, size, &o, &m, &status);
    if (code == ASC_OK) code = asc_bind(m, 0, &x, 1, &bound, &status);
    if (code == ASC_OK) code = asc_execute(bound, ins, outs, NULL, &status);
    if (code == ASC_OK) CHECK(s[0] == 10);
    if (code != ASC_OK) CHECK(status.code == code && status.text[0]);
    asc_bound_release(bound);
    asc_model_release(m);
    return code;
}

int main(void) {
    uint64_t size;
    uint8_t *file = sample_bundle(&size);
    CHECK(one_run(file, size) == ASC_OK);
    long n = 0;
    int32_t code;
    do {
        countdown = n++;
        code = one_run(file, size);
        CHECK(code == ASC_OK || code == ASC_E_MEMORY);
    } while (countdown < 0);
    countdown = -1;
    CHECK(n > 30 && code == ASC_OK);
    free(file);
    return check_failures();
}
