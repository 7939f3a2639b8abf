/* Origins: what a bundle says of its values, and which records of it are refused at load. */
#include "bundle_builder.h"
#include "check.h"

/* y = copy(x), x [2, 3, 4], with these records. */
static int32_t open_copy(const asc_origin *records, int count, asc_model **model) {
    builder b = {0};
    uint32_t two = bb_const(&b, 2), three = bb_const(&b, 3), four = bb_const(&b, 4);
    uint32_t x = bb_value(&b, "x", ASC_FLOAT32, ASC_VALUE_INPUT, BB_LIST(two, three, four));
    uint32_t y = bb_value(&b, "y", ASC_FLOAT32, ASC_VALUE_OUTPUT, BB_LIST(two, three, four));
    bb_insn(&b, "copy", &x, 1, &y, 1, BB_NOTHING);
    bb_partition(&b, "main", &x, 1, &y, 1);
    for (int i = 0; i < count; i++) bb_add(&b, ASC_SEC_ORIGINS, &records[i]);
    bb_bytes file = bb_finish(&b);
    int32_t code = asc_model_from_memory(file.at, file.size, NULL, model, NULL);
    free(file.at);
    return code;
}

static void test_refused(asc_origin first, asc_origin second) {
    asc_model *model = NULL;
    CHECK(open_copy((asc_origin[]){first, second}, 2, &model) == ASC_E_FORMAT && !model);
}

int main(void) {
    asc_model *model;
    uint64_t count;
    CHECK(open_copy((asc_origin[]){{0, 0, 0}, {1, 0, 1}}, 2, &model) == ASC_OK);
    const asc_origin *found = asc_model_section(model, ASC_SEC_ORIGINS, &count);
    CHECK(count == 2 && found[1].value == 1 && found[1].last == 1);
    asc_model_release(model);
    test_refused((asc_origin){0, 0, 0}, (asc_origin){2, 0, 0});
    test_refused((asc_origin){1, 0, 0}, (asc_origin){0, 0, 0});
    test_refused((asc_origin){1, 0, 0}, (asc_origin){1, 0, 0});
    test_refused((asc_origin){0, 0, 0}, (asc_origin){1, 1u << 20, 0});
    return check_failures();
}
