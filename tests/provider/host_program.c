/* A C program that runs a compiled model in stock onnxruntime: no Python, no header but the plugin's slots.
 *
 *   host_program LIBONNXRUNTIME LIBASCEND_EP MODEL ROWS COLUMNS [OUTPUT]
 *
 * feeds input "x" [ROWS, COLUMNS] with x[i] = (i % 7) - 3 and prints the elements of OUTPUT ("y" unless
 * named), one a line. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*fn)(void);
typedef struct api_base {
    const fn *(*get_api)(unsigned version);
    const char *(*version)(void);
} api_base;

enum {
    STATUS_TEXT = 2,
    CREATE_ENV = 3,
    CREATE_SESSION = 7,
    RUN = 9,
    CREATE_OPTIONS = 10,
    TENSOR_OVER = 49,
    TENSOR_DATA = 51,
    CPU_MEMORY = 69,
    RELEASE_ENV = 92,
    RELEASE_MEMORY = 94,
    RELEASE_SESSION = 95,
    RELEASE_VALUE = 96,
    RELEASE_OPTIONS = 100,
    REGISTER = 301,
    UNREGISTER = 302,
    GET_DEVICES = 303,
    APPEND = 304,
    DEVICE_NAME = 312,
    TENSOR_BYTES = 318
};
static const fn *api;

/* Every call that can fail returns a status; NULL is success. */
static void must(void *status, const char *what) {
    if (!status) return;
    fprintf(stderr, "%s: %s\n", what, ((const char *(*)(void *))api[STATUS_TEXT])(status));
    exit(1);
}
#define CALL(slot, types, args) must(((void *(*)types)api[slot])args, #slot)
#define FREE(slot, object) ((void (*)(void *))api[slot])(object)

static void *find_device(void *env) {
    void **devices;
    size_t n;
    CALL(GET_DEVICES, (void *, void ***, size_t *), (env, &devices, &n));
    for (size_t i = 0; i < n; i++)
        if (strcmp(((const char *(*)(void *))api[DEVICE_NAME])(devices[i]), "AscendEP") == 0) return devices[i];
    fprintf(stderr, "AscendEP offers no device\n");
    exit(1);
}

static void run(void *session, long rows, long columns, const char *out_name) {
    long long dims[2] = {rows, columns};
    size_t count = (size_t)(rows * columns), bytes;
    float *x = malloc(count * sizeof *x), *y;
    for (size_t i = 0; i < count; i++) x[i] = (float)((int)(i % 7) - 3);
    void *memory, *in, *out = NULL;
    const char *in_name = "x";
    CALL(CPU_MEMORY, (int, int, void **), (1, 0, &memory));
    CALL(TENSOR_OVER, (void *, void *, size_t, long long *, size_t, int, void **),
         (memory, x, count * sizeof *x, dims, 2, 1, &in));
    CALL(RUN, (void *, void *, const char **, void **, size_t, const char **, size_t, void **),
         (session, NULL, &in_name, &in, 1, &out_name, 1, &out));
    CALL(TENSOR_DATA, (void *, float **), (out, &y));
    CALL(TENSOR_BYTES, (void *, size_t *), (out, &bytes));
    for (size_t i = 0; i < bytes / sizeof *y; i++) printf("%.9g\n", (double)y[i]);
    FREE(RELEASE_VALUE, out);
    FREE(RELEASE_VALUE, in);
    FREE(RELEASE_MEMORY, memory);
    free(x);
}

int main(int argc, char **argv) {
    if (argc != 6 && argc != 7) return 2;
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    api = ((const api_base *(*)(void))dlsym(library, "OrtGetApiBase"))()->get_api(23);
    void *env, *options, *session;
    CALL(CREATE_ENV, (int, const char *, void **), (3, "host", &env));
    CALL(REGISTER, (void *, const char *, const char *), (env, "AscendEP", argv[2]));
    void *device = find_device(env);
    CALL(CREATE_OPTIONS, (void **), (&options));
    CALL(APPEND, (void *, void *, void **, size_t, const char **, const char **, size_t),
         (options, env, &device, 1, NULL, NULL, 0));
    CALL(CREATE_SESSION, (void *, const char *, void *, void **), (env, argv[3], options, &session));
    run(session, atol(argv[4]), atol(argv[5]), argc == 7 ? argv[6] : "y");
    FREE(RELEASE_SESSION, session);
    FREE(RELEASE_OPTIONS, options);
    CALL(UNREGISTER, (void *, const char *), (env, "AscendEP"));
    FREE(RELEASE_ENV, env);
    return 0;
}
