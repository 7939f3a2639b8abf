/* Constraints: sizes of inputs that must fit together, and which records of them are refused at load. */
#include "bundle_builder.h"
#include "check.h"

/* y = copy(x), x [T, P] with T = P, or one of them 1 as or_one says, or whatever else `other` is of. */
static int32_t open_copy(uint32_t or_one, uint32_t beyond, asc_model **model, asc_status *status) {
    builder b = {0};
    uint32_t t = bb_symbol(&b, "T", 1, 100), p = bb_symbol(&b, "P", 1, 100);
    uint32_t x = bb_value(&b, "x", ASC_FLOAT32, ASC_VALUE_INPUT, BB_LIST(t, p));
    uint32_t y = bb_value(&b, "y", ASC_FLOAT32, ASC_VALUE_OUTPUT, BB_LIST(t, p));
    asc_constraint a = {t, p + beyond, or_one, bb_string(&b, "'T' must be 'P'")};
    bb_insn(&b, "copy", &x, 1, &y, 1, BB_NOTHING);
    bb_partition(&b, "main", &x, 1, &y, 1);
    bb_add(&b, ASC_SEC_CONSTRAINTS, &a);
    bb_bytes file = bb_finish(&b);
    int32_t code = asc_model_from_memory(file.at, file.size, NULL, model, status);
    free(file.at);
    return code;
}

static int32_t bind(asc_model *model, int64_t t, int64_t p, asc_status *status) {
    asc_tensor x = {.dims = {t, p}, .strides = {p, 1}, .dtype = ASC_FLOAT32, .rank = 2};
    asc_bound *bound;
    int32_t code = asc_bind(model, 0, &x, 1, &bound, status);
    asc_bound_release(bound);
    return code;
}

static void test_binding(uint32_t or_one) {
    asc_model *model;
    asc_status status;
    CHECK(open_copy(or_one, 0, &model, &status) == ASC_OK);
    CHECK(bind(model, 4, 4, &status) == ASC_OK);
    CHECK(bind(model, 4, 6, &status) == ASC_E_SHAPE);
    CHECK(strcmp(status.text, "'T' must be 'P': given are 4 and 6") == 0);
    CHECK(bind(model, 1, 6, &status) == (or_one ? ASC_OK : ASC_E_SHAPE));
    CHECK(bind(model, 6, 1, &status) == (or_one == 2 ? ASC_OK : ASC_E_SHAPE));
    asc_model_release(model);
}

static void test_refused_records(void) {
    asc_model *model = NULL;
    CHECK(open_copy(3, 0, &model, NULL) == ASC_E_FORMAT && !model);
    CHECK(open_copy(0, 99, &model, NULL) == ASC_E_FORMAT && !model);
}

int main(void) {
    test_binding(0);
    test_binding(1);
    test_binding(2);
    test_refused_records();
    return check_failures();
}
