/* mistakes.c - `mistakes SEED m.om`: drawn mistakes, one after another, amid sound calls. The line of each ends with
 * what checking mode has to say of it; of the other lines it has to say nothing. m.om takes a float[2,3] and gives one.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"

enum { LEAST = 64, MOST = 8192, MODEL_BYTES = 24 };

static unsigned state;
static uint32_t model;
static aclrtStream stream;
static aclrtContext context;
static char host[2 * MOST];
static atomic_int gate;

static size_t drawn(size_t least, size_t most) {
    state = state * 1103515245u + 12345u;
    return least + (state >> 8) % (most - least + 1);
}

static void hold(void *unused) {
    (void)unused;
    while (!atomic_load(&gate)) continue;
}

/* Memory of a device, by a drawn function. */
static char *memory(size_t size) {
    void *made = NULL;
    size_t way = drawn(0, 2);
    if (way == 0) aclrtMalloc(&made, size, ACL_MEM_MALLOC_HUGE_FIRST);
    if (way == 1) aclrtMallocCached(&made, size, ACL_MEM_MALLOC_NORMAL_ONLY);
    if (way == 2) aclrtMallocAlign32(&made, size, ACL_MEM_MALLOC_HUGE_ONLY);
    return made;
}

static aclmdlDataset *set(void *data, size_t size) {
    aclmdlDataset *dataset = aclmdlCreateDataset();
    aclmdlAddDatasetBuffer(dataset, aclCreateDataBuffer(data, size));
    return dataset;
}

static void unset(aclmdlDataset *dataset) {
    aclDestroyDataBuffer(aclmdlGetDatasetBuffer(dataset, 0));
    aclmdlDestroyDataset(dataset);
}

static void sound(void) {
    size_t size = drawn(LEAST, MOST), at = drawn(0, size / 2), n = drawn(1, size - at);
    char *a = memory(size), *b = memory(size);
    aclrtMemset(a, size, (int32_t)drawn(0, 255), size);
    aclrtMemcpyAsync(b + at, size - at, a, n, ACL_MEMCPY_DEVICE_TO_DEVICE, stream);
    aclrtSynchronizeStream(stream);
    aclrtMemcpy(host, MOST, b, size, ACL_MEMCPY_DEVICE_TO_HOST);
    aclrtFree(a);
    aclrtFree(b);
}

static void after_free(void) {
    size_t size = drawn(LEAST, MOST), n = drawn(1, size);
    char *gone = memory(size), *kept = memory(size);
    aclrtFree(gone);
    aclrtMemcpy(host, n, gone, n, ACL_MEMCPY_DEVICE_TO_HOST);                  /* SAYS was freed */
    aclrtMemcpy(gone, n, host, n, ACL_MEMCPY_HOST_TO_DEVICE);                  /* SAYS was freed */
    aclrtMemcpyAsync(kept, n, gone, n, ACL_MEMCPY_DEVICE_TO_DEVICE, stream);   /* SAYS was freed */
    aclrtMemset(gone, n, 1, n);                                                /* SAYS was freed */
    aclrtMemsetAsync(gone, n, 1, n, stream);                                   /* SAYS was freed */
    aclrtMemcpy2d(kept, 8, gone, 8, 8, size / 8, ACL_MEMCPY_DEVICE_TO_DEVICE); /* SAYS was freed */
    aclrtFree(gone);                                                           /* SAYS was freed before */
    aclmdlDataset *in = set(gone, MODEL_BYTES), *out = set(kept, MODEL_BYTES);
    aclmdlExecute(model, in, out);              /* SAYS was freed */
    aclmdlExecute(model, out, in);              /* SAYS was freed */
    aclmdlExecuteAsync(model, in, out, stream); /* SAYS was freed */
    unset(in);
    unset(out);
    aclrtFree(kept);
}

static void beyond(void) {
    size_t size = drawn(LEAST, MOST - 64), at = drawn(0, size - 1), n = size - at + drawn(1, 64);
    char *a = memory(size), *b = memory(MOST);
    aclrtMemcpy(host, n, a + at, n, ACL_MEMCPY_DEVICE_TO_HOST);             /* SAYS bytes left in its block */
    aclrtMemcpy(a + at, n, host, n, ACL_MEMCPY_HOST_TO_DEVICE);             /* SAYS bytes left in its block */
    aclrtMemcpyAsync(b, n, a + at, n, ACL_MEMCPY_DEVICE_TO_DEVICE, stream); /* SAYS bytes left in its block */
    aclrtMemset(a + at, n, 0, n);                                           /* SAYS bytes left in its block */
    aclrtMemsetAsync(a + at, n, 0, n, stream);                              /* SAYS bytes left in its block */
    aclrtMemcpy(b, n - 1, a, n, ACL_MEMCPY_DEVICE_TO_DEVICE);               /* SAYS destMax */
    aclmdlDataset *in = set(b, MODEL_BYTES), *out = set(b + 64, MODEL_BYTES - drawn(1, 20));
    aclmdlExecute(model, in, out); /* SAYS the model needs 24 */
    aclmdlExecute(model, out, in); /* SAYS the model needs 24 */
    unset(in);
    unset(out);
    aclrtFree(a + 1 + at % 31); /* SAYS lies inside a block */
    aclrtFree(a);
    aclrtFree(b);
}

static void of_the_wrong_kind(void) {
    size_t n = drawn(1, LEAST);
    char *a = memory(MOST), *b = memory(MOST);
    void *pinned = NULL;
    aclrtMallocHost(&pinned, MOST);
    aclrtMemcpy(a, n, b, n, ACL_MEMCPY_HOST_TO_DEVICE);                 /* SAYS memory of a device where */
    aclrtMemcpy(host, n, pinned, n, ACL_MEMCPY_DEVICE_TO_HOST);         /* SAYS memory of the host where */
    aclrtMemcpy(a, n, pinned, n, ACL_MEMCPY_DEVICE_TO_DEVICE);          /* SAYS memory of the host where */
    aclrtMemcpyAsync(pinned, n, a, n, ACL_MEMCPY_HOST_TO_HOST, stream); /* SAYS memory of a device where */
    aclrtMemset(NULL, n, 0, n);                                         /* SAYS must not be NULL */
    aclrtFree(pinned);                                                  /* SAYS aclrtFreeHost */
    aclrtFreeHost(a);                                                   /* SAYS aclrtFree frees it */
    aclmdlDataset *in = set(host, MODEL_BYTES), *out = set(b, MODEL_BYTES);
    aclmdlExecute(model, in, out); /* SAYS memory of the host where */
    unset(in);
    unset(out);
    aclrtFreeHost(pinned);
    aclrtFree(a);
    aclrtFree(b);
}

static void too_early(void) {
    size_t size = drawn(LEAST, MOST), n = drawn(1, size), at = drawn(0, size - n);
    char *a = memory(size);
    atomic_store(&gate, 0);
    aclrtLaunchHostFunc(stream, hold, NULL);
    aclrtMemsetAsync(a, size, 1, size, stream);                 /* SAYS was freed */
    aclrtMemcpy(host, n, a + at, n, ACL_MEMCPY_DEVICE_TO_HOST); /* SAYS has yet to write */
    aclrtFree(a);                                               /* SAYS has yet to use */
    atomic_store(&gate, 1);
    aclrtSynchronizeStream(stream);
}

static void of_another_context(void) {
    aclrtContext other;
    aclrtEvent event;
    char *a = memory(LEAST);
    aclrtCreateEvent(&event);
    aclrtCreateContext(&other, 0);
    aclrtMemsetAsync(a, LEAST, 1, LEAST, stream);                          /* SAYS another context */
    aclrtMemcpyAsync(a, 8, a + 8, 8, ACL_MEMCPY_DEVICE_TO_DEVICE, stream); /* SAYS another context */
    aclrtRecordEvent(event, stream);                                       /* SAYS another context */
    aclrtStreamWaitEvent(stream, event);                                   /* SAYS another context */
    aclrtLaunchHostFunc(stream, hold, NULL);                               /* SAYS another context */
    aclmdlDataset *in = set(a, MODEL_BYTES), *out = set(a + 32, MODEL_BYTES);
    aclmdlExecuteAsync(model, in, out, stream); /* SAYS another context */
    unset(in);
    unset(out);
    aclrtDestroyContext(other);
    aclrtSetCurrentContext(context);
    aclrtFree(a);
    aclrtDestroyEvent(event);
}

static void of_what_is_gone(void) {
    aclrtStream gone;
    aclrtEvent event;
    aclrtCreateStream(&gone);
    aclrtCreateEvent(&event);
    aclmdlDesc *desc = aclmdlCreateDesc();
    aclrtDestroyStream(gone);
    aclrtDestroyEvent(event);
    aclmdlDestroyDesc(desc);
    aclrtSynchronizeStream(gone);    /* SAYS was destroyed before */
    aclrtRecordEvent(event, stream); /* SAYS was destroyed before */
    aclrtDestroyStream(gone);        /* SAYS was destroyed before */
    aclmdlGetDesc(desc, model);      /* SAYS was destroyed before */
}

static void (*const mistakes[])(void) = {after_free,      beyond, of_the_wrong_kind, too_early, of_another_context,
                                         of_what_is_gone, sound};

static void leave(void) {
    size_t size = drawn(LEAST, MOST);
    void *made;
    aclrtStream left;
    aclrtMalloc(&made, size, ACL_MEM_MALLOC_HUGE_FIRST); /* SAYS never freed */
    aclrtMallocHost(&made, size);                        /* SAYS never freed */
    aclCreateDataBuffer(host, size);                     /* SAYS never */
    aclmdlCreateDataset();                               /* SAYS never */
    aclmdlCreateDesc();                                  /* SAYS never */
    aclrtCreateStream(&left);                            /* SAYS never destroyed */
}

int main(int argc, char **argv) {
    enum { KINDS = sizeof mistakes / sizeof *mistakes };
    if (argc < 3) return 2;
    state = (unsigned)atoi(argv[1]);
    aclInit(NULL);
    aclrtSetDevice(0);
    aclrtGetCurrentContext(&context);
    aclrtCreateStream(&stream);
    if (aclmdlLoadFromFile(argv[2], &model) != ACL_SUCCESS) return 2;
    bool made[KINDS] = {false};
    for (int left = KINDS; left > 0;) { /* each once, in a drawn order, sound calls between */
        size_t i = drawn(0, KINDS - 1);
        sound();
        if (made[i]) continue;
        made[i] = true;
        mistakes[i]();
        left--;
    }
    leave();
    aclrtDestroyStream(stream);
    aclmdlUnload(model);
    aclFinalize();
    return 0;
}
