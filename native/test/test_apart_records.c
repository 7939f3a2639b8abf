/* Second plans that are right by themselves and mean other bytes than the first, or have other partitions. */
#include <unistd.h>

#include "bundle_builder.h"
#include "check.h"
#include "model.h"

static const uint8_t zeros[512];

/* Opens a bundle of both plans, in this folder. */
static int32_t open_both(builder *outer, builder *inner, asc_model **model) {
    bb_bytes plan = bb_plan(inner);
    bb_append(&outer->sections[ASC_SEC_APART], 1, plan.at, plan.size);
    if (inner->host.size) bb_append(&outer->sections[ASC_SEC_APART_HOST], 1, inner->host.at, inner->host.size);
    free(plan.at);
    bb_bytes unused = bb_finish(inner), file = bb_finish(outer);
    free(unused.at);
    FILE *f = fopen("m.om", "wb");
    CHECK(f && fwrite(file.at, 1, file.size, f) == file.size);
    if (f) fclose(f);
    free(file.at);
    *model = NULL;
    asc_status status;
    return asc_model_open("m.om", NULL, model, &status);
}

/* ---- partitions ------------------------------------------------------------------------------ */

typedef enum cut { WHOLE, OTHER_ORDER, OTHER_OUTPUTS, APART, APART_WITH_HOST, CUTS } cut;

static void part(builder *b, const char *name, const uint32_t *in, uint32_t n_in, const uint32_t *out, uint32_t n_out) {
    asc_partition p = {.name = bb_string(b, name), .n_inputs = n_in, .n_outputs = n_out};
    p.first_input = bb_indices(b, in, 2 * n_in);
    p.first_output = bb_indices(b, out, 2 * n_out);
    bb_partition_of(b, p);
}

/* a, b, c [3] -> p, q: copies of a and c, in one partition or in two, with a host's behind them. */
static void plan_in_parts(builder *b, cut how) {
    uint32_t three = bb_const(b, 3), values[5], in[6], out[4];
    const char *const names[] = {"a", "b", "c", "p", "q"};
    for (uint32_t i = 0; i < 5; i++) {
        int kind = i < 3 ? ASC_VALUE_INPUT : i == 4 && how >= APART ? ASC_VALUE_TEMP : ASC_VALUE_OUTPUT;
        values[i] = bb_value(b, names[i], ASC_FLOAT32, kind, &three, 1);
        uint32_t *pair = i < 3 ? in + 2 * i : out + 2 * (i - 3);
        pair[0] = bb_edge(b, values[i], i < 3 ? ASC_EDGE_INPUT : ASC_EDGE_OUTPUT);
        pair[1] = values[i];
    }
    bb_insn(b, "copy", &values[0], 1, &values[3], 1, BB_NOTHING);
    bb_insn(b, "copy", &values[2], 1, &values[4], 1, BB_NOTHING);
    const uint32_t other_order[] = {in[2], in[3], in[0], in[1], in[4], in[5]};
    const uint32_t swapped[] = {out[2], out[3], out[0], out[1]};
    part(b, "main", how == OTHER_ORDER ? other_order : in, 3, how == OTHER_OUTPUTS ? swapped : out,
         how >= APART ? 1 : 2);
    if (how == APART_WITH_HOST) {
        asc_partition host = {.name = bb_string(b, "host"), .kind = ASC_PARTITION_HOST, .host_bytes = 7};
        host.host_offset = bb_append(&b->host, ASC_ALIGN, "a model", 7);
        bb_partition_of(b, host);
    }
    if (how < APART) return;
    in[5] = bb_value(b, "c", ASC_FLOAT32, ASC_VALUE_INPUT, &three, 1);
    out[3] = bb_value(b, "q", ASC_FLOAT32, ASC_VALUE_OUTPUT, &three, 1);
    bb_insn(b, "copy", &in[5], 1, &out[3], 1, BB_NOTHING);
    part(b, "rest", in + 4, 1, out + 2, 1);
}

/* A partition stands in for one with the same inputs and outputs alone. */
static void test_partitions(void) {
    int opened = 0, alike = 0;
    for (cut outside = WHOLE; outside < CUTS; outside++)
        for (cut how = WHOLE; how < CUTS; how++) {
            builder outer = {0}, inner = {0};
            asc_model *m;
            plan_in_parts(&outer, outside);
            plan_in_parts(&inner, how);
            if (open_both(&outer, &inner, &m) != ASC_OK) continue;
            opened++;
            uint32_t found = asc_model_stand_in(m, asc_model_find_partition(m, "main"));
            int same = outside == how || (outside >= APART && how >= APART);
            CHECK((found != ASC_NONE) == same);
            alike += same;
            asc_model_release(m);
        }
    CHECK(opened == CUTS * CUTS && alike == 7);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static void copy_plan(builder *b) {
    uint32_t three = bb_const(b, 3), x = bb_value(b, "x", ASC_FLOAT32, ASC_VALUE_INPUT, &three, 1);
    uint32_t y = bb_value(b, "y", ASC_FLOAT32, ASC_VALUE_OUTPUT, &three, 1);
    bb_insn(b, "copy", &x, 1, &y, 1, BB_NOTHING);
    bb_partition(b, "main", &x, 1, &y, 1);
}

static void plan_with_libraries(builder *b, uint64_t first, uint64_t second) {
    bb_library(b, "one.so", zeros, first);
    if (second) bb_library(b, "two.so", zeros, second);
    copy_plan(b);
}

/* Libraries of zeros may end before their zeros do, or be one. */
static void test_libraries(void) {
    const uint64_t sizes[][2] = {{4, 200}, {60, 200}, {100, 136}, {264, 0}};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++) {
            builder outer = {0}, inner = {0};
            asc_model *m;
            plan_with_libraries(&outer, sizes[i][0], sizes[i][1]);
            plan_with_libraries(&inner, sizes[k][0], sizes[k][1]);
            CHECK(open_both(&outer, &inner, &m) == (i == k ? ASC_OK : ASC_E_FORMAT));
            asc_model_release(m);
        }
}

/* Weights of 12, 28, no and 64 bytes. The second is in a file, the third as well (`two`), or in one of its own; and
 * `more` empty ones follow. */
static void plan_with_files(builder *b, int two, int more) {
    const uint64_t sizes[] = {12, 28, 0, 64, 0}, offsets[] = {0, 0, 64, 64, 128};
    for (int i = 0; i < 4 + more; i++) {
        uint32_t dim = bb_const(b, (int64_t)sizes[i] / 4);
        bb_weight(b, "w", ASC_FLOAT32, &dim, 1, zeros, sizes[i]);
        ((asc_weight *)b->sections[ASC_SEC_WEIGHTS].at)[i].offset = offsets[i];
    }
    b->weights.size = 128;
    asc_weight_file f = {
        .name = bb_string(b, "w"), .first_weight = 1, .n_weights = two ? 2 : 1, .bytes = two ? 64 : 28};
    bb_add(b, ASC_SEC_WEIGHT_FILES, &f);
    copy_plan(b);
}

static void plan_with_each_in_a_file(builder *b, int together) {
    for (int i = 0; i < 2; i++) {
        uint32_t dim = bb_const(b, 7);
        bb_weight(b, "w", ASC_FLOAT32, &dim, 1, zeros, 28);
        if (!together) ((asc_weight *)b->sections[ASC_SEC_WEIGHTS].at)[i].offset = 0;
        asc_weight_file f = {.name = bb_string(b, "w"), .first_weight = (uint32_t)i, .n_weights = 1, .bytes = 28};
        if (together) f.n_weights = 2, f.bytes = 92;
        if (!together || !i) bb_add(b, ASC_SEC_WEIGHT_FILES, &f);
    }
    b->weights.size = 0;
    copy_plan(b);
}

static void test_weights(void) {
    FILE *f = fopen("w", "wb");
    CHECK(f && fwrite(zeros, 1, 28, f) == 28);
    if (f) fclose(f);
    for (int two = 0; two < 2; two++)
        for (int more = 0; more < 2; more++) {
            builder outer = {0}, inner = {0};
            asc_model *m;
            plan_with_files(&outer, 0, 0);
            plan_with_files(&inner, two, more);
            CHECK(open_both(&outer, &inner, &m) == (two || more ? ASC_E_FORMAT : ASC_OK));
            asc_model_release(m);
        }
    for (int together = 0; together < 2; together++) {
        builder outer = {0}, inner = {0};
        asc_model *m;
        plan_with_each_in_a_file(&outer, 0);
        plan_with_each_in_a_file(&inner, together);
        CHECK(open_both(&outer, &inner, &m) == (together ? ASC_E_FORMAT : ASC_OK));
        asc_model_release(m);
    }
}

int main(void) {
    char folder[] = "/tmp/asc_test_XXXXXX";
    CHECK(mkdtemp(folder) && chdir(folder) == 0);
    test_partitions();
    test_libraries();
    test_weights();
    CHECK(unlink("m.om") == 0 && unlink("w") == 0 && rmdir(folder) == 0);
    return check_failures();
}
