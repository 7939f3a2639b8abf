/* Custom-operator libraries in bundles: trust, loading, shapes, attributes, errors.
 * Arguments: two builds of custom_scale.c, which scale by 2 and by 3. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle_builder.h"
#include "check.h"
#include "sha256.h"

static bb_bytes read_file(const char *path) {
    bb_bytes b = {0};
    FILE *f = fopen(path, "rb");
    uint8_t piece[4096];
    for (size_t n; f && (n = fread(piece, 1, sizeof piece, f)) > 0;) bb_append(&b, 1, piece, n);
    if (f) fclose(f);
    CHECK(b.size > 0);
    return b;
}

/* y [4] = op(x [4]), with an attribute when alpha is not 0. */
static bb_bytes library_bundle(bb_bytes library, const char *op, int64_t alpha) {
    builder b = {0};
    uint32_t four = bb_const(&b, 4), native = bb_library(&b, "scale.so", library.at, library.size);
    uint32_t x = bb_value(&b, "x", ASC_FLOAT32, ASC_VALUE_INPUT, BB_LIST(four));
    uint32_t y = bb_value(&b, "y", ASC_FLOAT32, ASC_VALUE_OUTPUT, BB_LIST(four));
    uint32_t insn = bb_insn(&b, op, &x, 1, &y, 1, BB_NOTHING);
    bb_insn_at(&b, insn)->native = native;
    if (alpha) {
        uint32_t node = bb_const(&b, alpha);
        asc_attr_record a = {
            .name = bb_string(&b, "alpha"), .kind = ASC_ATTR_INTS, .first = bb_indices(&b, &node, 1), .count = 1};
        bb_insn_at(&b, insn)->first_attr = bb_add(&b, ASC_SEC_ATTRS, &a);
        bb_insn_at(&b, insn)->n_attrs = 1;
    }
    bb_partition(&b, "main", &x, 1, &y, 1);
    return bb_finish(&b);
}

/* Binds and runs; y[1] where x[1] is 1. */
static int32_t run(const bb_bytes *file, const char *trust, uint32_t flags, float *y1, asc_status *status) {
    asc_options o = {.struct_bytes = sizeof o, .flags = flags, .trust = trust};
    asc_model *m;
    asc_bound *bound = NULL;
    asc_tensor x = {.dims = {4}, .strides = {1}, .dtype = ASC_FLOAT32, .rank = 1};
    float in[4] = {0, 1, 2, 3}, out[4] = {0};
    const void *ins[] = {in};
    void *outs[] = {out};
    int32_t code = asc_model_from_memory(file->at, file->size, &o, &m, status);
    CHECK(code == ASC_OK); /* a library that isn't trusted does not keep a bundle from opening */
    code = asc_bind(m, 0, &x, 1, &bound, status);
    CHECK(asc_model_native_loaded(m, 0) == (code != ASC_E_TRUST));
    if (code == ASC_OK) code = asc_execute(bound, ins, outs, NULL, status);
    *y1 = out[1];
    asc_bound_release(bound);
    asc_model_release(m);
    return code;
}

static void write_store(const char *path, const char *text, mode_t mode) {
    FILE *f = fopen(path, "w");
    fputs(text, f);
    fclose(f);
    chmod(path, mode);
}

static void test_trust(bb_bytes library) {
    bb_bytes file = library_bundle(library, "Scale", 0);
    asc_status status;
    float y;
    uint8_t digest[32];
    char hex[65], option[80], line[100], path[] = "/tmp/asc_trust_XXXXXX";
    asc_sha256(library.at, library.size, digest);
    asc_hex(digest, hex);
    CHECK(run(&file, NULL, 0, &y, &status) == ASC_E_TRUST);
    CHECK(strstr(status.text, "scale.so") && strstr(status.text, hex) && strcmp(status.node_name, "Scale") == 0);
    CHECK(run(&file, "all", ASC_OPEN_NO_NATIVE, &y, &status) == ASC_E_TRUST);
    CHECK(run(&file, "all", 0, &y, &status) == ASC_OK && y == 2);
    snprintf(option, sizeof option, "sha256:%s", hex);
    CHECK(run(&file, option, 0, &y, &status) == ASC_OK && y == 2);
    option[70] = option[70] == '0' ? '1' : '0';
    CHECK(run(&file, option, 0, &y, &status) == ASC_E_TRUST);
    close(mkstemp(path));
    setenv("ASCEND_EP_TRUST", path, 1);
    snprintf(line, sizeof line, "# mine\nsha256 %s built here\n", hex);
    write_store(path, line, 0600);
    CHECK(run(&file, NULL, 0, &y, &status) == ASC_OK && y == 2);
    chmod(path, 0620);
    CHECK(run(&file, NULL, 0, &y, &status) == ASC_E_TRUST); /* others could have written it */
    line[20] = line[20] == '0' ? '1' : '0';
    write_store(path, line, 0600);
    CHECK(run(&file, NULL, 0, &y, &status) == ASC_E_TRUST);
    unsetenv("ASCEND_EP_TRUST");
    unlink(path);
    free(file.at);
}

static void test_errors(bb_bytes library) {
    static const struct {
        const char *op;
        int32_t code;
        const char *text;
    } CASES[] = {{"OtherShape", ASC_E_SHAPE, "infers another type or shape for output 0"},
                 {"Refuse", ASC_E_RUN, "operator 'Refuse': not me"},
                 {"NoCompute", ASC_E_VERSION, "incomplete"},
                 {"Missing", ASC_E_UNSUPPORTED, "has no operator 'Missing'"}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        bb_bytes file = library_bundle(library, CASES[i].op, 0);
        asc_status status;
        float y;
        CHECK(run(&file, "all", 0, &y, &status) == CASES[i].code);
        CHECK(strstr(status.text, CASES[i].text) && strcmp(status.node_name, CASES[i].op) == 0);
        free(file.at);
    }
    bb_bytes text = {0};
    bb_append(&text, 1, "no library", 10);
    bb_bytes file = library_bundle(text, "Scale", 0);
    asc_status status;
    asc_options o = {.struct_bytes = sizeof o, .trust = "all"};
    asc_model *m;
    asc_bound *bound;
    asc_tensor x = {.dims = {4}, .dtype = ASC_FLOAT32, .rank = 1};
    CHECK(asc_model_from_memory(file.at, file.size, &o, &m, &status) == ASC_OK);
    CHECK(asc_bind(m, 0, &x, 1, &bound, &status) == ASC_E_IO && strstr(status.text, "scale.so"));
    asc_model_release(m);
    free(text.at);
    free(file.at);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    unsetenv("ASCEND_EP_TRUST");
    setenv("HOME", "/nonexistent", 1);
    bb_bytes two = read_file(argv[1]), three = read_file(argv[2]);
    asc_status status;
    float y;
    test_trust(two);
    test_errors(two);
    bb_bytes with_attr = library_bundle(two, "Scale", 7), other = library_bundle(three, "Scale", 0);
    CHECK(run(&with_attr, "all", 0, &y, &status) == ASC_OK && y == 7);
    CHECK(run(&other, "all", 0, &y, &status) == ASC_OK && y == 3); /* not the library loaded before it */
    CHECK(asc_custom_op_load(argv[1], "Scale", &status) != NULL);
    CHECK(asc_custom_op_load(argv[1], "Missing", &status) == NULL && status.code == ASC_E_UNSUPPORTED);
    CHECK(asc_custom_op_load("no such file", "Scale", &status) == NULL && status.code == ASC_E_IO);
    free(two.at);
    free(three.at);
    free(with_attr.at);
    free(other.at);
    return check_failures();
}
