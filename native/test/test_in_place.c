/* When an instruction may write over its input: a whole temporary that dies there and is seen nowhere else.
 * The kernel is softmax, which works in place; ints: first axis, number of axes. */
#include "bundle_builder.h"
#include "check.h"

enum { DIES, READ_LATER, VIEWED_LATER, IS_INPUT, IS_VIEW, CASES };

/* x -> a = copy(x) -> b = softmax(a) -> y = concat(b, what the case keeps); b is value 3. */
static bb_bytes chain_bundle(int which) {
    builder b = {0};
    uint32_t n = bb_const(&b, 8), zero = bb_const(&b, 0), one = bb_const(&b, 1), both = bb_const(&b, 16);
    uint32_t x = bb_value(&b, "x", ASC_FLOAT32, ASC_VALUE_INPUT, BB_LIST(n));
    uint32_t a = bb_value(&b, "a", ASC_FLOAT32, ASC_VALUE_TEMP, BB_LIST(n));
    uint32_t v = bb_view(&b, "v", a, BB_LIST(n), NULL, ASC_NONE);
    uint32_t s = bb_value(&b, "b", ASC_FLOAT32, ASC_VALUE_TEMP, BB_LIST(n));
    uint32_t y = bb_value(&b, "y", ASC_FLOAT32, ASC_VALUE_OUTPUT, BB_LIST(both));
    uint32_t from = which == IS_INPUT ? x : which == IS_VIEW ? v : a;
    uint32_t kept = which == READ_LATER ? a : which == VIEWED_LATER ? v : x;
    bb_insn(&b, "copy", &x, 1, &a, 1, BB_NOTHING);
    bb_insn(&b, "softmax", &from, 1, &s, 1, BB_LIST(zero, one));
    bb_insn(&b, "concat", BB_LIST(s, kept), &y, 1, &zero, 1);
    bb_partition(&b, "main", &x, 1, &y, 1);
    return bb_finish(&b);
}

static void check_case(int which) {
    bb_bytes file = chain_bundle(which);
    asc_model *m;
    asc_bound *bound;
    asc_status status;
    asc_tensor shape = {.dims = {8}, .dtype = ASC_FLOAT32, .rank = 1};
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[16], sum = 0;
    const void *in[] = {x};
    void *out[] = {y};
    uint64_t a = 0, b = 0;
    CHECK(asc_model_from_memory(file.at, file.size, NULL, &m, &status) == ASC_OK);
    CHECK(asc_bind(m, 0, &shape, 1, &bound, &status) == ASC_OK);
    asc_bound_value(bound, 1, NULL, &a, NULL, NULL, NULL);
    asc_bound_value(bound, 3, NULL, &b, NULL, NULL, NULL);
    CHECK(asc_bound_arena_bytes(bound) == (which == DIES || which == IS_INPUT ? 64 : 128));
    CHECK((a == b) == (which == DIES || which == IS_INPUT)); /* IS_INPUT: a is dead by then, so its place is free */
    CHECK(asc_execute(bound, in, out, NULL, &status) == ASC_OK);
    for (int i = 0; i < 8; i++) {
        sum += y[i];
        CHECK(y[8 + i] == x[i] && x[i] == (float)(i + 1));
    }
    CHECK(sum > 0.999f && sum < 1.001f);
    asc_bound_release(bound);
    asc_model_release(m);
    free(file.at);
}

int main(void) {
    for (int which = 0; which < CASES; which++) check_case(which);
    return check_failures();
}
