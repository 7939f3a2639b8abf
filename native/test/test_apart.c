/* The second plan of a bundle, for sizes that contradict what the model declares: when it runs, and which second plans
 * are refused. */
#include <unistd.h>

#include "bundle_builder.h"
#include "check.h"
#include "model.h"

static const float numbers[7] = {1, 2, 3, 4, 5, 6, 7};

/* What is wrong with the second plan, or nothing. */
typedef enum fault {
    NOTHING,
    INPUT_TYPE,
    INPUT_RANK,
    INPUT_NAME,
    OUTPUT_NAME,
    MORE_INPUTS,
    MORE_OUTPUTS,
    FEWER_OUTPUTS,
    NO_WEIGHT,
    WEIGHT_DIGEST,
    NO_LIBRARY,
    LIBRARY_PLACE,
    LIBRARY_BYTES,
    A_THIRD_PLAN,
    HOSTS_OF_A_THIRD,
    MAGIC,
    VERIFIED,
    FAULTS
} fault;

/* a [N, 3], b [N or M], c [2 N or K] -> p = copy(a), q = copy(c); beside it, when `hosts`, a host model of r.
 * `apart`: without the names. */
static bb_bytes plan_of(builder *b, int apart, int hosts, fault f) {
    uint32_t n = bb_symbol(b, "N", 1, 100), m = apart ? bb_symbol(b, "M", 1, 100) : n;
    uint32_t two = bb_const(b, 2), three = bb_const(b, 3), seven = bb_const(b, 7);
    uint32_t k = apart ? bb_symbol(b, "K", 1, 100) : bb_dim(b, ASC_DIM_MUL, two, n, 0);
    if (f != NO_WEIGHT) bb_weight(b, "w", ASC_FLOAT32, &seven, 1, numbers, 28);
    uint32_t in[4], out[3], n_in = 3, n_out = 2;
    in[0] = bb_value(b, "a", f == INPUT_TYPE ? ASC_INT32 : ASC_FLOAT32, ASC_VALUE_INPUT, BB_LIST(n, three));
    in[1] = bb_value(b, f == INPUT_NAME ? "x" : "b", ASC_FLOAT32, ASC_VALUE_INPUT, BB_LIST(m, three));
    if (f == INPUT_RANK) bb_value_at(b, in[1])->rank = 1;
    in[2] = bb_value(b, "c", ASC_FLOAT32, ASC_VALUE_INPUT, BB_LIST(k));
    if (f == MORE_INPUTS) in[n_in++] = bb_value(b, "d", ASC_FLOAT32, ASC_VALUE_INPUT, BB_LIST(k));
    out[0] = bb_value(b, "p", bb_value_at(b, in[0])->dtype, ASC_VALUE_OUTPUT, BB_LIST(n, three));
    out[1] = bb_value(b, f == OUTPUT_NAME ? "x" : "q", ASC_FLOAT32, ASC_VALUE_OUTPUT, BB_LIST(k));
    bb_insn(b, "copy", &in[0], 1, &out[0], 1, BB_NOTHING);
    bb_insn(b, "copy", &in[2], 1, &out[1], 1, BB_NOTHING);
    if (f == MORE_OUTPUTS) {
        out[n_out++] = bb_value(b, "r", ASC_FLOAT32, ASC_VALUE_OUTPUT, BB_LIST(k));
        bb_insn(b, "copy", &in[2], 1, &out[2], 1, BB_NOTHING);
    }
    if (f == FEWER_OUTPUTS) { /* what was one is an intermediate value */
        bb_value_at(b, out[1])->kind = ASC_VALUE_TEMP;
        n_out--;
    }
    bb_partition(b, "main", in, n_in, out, n_out);
    if (hosts) {
        asc_partition host = {.name = bb_string(b, "host"), .kind = ASC_PARTITION_HOST, .n_outputs = 1};
        asc_edge r = {.name = bb_string(b, "r"), .dtype = ASC_FLOAT32, .rank = 1, .role = ASC_EDGE_OUTPUT};
        r.first_dim = bb_indices(b, &three, 1);
        host.first_output = bb_indices(b, BB_LIST(bb_add(b, ASC_SEC_EDGES, &r), ASC_NONE));
        host.host_bytes = 7;
        host.host_offset = bb_append(&b->host, ASC_ALIGN, "a model", 7);
        bb_partition_of(b, host);
    }
    if (f != NO_LIBRARY) bb_library(b, "own.so", "none", 4);
    return bb_plan(b);
}

static asc_weight *weight_of(builder *b) {
    return (asc_weight *)b->sections[ASC_SEC_WEIGHTS].at;
}

static void spoil(builder *b, fault f) {
    if (f == WEIGHT_DIGEST) weight_of(b)->sha256[31] ^= 1;
    asc_native *own = (asc_native *)b->sections[ASC_SEC_NATIVE].at;
    if (f == LIBRARY_BYTES) own->bytes--;
    if (f == LIBRARY_PLACE) own->offset = 64;
    if (f == VERIFIED) bb_insn_at(b, 0)->n_in = 9;
    if (f == A_THIRD_PLAN) bb_append(&b->sections[ASC_SEC_APART], 1, "plan", 4);
    if (f == HOSTS_OF_A_THIRD) bb_append(&b->sections[ASC_SEC_APART_HOST], 1, "host", 4);
}

static void forget(builder *b) {
    bb_bytes file = bb_finish(b);
    free(file.at);
}

/* A bundle of both plans. */
static bb_bytes make(int hosts, fault f) {
    builder inner = {0}, outer = {0};
    bb_bytes plan = plan_of(&inner, 1, hosts, f);
    free(plan.at);
    spoil(&inner, f);
    plan = bb_plan(&inner);
    if (f == MAGIC) plan.at[0] ^= 1;
    bb_bytes first = plan_of(&outer, 0, hosts, NOTHING);
    free(first.at);
    bb_append(&outer.sections[ASC_SEC_APART], 1, plan.at, plan.size);
    if (hosts) bb_append(&outer.sections[ASC_SEC_APART_HOST], 1, inner.host.at, inner.host.size);
    free(plan.at);
    forget(&inner);
    return bb_finish(&outer);
}

static int32_t open_it(int hosts, fault f, const asc_options *o, asc_model **model, asc_status *status) {
    bb_bytes file = make(hosts, f);
    int32_t code = asc_model_from_memory(file.at, file.size, o, model, status);
    free(file.at);
    return code;
}

static int said;
static void listen(void *user, int32_t level, const char *text) {
    (void)user;
    said += level == 2 && strstr(text, "don't count where sizes contradict them") != NULL;
}

/* Binds to these sizes; 1 when the first plan does it, 2 for the second, 0 for none. `why` as asc_model_names_hold. */
static int plan_for(asc_model *m, int64_t a, int64_t b, int64_t c, int32_t rank, asc_status *why) {
    asc_tensor in[3] = {{.dims = {a, 3}, .dtype = ASC_FLOAT32, .rank = rank},
                        {.dims = {b, 3}, .dtype = ASC_FLOAT32, .rank = 2},
                        {.dims = {c}, .dtype = ASC_FLOAT32, .rank = 1}};
    asc_bound *bound = NULL;
    asc_status status;
    int first = asc_model_names_hold(m, in, 3, why);
    int32_t code = asc_bind(m, 0, in, 3, &bound, &status);
    float x[900] = {1}, y[900] = {0}, z[900], p[900] = {0}, q[900] = {0};
    int good =
        code == ASC_OK && asc_execute(bound, (const void *[]){x, y, z}, (void *[]){p, q}, NULL, &status) == ASC_OK;
    asc_bound_release(bound);
    return good && p[0] == 1 ? 2 - first : 0;
}

static void test_choice(int hosts) {
    asc_options o = {.struct_bytes = sizeof o, .log = listen};
    asc_model *m;
    asc_status status, why;
    said = 0;
    CHECK(open_it(hosts, NOTHING, &o, &m, &status) == ASC_OK);
    if (!m) return;
    int before = said;
    CHECK(plan_for(m, 4, 4, 8, 2, &why) == 1);
    CHECK(plan_for(m, 4, 5, 8, 2, &why) == 2);
    CHECK(strcmp(why.text, "input 'b': dimension 0 is 5, but 'N' is 4 in another place") == 0);
    CHECK(said == before + 1);
    CHECK(plan_for(m, 4, 4, 9, 2, &why) == 2);
    CHECK(strcmp(why.text, "input 'c': dimension 0 is 9, but must be 8 by what it is called") == 0);
    CHECK(said == before + 1);                 /* once for a model */
    CHECK(plan_for(m, 4, 4, 9, 1, &why) == 0); /* another rank fits neither */
    CHECK(asc_model_names_hold(m, NULL, 0, &why) == 1);
    CHECK(asc_model_apart(m) && asc_model_stand_in(m, 0) == 0 && asc_model_stand_in(m, 99) == ASC_NONE);
    if (hosts) CHECK(asc_model_stand_in(m, 1) == ASC_NONE);
    asc_model *kept = asc_model_retain(asc_model_apart(m));
    asc_model_release(m);
    CHECK(asc_model_find_partition(kept, "main") == 0);
    asc_model_release(kept);
}

static void test_refused(void) {
    for (fault f = INPUT_TYPE; f < FAULTS; f++) {
        asc_model *m = NULL;
        asc_status status;
        int32_t code = open_it(0, f, NULL, &m, &status);
        if (code != ASC_E_FORMAT || m) fprintf(stderr, "fault %d: code %d: %s\n", (int)f, code, status.text);
        CHECK(code == ASC_E_FORMAT && !m);
        asc_model_release(m);
    }
    builder b = {0};
    bb_bytes plan = plan_of(&b, 0, 0, NOTHING);
    free(plan.at);
    bb_append(&b.sections[ASC_SEC_APART_HOST], 1, "a model", 7);
    bb_bytes file = bb_finish(&b);
    asc_model *m = NULL;
    asc_status status;
    CHECK(asc_model_from_memory(file.at, file.size, NULL, &m, &status) == ASC_E_FORMAT && !m);
    CHECK(strstr(status.text, "host models of a plan that isn't there"));
    free(file.at);
}

/* y = copy(x); weight 0 is empty, 1 in a file, and the file holds them from `first` on. */
static bb_bytes plan_of_files(builder *b, uint32_t first) {
    uint32_t none = bb_const(b, 0), seven = bb_const(b, 7);
    asc_weight_file f = {.name = bb_string(b, "w"), .first_weight = first, .n_weights = 2 - first, .bytes = 28};
    bb_weight(b, "e", ASC_FLOAT32, &none, 1, numbers, 0);
    bb_weight(b, "w", ASC_FLOAT32, &seven, 1, numbers, 28);
    b->weights.size = 0;
    bb_add(b, ASC_SEC_WEIGHT_FILES, &f);
    uint32_t x = bb_value(b, "x", ASC_FLOAT32, ASC_VALUE_INPUT, &seven, 1);
    uint32_t y = bb_value(b, "y", ASC_FLOAT32, ASC_VALUE_OUTPUT, &seven, 1);
    bb_insn(b, "copy", &x, 1, &y, 1, BB_NOTHING);
    bb_partition(b, "main", &x, 1, &y, 1);
    return bb_plan(b);
}

static void save(const char *path, const void *bytes, uint64_t size) {
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(bytes, 1, size, f) == size);
    if (f) fclose(f);
}

/* Both plans must mean the same weights by a file. */
static void test_files(void) {
    char folder[] = "/tmp/asc_test_XXXXXX";
    CHECK(mkdtemp(folder) && chdir(folder) == 0);
    save("w", numbers, 28);
    for (uint32_t first = 0; first < 2; first++) {
        builder inner = {0}, outer = {0};
        asc_model *m = NULL;
        bb_bytes plan = plan_of_files(&inner, first), other = plan_of_files(&outer, 1);
        free(other.at);
        bb_append(&outer.sections[ASC_SEC_APART], 1, plan.at, plan.size);
        free(plan.at);
        forget(&inner);
        bb_bytes file = bb_finish(&outer);
        save("m.om", file.at, file.size);
        CHECK(asc_model_open("m.om", NULL, &m, NULL) == (first ? ASC_OK : ASC_E_FORMAT));
        asc_model_release(m);
        free(file.at);
    }
    CHECK(unlink("m.om") == 0 && unlink("w") == 0 && rmdir(folder) == 0);
}

int main(void) {
    test_files();
    test_choice(0);
    test_choice(1);
    test_refused();
    return check_failures();
}
