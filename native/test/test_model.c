/* Opening, binding and executing bundles built here: values, views, errors, files and memory. */
#include <fcntl.h>
#include <unistd.h>

#include "bundle_builder.h"
#include "check.h"

/* y = copy(view of copy(x)): x [N, 3] float32, y its transpose [3, N]; N in 1..8. */
static bb_bytes transpose_bundle(void) {
    builder b = {0};
    uint32_t n = bb_symbol(&b, "N", 1, 8), three = bb_const(&b, 3), one = bb_const(&b, 1);
    uint32_t x = bb_value(&b, "x", ASC_FLOAT32, ASC_VALUE_INPUT, BB_LIST(n, three));
    uint32_t t = bb_value(&b, "t", ASC_FLOAT32, ASC_VALUE_TEMP, BB_LIST(n, three));
    uint32_t strides[] = {one, three};
    uint32_t v = bb_view(&b, "v", t, BB_LIST(three, n), strides, ASC_NONE);
    uint32_t y = bb_value(&b, "y", ASC_FLOAT32, ASC_VALUE_OUTPUT, BB_LIST(three, n));
    bb_insn(&b, "copy", &x, 1, &t, 1, BB_NOTHING);
    bb_insn(&b, "copy", &v, 1, &y, 1, BB_NOTHING);
    bb_partition(&b, "main", &x, 1, &y, 1);
    return bb_finish(&b);
}

static asc_tensor matrix(int64_t rows, int64_t columns) {
    return (asc_tensor){.dims = {rows, columns}, .strides = {columns, 1}, .dtype = ASC_FLOAT32, .rank = 2};
}

static void check_transpose(asc_model *m, int64_t rows) {
    asc_status status;
    asc_bound *bound = NULL;
    asc_tensor x = matrix(rows, 3);
    const asc_tensor *out;
    CHECK(asc_bind(m, 0, &x, 1, &bound, &status) == ASC_OK);
    CHECK(asc_bound_outputs(bound, &out) == 1 && out->dims[0] == 3 && out->dims[1] == rows);
    float *from = malloc(sizeof(float) * 3 * (size_t)rows), *to = malloc(sizeof(float) * 3 * (size_t)rows);
    for (int i = 0; i < 3 * rows; i++) from[i] = (float)i;
    const void *in[] = {from};
    void *outs[] = {to};
    uint64_t ns[4];
    CHECK(asc_execute(bound, in, outs, ns, &status) == ASC_OK);
    CHECK(ns[0] <= ns[1] && ns[1] <= ns[2] && ns[2] <= ns[3]);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < rows; j++) CHECK(to[i * rows + j] == from[j * 3 + i]);
    const void *odd[] = {(char *)from + 1}, *null[] = {NULL};
    CHECK(asc_execute(bound, odd, outs, NULL, &status) == ASC_E_ARGUMENT);
    CHECK(asc_execute(bound, null, outs, NULL, NULL) == ASC_E_ARGUMENT);
    free(from);
    free(to);
    asc_bound_release(bound);
}

static void check_bind_errors(asc_model *m) {
    asc_status status;
    asc_bound *bound;
    asc_tensor wide = matrix(9, 3), other = matrix(2, 4), typed = matrix(2, 3);
    CHECK(asc_bind(m, 0, &wide, 1, &bound, &status) == ASC_E_SHAPE && !bound);
    CHECK(strcmp(status.text, "input 'x': dimension 0 ('N') is 9, allowed is 1 to 8") == 0);
    CHECK(asc_bind(m, 0, &other, 1, &bound, &status) == ASC_E_SHAPE);
    CHECK(strcmp(status.text, "input 'x': dimension 1 is 4, must be 3") == 0);
    typed.dtype = ASC_INT32;
    CHECK(asc_bind(m, 0, &typed, 1, &bound, &status) == ASC_E_ARGUMENT);
    CHECK(asc_bind(m, 1, &typed, 1, &bound, &status) == ASC_E_ARGUMENT);
    CHECK(asc_bind(m, 0, NULL, 0, &bound, &status) == ASC_E_ARGUMENT);
}

static void check_cache(asc_model *m) {
    asc_status status;
    asc_bound *first, *again, *other;
    asc_tensor two = matrix(2, 3), five = matrix(5, 3);
    asc_bind(m, 0, &two, 1, &first, &status);
    asc_bind(m, 0, &two, 1, &again, &status);
    CHECK(first == again);
    asc_bound_release(again);
    for (int64_t rows = 1; rows <= 8; rows++) { /* more shapes than the cache holds */
        asc_tensor t = matrix(rows, 3);
        CHECK(asc_bind(m, 0, &t, 1, &other, &status) == ASC_OK);
        asc_bound_release(other);
    }
    asc_bind(m, 0, &five, 1, &other, &status);
    CHECK(other != first); /* still alive, though it fell out of the cache */
    asc_bound_release(other);
    asc_bound_release(first);
}

static void check_model(asc_model *m) {
    CHECK(asc_model_find_partition(m, "main") == 0 && asc_model_find_partition(m, "other") == ASC_NONE);
    for (int64_t rows = 1; rows <= 8; rows++) check_transpose(m, rows);
    check_bind_errors(m);
    check_cache(m);
}

static void test_memory(const bb_bytes *file) {
    asc_options o = {.struct_bytes = sizeof o, .max_bound = 2};
    asc_status status;
    asc_model *m;
    CHECK(asc_model_from_memory(file->at, file->size, &o, &m, &status) == ASC_OK);
    check_model(m);
    asc_bound *bound;
    asc_tensor x = matrix(4, 3);
    CHECK(asc_bind(m, 0, &x, 1, &bound, &status) == ASC_OK);
    asc_model_release(m); /* the bound keeps it alive */
    float from[12] = {1, 2, 3}, to[12];
    const void *in[] = {from};
    void *outs[] = {to};
    CHECK(asc_execute(bound, in, outs, NULL, NULL) == ASC_OK && to[4] == 2);
    asc_bound_release(bound);
}

static void test_options(const bb_bytes *file) {
    asc_status status;
    asc_model *m;
    asc_options o = {.struct_bytes = sizeof o, .max_memory = 64};
    asc_bound *bound;
    asc_tensor x = matrix(8, 3);
    CHECK(asc_model_from_memory(file->at, file->size, &o, &m, &status) == ASC_OK);
    CHECK(asc_bind(m, 0, &x, 1, &bound, &status) == ASC_E_MEMORY);
    asc_model_release(m);
    o.flags = 1u << 31;
    CHECK(asc_model_from_memory(file->at, file->size, &o, &m, &status) == ASC_E_ARGUMENT && !m);
    o.flags = 0;
    o.trust = "sha256:123";
    CHECK(asc_model_from_memory(file->at, file->size, &o, &m, &status) == ASC_E_ARGUMENT);
}

/* relu of a weight that is added to x would need kernels of other families; a copied weight is enough to
 * see that weights are found behind a mapping and a reading. */
static void test_files(void) {
    builder b = {0};
    float numbers[1500];
    for (int i = 0; i < 1500; i++) numbers[i] = (float)i;
    uint32_t n = bb_const(&b, 1500), seven = bb_const(&b, 7), offset = bb_const(&b, 1493);
    bb_weight(&b, "unused", ASC_FLOAT32, BB_LIST(seven), numbers, 28);
    uint32_t w = bb_weight(&b, "w", ASC_FLOAT32, BB_LIST(n), numbers, sizeof numbers);
    uint32_t v = bb_view(&b, "v", w, BB_LIST(seven), NULL, offset);
    uint32_t y = bb_value(&b, "y", ASC_FLOAT32, ASC_VALUE_OUTPUT, BB_LIST(seven));
    bb_insn(&b, "copy", &v, 1, &y, 1, BB_NOTHING);
    bb_partition(&b, "main", BB_NOTHING, &y, 1);
    bb_bytes file = bb_finish(&b);
    char path[] = "/tmp/asc_test_XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, file.at, file.size) == (ssize_t)file.size);
    for (uint32_t flags = 0; flags <= ASC_OPEN_NO_MMAP; flags += ASC_OPEN_NO_MMAP) {
        asc_options o = {.struct_bytes = sizeof o, .flags = flags | ASC_OPEN_VERIFY_WEIGHTS};
        asc_status status;
        asc_model *m;
        asc_bound *bound;
        float to[7];
        void *outs[] = {to};
        CHECK(asc_model_open(path, &o, &m, &status) == ASC_OK);
        CHECK(asc_bind(m, 0, NULL, 0, &bound, &status) == ASC_OK);
        CHECK(asc_execute(bound, NULL, outs, NULL, &status) == ASC_OK && to[0] == 1493 && to[6] == 1499);
        asc_bound_release(bound);
        asc_model_release(m);
    }
    asc_model *m;
    asc_status status;
    float changed = 5;
    CHECK(pwrite(fd, &changed, 4, (off_t)file.size - 4) == 4);
    CHECK(asc_model_open(path, NULL, &m, &status) == ASC_OK); /* weights are not read at load */
    CHECK(asc_model_verify_weights(m, &status) == ASC_E_CHECKSUM);
    asc_model_release(m);
    CHECK(ftruncate(fd, (off_t)file.size - 1) == 0 && asc_model_open(path, NULL, &m, &status) == ASC_E_FORMAT);
    CHECK(asc_model_open("/nonexistent/x.om", NULL, &m, &status) == ASC_E_IO);
    CHECK(asc_model_open("/tmp", NULL, &m, &status) == ASC_E_IO);
    close(fd);
    unlink(path);
    free(file.at);
}

static void test_npu_model(const bb_bytes *file) {
    asc_status status;
    asc_model *m;
    uint8_t *copy = malloc(file->size);
    memcpy(copy, file->at, file->size);
    copy[180] = 0;
    CHECK(asc_model_from_memory(copy, file->size, NULL, &m, &status) == ASC_E_VERSION && strstr(status.text, "NPU"));
    free(copy);
}

static void test_empty_plan(void) {
    builder b = {0};
    bb_string(&b, "");
    bb_partition(&b, "nothing", BB_NOTHING, BB_NOTHING);
    bb_bytes file = bb_finish(&b);
    asc_model *m;
    asc_bound *bound;
    asc_status status;
    CHECK(asc_model_from_memory(file.at, file.size, NULL, &m, &status) == ASC_OK);
    CHECK(asc_bind(m, 0, NULL, 0, &bound, &status) == ASC_OK);
    CHECK(asc_execute(bound, NULL, NULL, NULL, &status) == ASC_OK);
    asc_bound_release(bound);
    asc_model_release(m);
    free(file.at);
}

int main(void) {
    bb_bytes file = transpose_bundle();
    test_memory(&file);
    test_options(&file);
    test_npu_model(&file);
    test_files();
    test_empty_plan();
    free(file.at);
    return check_failures();
}
