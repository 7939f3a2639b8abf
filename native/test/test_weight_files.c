/* Weights in files beside a bundle: where they are found, and every file and name that is refused. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle_builder.h"
#include "check.h"

#define ROWS 1500 /* of one weight: more than a page */

static float numbers[2 * ROWS];

/* Appends a weight to `to`, bytes that become a file; a value of it is `n` floats. */
static uint32_t add_weight(builder *b, bb_bytes *to, const char *name, uint32_t dim, uint64_t n, const float *from) {
    bb_bytes inside = b->weights;
    b->weights = *to;
    uint32_t v = bb_weight(b, name, ASC_FLOAT32, &dim, 1, from, 4 * n);
    *to = b->weights;
    b->weights = inside;
    return v;
}

static asc_weight_file describe(builder *b, const char *name, uint32_t first, uint32_t n, const bb_bytes *bytes) {
    asc_weight_file f = {.name = bb_string(b, name), .first_weight = first, .n_weights = n, .bytes = bytes->size};
    asc_sha256(bytes->at, bytes->size, f.sha256);
    return f;
}

typedef struct bundle {
    bb_bytes om, near, far;
} bundle;

/* Weight 0 is in the bundle, 1 and 2 are in one file, 3 in another, 4 in the bundle again; y is the first row of
 * each. `change` may spoil the description of the files. */
static bundle make(const char *near_name, void (*change)(asc_weight_file *two)) {
    builder b = {0};
    bundle made = {0};
    uint32_t seven = bb_const(&b, 7), long_one = bb_const(&b, ROWS), five = bb_const(&b, 5), v[5];
    v[0] = bb_weight(&b, "a", ASC_FLOAT32, &seven, 1, numbers, 28);
    v[1] = add_weight(&b, &made.near, "b", long_one, ROWS, numbers + 1);
    v[2] = add_weight(&b, &made.near, "c", seven, 7, numbers + 2);
    v[3] = add_weight(&b, &made.far, "d", long_one, ROWS, numbers + 3);
    v[4] = bb_weight(&b, "e", ASC_FLOAT32, &seven, 1, numbers + 4, 28);
    asc_weight_file files[] = {describe(&b, near_name, 1, 2, &made.near), describe(&b, "f/g/far", 3, 1, &made.far)};
    if (change) change(files);
    for (int i = 0; i < 2; i++) bb_add(&b, ASC_SEC_WEIGHT_FILES, &files[i]);
    uint32_t one = bb_const(&b, 1), zero = bb_const(&b, 0), rows[5];
    for (int i = 0; i < 5; i++) rows[i] = bb_view(&b, "row", v[i], &one, 1, NULL, ASC_NONE);
    uint32_t y = bb_value(&b, "y", ASC_FLOAT32, ASC_VALUE_OUTPUT, &five, 1);
    bb_insn(&b, "concat", rows, 5, &y, 1, &zero, 1);
    bb_partition(&b, "main", BB_NOTHING, &y, 1);
    made.om = bb_finish(&b);
    return made;
}

static void release(bundle *b) {
    free(b->om.at);
    free(b->near.at);
    free(b->far.at);
}

static void save(const char *path, const bb_bytes *bytes, uint64_t size) {
    unlink(path);
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(bytes->at, 1, size, f) == size);
    if (f) fclose(f);
}

static void save_all(const bundle *b) {
    save("m.om", &b->om, b->om.size);
    save("near", &b->near, b->near.size);
    save("f/g/far", &b->far, b->far.size);
}

static int32_t open_code(uint32_t flags, const char *sentence) {
    asc_options o = {.struct_bytes = sizeof o, .flags = flags};
    asc_status status;
    asc_model *m = NULL;
    int32_t code = asc_model_open("m.om", &o, &m, &status);
    asc_model_release(m);
    CHECK(!sentence || strstr(status.text, sentence));
    return code;
}

static void run(const char *path, uint32_t flags) {
    asc_options o = {.struct_bytes = sizeof o, .flags = flags | ASC_OPEN_VERIFY_WEIGHTS};
    asc_status status;
    asc_model *m;
    asc_bound *bound;
    float to[5] = {0};
    void *outs[] = {to};
    CHECK(asc_model_open(path, &o, &m, &status) == ASC_OK);
    if (!m) return;
    CHECK(asc_bind(m, 0, NULL, 0, &bound, &status) == ASC_OK);
    for (int again = 0; again < 3; again++) {
        memset(to, 0, sizeof to);
        CHECK(asc_execute(bound, NULL, outs, NULL, &status) == ASC_OK);
        for (int i = 0; i < 5; i++) CHECK(to[i] == numbers[i]);
    }
    asc_bound_release(bound);
    asc_model_release(m);
}

static void test_runs(const bundle *b) {
    char folder[4096 + 8];
    save_all(b);
    for (uint32_t flags = 0; flags < 16; flags += 4) run("m.om", flags); /* NO_MMAP and LOW_MEMORY, either and both */
    CHECK(getcwd(folder, 4096) != NULL);
    strcat(folder, "/m.om");
    CHECK(chdir("/") == 0);
    run(folder, 0); /* relative to the bundle, not to the working directory */
    folder[strlen(folder) - 5] = 0;
    CHECK(chdir(folder) == 0);
}

static void test_files(const bundle *b) {
    asc_status status;
    asc_model *m;
    CHECK(asc_model_from_memory(b->om.at, b->om.size, NULL, &m, &status) == ASC_E_ARGUMENT && !m);
    CHECK(strstr(status.text, "open it by its path"));
    save("near", &b->near, b->near.size - 1);
    CHECK(open_code(0, "a file of weights has 6043 bytes, the bundle says 6044: [near]") == ASC_E_CHECKSUM);
    unlink("near");
    CHECK(open_code(0, "No such file or directory: [near]") == ASC_E_IO);
    CHECK(symlink("f/g/far", "near") == 0 && open_code(0, "a symbolic link: [near]") == ASC_E_IO);
    unlink("near");
    CHECK(mkfifo("near", 0600) == 0 && open_code(0, "no regular file: [near]") == ASC_E_IO);
    unlink("near");
    CHECK(mkdir("near", 0700) == 0 && open_code(0, "no regular file: [near]") == ASC_E_IO);
    rmdir("near");
    save("other", &b->near, b->near.size);
    CHECK(link("other", "near") == 0 && open_code(0, "more than one hard link: [near]") == ASC_E_IO);
    unlink("other");
    CHECK(open_code(0, NULL) == ASC_OK);
    CHECK(rename("f", "h") == 0 && symlink("h", "f") == 0 && open_code(0, "a symbolic link: [f/g/far]") == ASC_E_IO);
    CHECK(unlink("f") == 0 && rename("h", "f") == 0);
    bb_bytes changed = {malloc(b->far.size), b->far.size};
    memcpy(changed.at, b->far.at, changed.size);
    changed.at[changed.size - 1] ^= 1;
    save("f/g/far", &changed, changed.size);
    CHECK(open_code(0, NULL) == ASC_OK); /* weights are not read at load */
    CHECK(open_code(ASC_OPEN_VERIFY_WEIGHTS, "changed after it was written: [f/g/far]") == ASC_E_CHECKSUM);
    free(changed.at);
}

static void refuse_name(const char *name) {
    bundle b = make(name, NULL);
    save_all(&b);
    CHECK(open_code(0, "would not be in the bundle's folder") == ASC_E_FORMAT);
    release(&b);
}

static void test_names(void) {
    char long_name[300];
    memset(long_name, 'x', 299);
    long_name[299] = 0;
    const char *names[] = {
        "",         "/near", "../near", "a/../near", "near/..",  "near/",  "a//near", "./near",
        "a/./near", ".",     "..",      "a\\near",   "..\\near", "\\near", "/",       "1/2/3/4/5/6/7/8/9/near",
        long_name};
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) refuse_name(names[i]);
}

static void none(asc_weight_file *f) {
    f[0].n_weights = 0;
}
static void beyond(asc_weight_file *f) {
    f[1].n_weights = 3;
}
static void far_beyond(asc_weight_file *f) {
    f[1].first_weight = f[1].n_weights = UINT32_MAX;
}
static void shared(asc_weight_file *f) {
    f[1].first_weight = 2;
}
static void empty(asc_weight_file *f) {
    f[1].bytes = 0;
}
static void huge(asc_weight_file *f) {
    f[1].bytes = UINT64_MAX;
}
static void shorter(asc_weight_file *f) {
    f[1].bytes -= 4;
}
static void longer(asc_weight_file *f) {
    f[0].bytes += 64;
}
static void fewer(asc_weight_file *f) {
    f[0].n_weights = 1;
}
static void padded(asc_weight_file *f) {
    f[0].pad = 1;
}
static void nameless(asc_weight_file *f) {
    f[1].name = UINT32_MAX;
}

static void test_records(void) {
    void (*const changes[])(asc_weight_file *) = {none,    beyond, far_beyond, shared, empty,   huge,
                                                  shorter, longer, fewer,      padded, nameless};
    for (uint32_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        bundle b = make("near", changes[i]);
        save_all(&b);
        CHECK(open_code(0, NULL) == ASC_E_FORMAT);
        release(&b);
    }
}

int main(void) {
    char folder[] = "/tmp/asc_test_XXXXXX", remove[64];
    for (int i = 0; i < 2 * ROWS; i++) numbers[i] = (float)i;
    CHECK(mkdtemp(folder) && chdir(folder) == 0 && mkdir("f", 0700) == 0 && mkdir("f/g", 0700) == 0);
    bundle b = make("near", NULL);
    test_runs(&b);
    test_files(&b);
    test_names();
    test_records();
    release(&b);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    CHECK(system(remove) == 0);
    return check_failures();
}
