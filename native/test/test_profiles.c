/* Profiles: the only sizes that a model with profiles binds, and which lists of them are refused at load. */
#include "bundle_builder.h"
#include "check.h"

/* y = copy(x), x [H, W] with H and W in 1..100. */
static int32_t open_copy(const asc_profile_size *sizes, uint32_t n, asc_model **model, asc_status *status) {
    builder b = {0};
    uint32_t h = bb_symbol(&b, "H", 1, 100), w = bb_symbol(&b, "W", 1, 100);
    uint32_t x = bb_value(&b, "x", ASC_FLOAT32, ASC_VALUE_INPUT, BB_LIST(h, w));
    uint32_t y = bb_value(&b, "y", ASC_FLOAT32, ASC_VALUE_OUTPUT, BB_LIST(h, w));
    bb_insn(&b, "copy", &x, 1, &y, 1, BB_NOTHING);
    bb_partition(&b, "main", &x, 1, &y, 1);
    for (uint32_t i = 0; i < n; i++) bb_add(&b, ASC_SEC_PROFILES, &sizes[i]);
    bb_bytes file = bb_finish(&b);
    int32_t code = asc_model_from_memory(file.at, file.size, NULL, model, status);
    free(file.at);
    return code;
}

static int32_t bind(asc_model *model, int64_t h, int64_t w, asc_status *status) {
    asc_tensor x = {.dims = {h, w}, .strides = {w, 1}, .dtype = ASC_FLOAT32, .rank = 2};
    asc_bound *bound;
    int32_t code = asc_bind(model, 0, &x, 1, &bound, status);
    asc_bound_release(bound);
    return code;
}

static void test_binding(void) {
    const asc_profile_size sizes[] = {{0, 0, 4}, {0, 1, 6}, {1, 0, 8}, {1, 1, 8}};
    asc_model *model;
    asc_status status;
    CHECK(open_copy(sizes, 4, &model, &status) == ASC_OK);
    CHECK(bind(model, 4, 6, &status) == ASC_OK && bind(model, 8, 8, &status) == ASC_OK);
    CHECK(bind(model, 4, 8, &status) == ASC_E_SHAPE);
    CHECK(strcmp(status.text, "'H' = 4, 'W' = 8: none of the model's profiles (4,6; 8,8)") == 0);
    CHECK(bind(model, 200, 8, &status) == ASC_E_SHAPE);
    asc_model_release(model);
}

static void test_many_profiles_are_cut_short_in_a_message(void) {
    asc_profile_size sizes[100];
    asc_model *model;
    asc_status status;
    for (uint32_t i = 0; i < 100; i++) sizes[i] = (asc_profile_size){i, 1, i + 1};
    sizes[99].size = 1;
    CHECK(open_copy(sizes, 100, &model, &status) == ASC_OK);
    CHECK(bind(model, 7, 99, &status) == ASC_OK && bind(model, 7, 100, &status) == ASC_E_SHAPE);
    CHECK(strstr(status.text, "; ...)") != NULL);
    asc_model_release(model);
}

static void refuse(const asc_profile_size *sizes, uint32_t n) {
    asc_model *model = NULL;
    CHECK(open_copy(sizes, n, &model, NULL) == ASC_E_FORMAT && !model);
}

static void test_refused_lists(void) {
    const asc_profile_size unequal[] = {{0, 0, 4}, {0, 1, 6}, {1, 0, 8}}, late[] = {{1, 0, 4}};
    const asc_profile_size other[] = {{0, 0, 4}, {1, 1, 4}}, beyond[] = {{0, 2, 4}}, huge[] = {{0, 0, 101}};
    const asc_profile_size negative[] = {{0, 0, -1}}, gap[] = {{0, 0, 4}, {2, 0, 5}};
    refuse(unequal, 3);
    refuse(late, 1);
    refuse(other, 2);
    refuse(beyond, 1);
    refuse(huge, 1);
    refuse(negative, 1);
    refuse(gap, 2);
}

int main(void) {
    test_binding();
    test_many_profiles_are_cut_short_in_a_message();
    test_refused_lists();
    return check_failures();
}
