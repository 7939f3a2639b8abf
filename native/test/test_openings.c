/* Options of opening, images that are written in place, and what may be asked of an open bundle. */
#include <stdlib.h>
#include <string.h>

#include "ascend_rt.h"
#include "check.h"
#include "sample_bundle.h"

static uint8_t *file;
static uint64_t size;

static int32_t open_with(const asc_options *o, asc_status *status) {
    asc_model *m = NULL;
    int32_t code = asc_model_from_memory(file, size, o, &m, status);
    CHECK((code == ASC_OK) == (m != NULL));
    asc_model_release(m);
    return code;
}

static int said;
static void listen(void *user, int32_t level, const char *text) {
    CHECK(user == &said && level >= 0 && text[0]);
    said++;
}

static void test_options(void) {
    asc_status status;
    asc_options o = {.struct_bytes = 4};
    CHECK(open_with(&o, &status) == ASC_E_ARGUMENT && strstr(status.text, "struct_bytes"));
    o = (asc_options){.struct_bytes = 8};
    CHECK(open_with(&o, &status) == ASC_OK);
    o = (asc_options){.struct_bytes = sizeof o, .flags = 1u << 31};
    CHECK(open_with(&o, &status) == ASC_E_ARGUMENT && strstr(status.text, "unknown bits"));
    o = (asc_options){.struct_bytes = sizeof o, .trust = "some"};
    CHECK(open_with(&o, &status) == ASC_E_ARGUMENT && strstr(status.text, "trust must be"));
    o = (asc_options){.struct_bytes = sizeof o, .num_threads = 1 << 20, .max_bound = 3};
    CHECK(open_with(&o, &status) == ASC_OK);
    o = (asc_options){.struct_bytes = sizeof o, .trust = "all", .log = listen, .log_user = &said};
    CHECK(open_with(&o, &status) == ASC_OK && said == 1); /* the library is none, and that is said */
    CHECK(open_with(NULL, NULL) == ASC_OK);
}

static void test_images(void) {
    asc_status status;
    asc_model *m = NULL;
    CHECK(!asc_image_new(UINT64_MAX, &status) && status.code == ASC_E_ARGUMENT);
    CHECK(!asc_image_new(INT64_MAX / 4, &status) && status.code == ASC_E_MEMORY);
    asc_image *image = asc_image_new(size + (8u << 20), &status);
    CHECK(image != NULL);
    if (!image) return;
    asc_image_populate(image, 6u << 20);
    memcpy(asc_image_bytes(image), file, size);
    asc_image_shrink(image, size);
    CHECK(asc_image_open(image, NULL, &m, &status) == ASC_OK && m);
    CHECK(!asc_image_bytes(image));
    asc_image_populate(image, 1);
    asc_image_shrink(image, 1);
    asc_model *again = NULL;
    CHECK(asc_image_open(image, NULL, &again, &status) == ASC_E_ARGUMENT && !again);
    asc_image_free(image);
    asc_image_free(NULL);
    asc_model *kept = asc_model_retain(m);
    asc_model_release(m);
    CHECK(asc_model_section(kept, ASC_SEC_VALUES, NULL));
    asc_model_release(kept);
    image = asc_image_new(100, &status);
    CHECK(image && asc_image_open(image, NULL, &again, &status) == ASC_E_FORMAT && !again);
    asc_image_free(image);
}

static void test_questions(void) {
    asc_status status;
    asc_model *m = NULL;
    uint64_t n = 7;
    CHECK(asc_model_from_memory(file, size, NULL, &m, &status) == ASC_OK);
    if (!m) return;
    CHECK(!asc_model_section(m, UINT32_MAX, &n) && n == 0);
    CHECK(!asc_model_section(m, ASC_SEC_WEIGHT_FILES, &n) && n == 0);
    CHECK(!asc_model_part(m, 4242, &n) && n == 0 && !asc_model_part(m, 4242, NULL));
    CHECK(asc_model_part(m, ASC_PART_PLAN, &n) && n > 0);
    CHECK(asc_model_find_partition(m, "tail") == 2 && asc_model_find_partition(m, "none") == ASC_NONE);
    CHECK(asc_model_partition_in_use(m, 0) == 0 && asc_model_partition_in_use(m, 99) == ASC_NONE);
    CHECK(asc_model_native_loaded(m, 0) == 0 && asc_model_native_loaded(m, 99) == 0);
    CHECK(!asc_model_apart(m) && asc_model_stand_in(m, 0) == ASC_NONE);
    CHECK(asc_model_verify_weights(m, &status) == ASC_OK);
    asc_model_release(m);
    asc_model_release(NULL);
}

int main(void) {
    file = sample_bundle(&size);
    test_options();
    test_images();
    test_questions();
    free(file);
    return check_failures();
}
