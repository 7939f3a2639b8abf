/* Partitions of every kind beside each other: host models, fallbacks and samples, and each way in which the records of
 * them may be wrong. */
#include "bundle_builder.h"
#include "check.h"

/* Edges x -> h -> y -> z. Partition 0, by a library, makes h of x; 1 is its fallback; 2, on the host, makes y of h;
 * 3, on the host, z of y. */
typedef struct parts {
    builder b;
    uint32_t x, h, y, z;
    uint32_t other; /* an edge that is an input of the model as x is */
} parts;

static void add_run(parts *p, uint32_t kind, uint32_t native) {
    builder *b = &p->b;
    uint32_t four = bb_const(b, 4);
    uint32_t in = bb_value(b, "x", ASC_FLOAT32, ASC_VALUE_INPUT, BB_LIST(four));
    uint32_t out = bb_value(b, "h", ASC_FLOAT32, ASC_VALUE_OUTPUT, BB_LIST(four));
    uint32_t insn = bb_insn(b, "copy", &in, 1, &out, 1, BB_NOTHING);
    bb_insn_at(b, insn)->native = native;
    if (kind == ASC_PARTITION_NATIVE) {
        p->x = bb_edge(b, in, ASC_EDGE_INPUT);
        p->other = bb_edge(b, in, ASC_EDGE_INPUT);
        p->h = bb_edge(b, out, ASC_EDGE_OUTPUT);
    }
    asc_partition made = {.name = bb_string(b, "run"), .kind = kind, .n_inputs = 1, .n_outputs = 1};
    made.first_input = bb_indices(b, BB_LIST(p->x, in));
    made.first_output = bb_indices(b, BB_LIST(p->h, out));
    bb_partition_of(b, made);
}

static void add_host(parts *p, uint32_t from, uint32_t to, const char *model) {
    builder *b = &p->b;
    asc_partition made = {.name = bb_string(b, "host"), .kind = ASC_PARTITION_HOST, .n_inputs = 1, .n_outputs = 1};
    made.reason = bb_string(b, "it is so");
    made.first_input = bb_indices(b, BB_LIST(from, ASC_NONE));
    made.first_output = bb_indices(b, BB_LIST(to, ASC_NONE));
    made.host_bytes = strlen(model);
    made.host_offset = bb_append(&b->host, ASC_ALIGN, model, made.host_bytes);
    bb_partition_of(b, made);
}

static void add_sample(parts *p, uint32_t edge, uint32_t count) {
    static const float numbers[8];
    asc_sample s = {.edge = edge, .rank = 1, .dims = {count}, .bytes = 4 * (uint64_t)count};
    s.offset = bb_append(&p->b.samples, ASC_ALIGN, numbers, s.bytes);
    bb_add(&p->b, ASC_SEC_SAMPLES, &s);
}

static parts make(void) {
    parts p = {0};
    builder *b = &p.b;
    uint32_t native = bb_library(b, "own.so", "no library", 10);
    add_run(&p, ASC_PARTITION_NATIVE, native);
    add_run(&p, ASC_PARTITION_FALLBACK, ASC_NONE);
    bb_partition_at(b, 0)->fallback = 1;
    asc_edge like = *((asc_edge *)b->sections[ASC_SEC_EDGES].at + p.h);
    p.y = bb_add(b, ASC_SEC_EDGES, &like);
    p.z = bb_add(b, ASC_SEC_EDGES, &like);
    add_host(&p, p.h, p.y, "a model of y");
    add_host(&p, p.y, p.z, "a model of z, of more than sixty-four bytes, so that the next one isn't near.....");
    add_sample(&p, p.x, 4);
    add_sample(&p, p.h, 3);
    return p;
}

/* ---- changes ----------------------------------------------------------------------------------- */

#define PARTITION(i) bb_partition_at(&p->b, i)
#define SAMPLE(i) ((asc_sample *)p->b.sections[ASC_SEC_SAMPLES].at + (i))
#define EDGE(i) ((asc_edge *)p->b.sections[ASC_SEC_EDGES].at + (i))
#define INDEX(i) ((uint32_t *)p->b.sections[ASC_SEC_INDICES].at)[i]
#define CHANGE(name, ...)        \
    static void name(parts *p) { \
        __VA_ARGS__;             \
    }
#define CHANGES(X)                                                                                     \
    X(unknown_kind, PARTITION(3)->kind = ASC_PARTITION_FALLBACK + 1)                                   \
    X(host_with_values, PARTITION(2)->n_values = 1, PARTITION(1)->n_values--)                          \
    X(host_with_insns, PARTITION(2)->n_insns = 1, PARTITION(1)->n_insns--)                             \
    X(fallback_of_nobody, PARTITION(0)->fallback = 0)                                                  \
    X(fallback_has_one, PARTITION(1)->fallback = 2)                                                    \
    X(fallback_elsewhere, PARTITION(0)->fallback = 2)                                                  \
    X(fallback_of_host, PARTITION(2)->fallback = 3)                                                    \
    X(fallback_beyond, PARTITION(0)->kind = 0, PARTITION(0)->fallback = 9)                             \
    X(fallback_is_host, PARTITION(1)->kind = ASC_PARTITION_HOST)                                       \
    X(fallback_is_native, PARTITION(1)->kind = ASC_PARTITION_NATIVE)                                   \
    X(fallback_first, PARTITION(0)->kind = ASC_PARTITION_FALLBACK, PARTITION(0)->fallback = 0)         \
    X(fallback_calls_library, bb_insn_at(&p->b, 1)->native = 0)                                        \
    X(fallback_reads_other, INDEX(PARTITION(1)->first_input) = p->other)                               \
    X(fallback_writes_other, INDEX(PARTITION(1)->first_output) = p->y)                                 \
    X(fallback_reads_less, PARTITION(1)->n_inputs = 0)                                                 \
    X(fallback_writes_less, PARTITION(1)->n_outputs = 0)                                               \
    X(inputs_beyond, PARTITION(3)->first_input = UINT32_MAX)                                           \
    X(outputs_beyond, PARTITION(3)->first_output = UINT32_MAX)                                         \
    X(too_many_inputs, PARTITION(3)->n_inputs = UINT32_MAX)                                            \
    X(too_many_outputs, PARTITION(3)->n_outputs = 1u << 20)                                            \
    X(edge_beyond, INDEX(PARTITION(3)->first_output) = 99)                                             \
    X(edge_not_made, INDEX(PARTITION(2)->first_input) = p->z)                                          \
    X(edge_made_twice, INDEX(PARTITION(3)->first_output) = p->y)                                       \
    X(edge_by_nobody, PARTITION(3)->n_outputs = 0)                                                     \
    X(host_value, INDEX(PARTITION(3)->first_output + 1) = 0)                                           \
    X(value_of_another, INDEX(PARTITION(1)->first_input + 1) = 0)                                      \
    X(value_beyond, INDEX(PARTITION(1)->first_input + 1) = 77)                                         \
    X(value_of_other_kind, INDEX(PARTITION(1)->first_input + 1) = 3)                                   \
    X(edge_of_other_type, EDGE(p->x)->dtype = ASC_INT32)                                               \
    X(edge_of_other_rank, EDGE(p->x)->rank = 0)                                                        \
    X(edge_of_no_type, EDGE(p->z)->dtype = 99)                                                         \
    X(edge_of_many_dims, EDGE(p->z)->rank = 200)                                                       \
    X(edge_of_no_role, EDGE(p->z)->role = 4)                                                           \
    X(edge_padded, EDGE(p->z)->pad = 1)                                                                \
    X(edge_dims_beyond, EDGE(p->z)->first_dim = UINT32_MAX)                                            \
    X(host_empty, PARTITION(2)->host_bytes = 0)                                                        \
    X(host_elsewhere, PARTITION(3)->host_offset += 64)                                                 \
    X(host_too_long, PARTITION(3)->host_bytes += 1)                                                    \
    X(host_too_short, PARTITION(3)->host_bytes -= 1)                                                   \
    X(host_far, PARTITION(3)->host_offset = UINT64_MAX - 63)                                           \
    X(host_of_native, PARTITION(0)->host_bytes = 1)                                                    \
    X(host_at_native, PARTITION(0)->host_offset = 64)                                                  \
    X(host_gap, p->b.host.at[20] = 1)                                                                  \
    X(host_not_there, p->b.host.size = 0)                                                              \
    X(host_cut, p->b.host.size = 32)                                                                   \
    X(native_too_long, ((asc_native *)p->b.sections[ASC_SEC_NATIVE].at)->bytes++)                      \
    X(native_too_short, ((asc_native *)p->b.sections[ASC_SEC_NATIVE].at)->bytes--)                     \
    X(native_empty, ((asc_native *)p->b.sections[ASC_SEC_NATIVE].at)->bytes = 0)                       \
    X(native_padded, ((asc_native *)p->b.sections[ASC_SEC_NATIVE].at)->pad = 1)                        \
    X(sample_of_no_edge, SAMPLE(0)->edge = 99)                                                         \
    X(sample_of_many_dims, SAMPLE(0)->rank = ASC_MAX_RANK + 1)                                         \
    X(sample_of_another_rank, SAMPLE(0)->rank = 2, SAMPLE(0)->dims[1] = 1)                             \
    X(sample_of_no_size, EDGE(p->z)->dtype = ASC_STRING, SAMPLE(1)->edge = p->z, SAMPLE(1)->bytes = 0) \
    X(sample_dims_behind, SAMPLE(0)->dims[3] = 1)                                                      \
    X(sample_overflows, SAMPLE(0)->dims[0] = INT64_MAX)                                                \
    X(sample_too_short, SAMPLE(0)->bytes = 12)                                                         \
    X(sample_elsewhere, SAMPLE(1)->offset = 0)                                                         \
    X(samples_longer, bb_append(&p->b.samples, 1, "x", 1))                                             \
    X(samples_gap, p->b.samples.at[17] = 1)                                                            \
    X(samples_not_there, p->b.samples.size = 0)
CHANGES(CHANGE)
#define ENTRY(name, ...) {#name, name},
static const struct {
    const char *name;
    void (*change)(parts *p);
} changes[] = {CHANGES(ENTRY)};

static int32_t open_it(parts *p, const asc_options *options, asc_model **model, asc_status *status) {
    bb_bytes file = bb_finish(&p->b);
    int32_t code = asc_model_from_memory(file.at, file.size, options, model, status);
    free(file.at);
    return code;
}

static void test_changes(void) {
    for (uint32_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        parts p = make();
        asc_model *model = NULL;
        asc_status status;
        changes[i].change(&p);
        int32_t code = open_it(&p, NULL, &model, &status);
        if (code != ASC_E_FORMAT || model) fprintf(stderr, "%s: code %d\n", changes[i].name, code);
        CHECK(code == ASC_E_FORMAT && !model);
        asc_model_release(model);
    }
}

static int said;
static void listen(void *user, int32_t level, const char *text) {
    (void)user;
    said += level == 0 && strstr(text, "partition run runs interpreted: the native library 'own.so'") != NULL;
}

/* The fallback runs where its library isn't, and that is said to who listens. */
static void test_fallback(void) {
    parts p = make();
    asc_options o = {.struct_bytes = sizeof o, .flags = ASC_OPEN_NO_NATIVE, .log = listen};
    asc_model *model;
    asc_status status;
    asc_bound *bound = NULL, *none = NULL;
    asc_tensor x = {.dims = {4}, .strides = {1}, .dtype = ASC_FLOAT32, .rank = 1};
    float in[4] = {1, 2, 3, 4}, out[4] = {0};
    CHECK(open_it(&p, &o, &model, &status) == ASC_OK && said == 1);
    if (!model) return;
    CHECK(asc_model_partition_in_use(model, 0) == 1 && asc_model_partition_in_use(model, 2) == 2);
    CHECK(asc_bind(model, 0, &x, 1, &bound, &status) == ASC_OK);
    CHECK(bound && asc_execute(bound, (const void *[]){in}, (void *[]){out}, NULL, &status) == ASC_OK && out[3] == 4);
    CHECK(asc_bind(model, 2, &x, 1, &none, &status) != ASC_OK && !none);
    asc_bound_release(bound);
    asc_model_release(model);
    p = make();
    CHECK(open_it(&p, NULL, &model, &status) == ASC_OK); /* nobody listens */
    asc_model_release(model);
}

/* ---- names ------------------------------------------------------------------------------------- */

/* Opens a bundle whose symbol has this name. */
static int32_t open_named(const char *name) {
    builder b = {0};
    asc_model *model = NULL;
    uint32_t n = bb_symbol(&b, name, 1, 9);
    uint32_t x = bb_value(&b, "x", ASC_FLOAT32, ASC_VALUE_INPUT, BB_LIST(n));
    uint32_t y = bb_value(&b, "y", ASC_FLOAT32, ASC_VALUE_OUTPUT, BB_LIST(n));
    bb_insn(&b, "copy", &x, 1, &y, 1, BB_NOTHING);
    bb_partition(&b, "main", &x, 1, &y, 1);
    bb_bytes file = bb_finish(&b);
    int32_t code = asc_model_from_memory(file.at, file.size, NULL, &model, NULL);
    asc_model_release(model);
    free(file.at);
    return code;
}

/* The edges of what UTF-8 allows. */
static void test_names(void) {
    static const char *const good[] = {"\x7f",         "\xc2\x80",     "\xdf\xbf",         "\xe0\xa0\x80",
                                       "\xed\x9f\xbf", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {"\x80",         "\xc1\xbf",         "\xc2",         "\xc2g",
                                      "\xe0\x9f\xbf", "\xed\xa0\x80",     "\xe1\x80",     "\xe1\x80g",
                                      "\xf5\x80\x80", "\xf0\x8f\xbf\xbf", "\xff",         "\xf4\x90\x80\x80",
                                      "\xf1\x80\x80", "\xf1\x80\x80g",    "\xe1\xc0\x80", "\xf1\xc0\x80\x80"};
    for (uint32_t i = 0; i < sizeof good / sizeof *good; i++) CHECK(open_named(good[i]) == ASC_OK);
    for (uint32_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK(open_named(bad[i]) == ASC_E_FORMAT);
    char *long_name = malloc(4097);
    memset(long_name, 'n', 4096);
    long_name[4096] = 0;
    CHECK(open_named(long_name) == ASC_E_FORMAT);
    CHECK(open_named(long_name + 1) == ASC_OK);
    free(long_name);
}

int main(void) {
    test_changes();
    test_fallback();
    test_names();
    return check_failures();
}
