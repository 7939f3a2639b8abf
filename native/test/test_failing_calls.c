/* Every call by which a bundle, its files of weights, its libraries and the trust store are read fails in turn: once,
 * from there on, as interrupted, or by moving one byte. What is opened then runs right, or an error says why not.
 * Linked with --wrap for these calls; the argument is a library of an operator (custom_scale.c). */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle_builder.h"
#include "check.h"
#include "model.h"
#include "sha256.h"

#define LARGE 300000 /* elements of a weight: enough for it to be mapped */

/* ---- calls ------------------------------------------------------------------------------------- */

enum { ONCE, FROM_THERE, INTERRUPTED, SHORT, WAYS };
static struct {
    long left; /* calls until one fails; negative: none does */
    long seen;
    int way;
} calls = {.left = -1};

static int its_turn(void) {
    calls.seen++;
    if (calls.left < 0) return 0;
    if (calls.left == 0) {
        if (calls.way != FROM_THERE) calls.left = -1;
        return 1;
    }
    calls.left--;
    return 0;
}

static int fails(void) {
    if (!its_turn() || calls.way == SHORT) return 0;
    errno = calls.way == INTERRUPTED ? EINTR : EIO;
    return 1;
}

static int fails_of_memory(void) {
    return fails() && (errno = ENOMEM, 1);
}

/* A read or write of so many bytes: -1 when it fails, else how many it may move. */
static ssize_t allowed(size_t bytes) {
    if (!its_turn()) return (ssize_t)bytes;
    if (calls.way == SHORT) return bytes > 1;
    errno = calls.way == INTERRUPTED ? EINTR : EIO;
    return -1;
}

#define WRAPPED(type, name, declared, failing, failed, ...)     \
    type __real_##name declared;                                \
    type __wrap_##name declared;                                \
    type __wrap_##name declared {                               \
        return failing() ? failed : __real_##name(__VA_ARGS__); \
    }
WRAPPED(void *, malloc, (size_t size), fails_of_memory, NULL, size)
WRAPPED(void *, calloc, (size_t n, size_t size), fails_of_memory, NULL, n, size)
WRAPPED(char *, strdup, (const char *text), fails_of_memory, NULL, text)
WRAPPED(char *, strndup, (const char *text, size_t n), fails_of_memory, NULL, text, n)
WRAPPED(char *, realpath, (const char *path, char *to), fails, NULL, path, to)
WRAPPED(void *, mmap, (void *at, size_t size, int protection, int flags, int fd, off_t offset), fails_of_memory,
        MAP_FAILED, at, size, protection, flags, fd, offset)
WRAPPED(int, mprotect, (void *at, size_t size, int protection), fails_of_memory, -1, at, size, protection)
WRAPPED(int, fstat, (int fd, struct stat *info), fails, -1, fd, info)
WRAPPED(int, fstatat, (int fd, const char *path, struct stat *info, int flags), fails, -1, fd, path, info, flags)
static int no_memory_files; /* as in a system without them */
static int fails_without_memory_files(void) {
    return no_memory_files || fails();
}
WRAPPED(int, memfd_create, (const char *name, unsigned flags), fails_without_memory_files, -1, name, flags)
WRAPPED(char *, mkdtemp, (char *path), fails, NULL, path)

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    int mode = flags & O_CREAT ? va_arg(more, int) : 0;
    va_end(more);
    return fails() ? -1 : __real_open(path, flags, mode);
}
int __real_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...) {
    return fails() ? -1 : __real_openat(folder, path, flags);
}
int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...) {
    return fails() ? -1 : __real_fcntl(fd, command, 0);
}
ssize_t __real_pread(int fd, void *to, size_t size, off_t from);
ssize_t __wrap_pread(int fd, void *to, size_t size, off_t from);
ssize_t __wrap_pread(int fd, void *to, size_t size, off_t from) {
    ssize_t room = allowed(size);
    return room < 0 ? -1 : __real_pread(fd, to, (size_t)room, from);
}
ssize_t __real_read(int fd, void *to, size_t size);
ssize_t __wrap_read(int fd, void *to, size_t size);
ssize_t __wrap_read(int fd, void *to, size_t size) {
    ssize_t room = allowed(size);
    return room < 0 ? -1 : __real_read(fd, to, (size_t)room);
}
ssize_t __real_write(int fd, const void *from, size_t size);
ssize_t __wrap_write(int fd, const void *from, size_t size);
ssize_t __wrap_write(int fd, const void *from, size_t size) {
    ssize_t room = allowed(size);
    return room < 0 ? -1 : __real_write(fd, from, (size_t)room);
}

/* ---- bundles ----------------------------------------------------------------------------------- */

static float numbers[LARGE];

static void save(const char *path, const void *bytes, uint64_t size) {
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(bytes, 1, size, f) == size);
    if (f) fclose(f);
}

/* y is the last element of a weight, in the bundle or in the file f/w. */
static void save_weights(const char *path, uint32_t count, int beside) {
    builder b = {0};
    uint32_t many = bb_const(&b, count), one = bb_const(&b, 1), at = bb_const(&b, count - 1);
    uint32_t w = bb_weight(&b, "w", ASC_FLOAT32, &many, 1, numbers, 4ul * count);
    if (beside) {
        asc_weight_file f = {.name = bb_string(&b, "f/w"), .n_weights = 1, .bytes = b.weights.size};
        asc_sha256(b.weights.at, b.weights.size, f.sha256);
        bb_add(&b, ASC_SEC_WEIGHT_FILES, &f);
        save("real/f/w", b.weights.at, b.weights.size);
        b.weights.size = 0;
    }
    uint32_t v = bb_view(&b, "v", w, &one, 1, &one, at);
    uint32_t y = bb_value(&b, "y", ASC_FLOAT32, ASC_VALUE_OUTPUT, &one, 1);
    bb_insn(&b, "copy", &v, 1, &y, 1, BB_NOTHING);
    bb_partition(&b, "main", BB_NOTHING, &y, 1);
    bb_bytes file = bb_finish(&b);
    save(path, file.at, file.size);
    free(file.at);
}

/* y = copy(c) of a [N] and c [2 N]; a second plan, with c [M], for inputs that contradict that. */
static void save_apart(const char *path) {
    bb_bytes plan = {0};
    for (int named = 0; named < 2; named++) {
        builder b = {0};
        uint32_t n = bb_symbol(&b, "N", 1, 9), two = bb_const(&b, 2), in[2];
        uint32_t size = named ? bb_dim(&b, ASC_DIM_MUL, n, two, 0) : bb_symbol(&b, "M", 1, 9);
        in[0] = bb_value(&b, "a", ASC_FLOAT32, ASC_VALUE_INPUT, &n, 1);
        in[1] = bb_value(&b, "c", ASC_FLOAT32, ASC_VALUE_INPUT, &size, 1);
        uint32_t y = bb_value(&b, "y", ASC_FLOAT32, ASC_VALUE_OUTPUT, &size, 1);
        bb_insn(&b, "copy", &in[1], 1, &y, 1, BB_NOTHING);
        bb_partition(&b, "main", in, 2, &y, 1);
        if (named) bb_append(&b.sections[ASC_SEC_APART], 1, plan.at, plan.size);
        free(plan.at);
        plan = bb_plan(&b);
        bb_bytes file = bb_finish(&b);
        if (named) save(path, file.at, file.size);
        free(file.at);
    }
    free(plan.at);
}

/* y = the library's Scale(x), which is 2 for 1. */
static void save_library(const char *path, const char *library) {
    builder b = {0};
    bb_bytes bytes = {0};
    uint8_t piece[4096], digest[32];
    char hex[65], line[80];
    FILE *f = fopen(library, "rb");
    CHECK(f != NULL);
    for (size_t n; f && (n = fread(piece, 1, sizeof piece, f)) > 0;) bb_append(&bytes, 1, piece, n);
    if (f) fclose(f);
    asc_sha256(bytes.at, bytes.size, digest);
    asc_hex(digest, hex);
    snprintf(line, sizeof line, "sha256 %s\n", hex);
    save("store", line, strlen(line));
    CHECK(chmod("store", 0600) == 0);
    uint32_t one = bb_const(&b, 1), native = bb_library(&b, "scale.so", bytes.at, bytes.size);
    uint32_t x = bb_value(&b, "x", ASC_FLOAT32, ASC_VALUE_INPUT, &one, 1);
    uint32_t y = bb_value(&b, "y", ASC_FLOAT32, ASC_VALUE_OUTPUT, &one, 1);
    bb_insn_at(&b, bb_insn(&b, "Scale", &x, 1, &y, 1, BB_NOTHING))->native = native;
    bb_partition(&b, "main", &x, 1, &y, 1);
    bb_bytes file = bb_finish(&b);
    save(path, file.at, file.size);
    free(file.at);
    free(bytes.at);
}

/* ---- sweeps ------------------------------------------------------------------------------------ */

typedef struct scenario {
    const char *path;
    uint32_t flags;
    float result;
    int inputs, silent;
} scenario;

static int warnings;
static void listen(void *user, int32_t level, const char *text) {
    (void)user, (void)text;
    warnings += level == 2;
}

/* Opens, binds and runs; the code of the step that failed. */
static int32_t go_through(const scenario *s) {
    asc_options o = {.struct_bytes = sizeof o, .num_threads = 1, .flags = s->flags};
    if (!s->silent) o.log = listen;
    asc_model *m = NULL;
    asc_bound *bound = NULL;
    asc_status status = {0};
    asc_tensor one_element = {.dims = {1}, .strides = {1}, .dtype = ASC_FLOAT32, .rank = 1};
    asc_tensor x[2] = {one_element, one_element};
    float one = 1, y = 0;
    int32_t code = asc_model_open(s->path, &o, &m, &status);
    if (code == ASC_OK) code = asc_bind(m, 0, x, (uint32_t)s->inputs, &bound, &status);
    if (code == ASC_OK) code = asc_execute(bound, (const void *[]){&one, &one}, (void *[]){&y}, NULL, &status);
    if (code == ASC_OK) CHECK(y == s->result);
    if (code != ASC_OK) CHECK(status.code == code && status.text[0]);
    asc_bound_release(bound);
    asc_model_release(m);
    return code;
}

static int open_files(void) {
    int n = 0;
    for (int fd = 0; fd < 256; fd++) n += __real_fcntl(fd, F_GETFD, 0) >= 0;
    return n;
}

static void sweep(const scenario *s) {
    int before = open_files();
    for (long at = 0; calls.left < 0; at++) { /* until none is left to fail: what is made once is there from now on */
        calls.way = ONCE;
        calls.left = at;
        (void)go_through(s);
    }
    calls.left = -1;
    CHECK(go_through(s) == ASC_OK);
    calls.seen = 0;
    CHECK(go_through(s) == ASC_OK);
    long total = calls.seen, failed = 0;
    CHECK(total > 8);
    for (int way = 0; way < WAYS; way++)
        for (long at = 0; at < total; at++) {
            calls.way = way;
            calls.left = at;
            int32_t code = go_through(s);
            calls.left = -1;
            CHECK(way != SHORT || code == ASC_OK);
            failed += code != ASC_OK;
        }
    CHECK(failed > 4);
    CHECK(go_through(s) == ASC_OK);
    CHECK(open_files() == before);
}

int main(int argc, char **argv) {
    char folder[] = "/tmp/asc_test_XXXXXX", remove[64];
    if (argc != 2) return 2;
    for (int i = 0; i < LARGE; i++) numbers[i] = (float)i;
    char *library = realpath(argv[1], NULL);
    int ready = library && mkdtemp(folder) && chdir(folder) == 0 && !mkdir("real", 0700) && !mkdir("real/f", 0700);
    CHECK(ready);
    if (!ready) return check_failures(); /* nothing is written elsewhere */
    CHECK(setenv("ASCEND_EP_TRUST", "store", 1) == 0 && setenv("TMPDIR", folder, 1) == 0);
    save_weights("small.om", 100, 0);
    save_weights("large.om", LARGE, 0);
    save_weights("real/beside.om", LARGE, 1);
    save_library("library.om", library);
    save_apart("apart.om");
    CHECK(symlink("real/beside.om", "link.om") == 0);
    const scenario all[] = {
        {"small.om", 0, 99, 0, 0},
        {"large.om", 0, LARGE - 1, 0, 0},
        {"large.om", ASC_OPEN_NO_MMAP | ASC_OPEN_VERIFY_WEIGHTS, LARGE - 1, 0, 0},
        {"real/beside.om", 0, LARGE - 1, 0, 0},
        {"real/beside.om", ASC_OPEN_NO_MMAP, LARGE - 1, 0, 0},
        {"link.om", 0, LARGE - 1, 0, 0},
        {"library.om", 0, 2, 1, 0},
        {"library.om", 0, 2, 1, 1},
        {"apart.om", 0, 1, 2, 0},
    };
    for (uint32_t i = 0; i < sizeof all / sizeof *all; i++) sweep(&all[i]);
    no_memory_files = 1;
    char far_away[300] = "/";
    memset(far_away + 1, 'x', sizeof far_away - 2);
    const char *const places[] = {folder, "", far_away, NULL};
    for (uint32_t i = 0; i < sizeof places / sizeof *places; i++) {
        CHECK(places[i] ? setenv("TMPDIR", places[i], 1) == 0 : unsetenv("TMPDIR") == 0);
        sweep(&all[6]);
    }
    CHECK(warnings > 0); /* a library that couldn't be loaded was told of */
    free(library);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    CHECK(system(remove) == 0);
    return check_failures();
}
