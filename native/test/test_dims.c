/* Dimension expressions: Python's division, every overflow, and symbols nobody binds. */
#include "bundle_builder.h"
#include "check.h"
#include "dims.h"

/* State and value of op(a, b). */
static uint8_t evaluate(uint32_t op, int64_t a, int64_t b, int64_t *value) {
    asc_dim nodes[3] = {{.value = a}, {.value = b}, {.op = op, .a = 0, .b = 1}};
    asc_plan plan = {0};
    asc_dims dims;
    plan.tables[ASC_SEC_DIMS] = (asc_table){.data = nodes, .count = 3};
    CHECK(asc_dims_make(&dims, &plan, NULL) == ASC_OK);
    asc_dims_evaluate(&dims, &plan);
    uint8_t state = dims.states[2];
    *value = dims.nodes[2];
    asc_dims_free(&dims);
    return state;
}

static void expect(uint32_t op, int64_t a, int64_t b, int64_t value) {
    int64_t got;
    CHECK(evaluate(op, a, b, &got) == ASC_DIM_KNOWN && got == value);
}

static void expect_none(uint32_t op, int64_t a, int64_t b, uint8_t state) {
    int64_t got;
    CHECK(evaluate(op, a, b, &got) == state);
}

static void test_operators(void) {
    expect(ASC_DIM_ADD, 2, 3, 5);
    expect(ASC_DIM_SUB, 2, 3, -1);
    expect(ASC_DIM_MUL, -2, 3, -6);
    expect(ASC_DIM_MAX, -2, 3, 3);
    expect(ASC_DIM_MIN, -2, 3, -2);
    expect(ASC_DIM_FLOORDIV, 7, 2, 3);
    expect(ASC_DIM_FLOORDIV, -7, 2, -4);
    expect(ASC_DIM_FLOORDIV, 7, -2, -4);
    expect(ASC_DIM_FLOORDIV, -7, -2, 3);
    expect(ASC_DIM_FLOORDIV, -6, 2, -3);
    expect(ASC_DIM_FLOORDIV, INT64_MIN, 2, INT64_MIN / 2);
    expect(ASC_DIM_FLOORDIV, INT64_MAX, -1, -INT64_MAX);
    expect(ASC_DIM_MOD, 7, 3, 1);
    expect(ASC_DIM_MOD, -7, 3, 2);
    expect(ASC_DIM_MOD, 7, -3, -2);
    expect(ASC_DIM_MOD, -7, -3, -1);
    expect(ASC_DIM_MOD, INT64_MIN, -1, 0);
    expect(ASC_DIM_MOD, INT64_MIN, INT64_MAX, INT64_MAX - 1);
}

static void test_overflow(void) {
    expect_none(ASC_DIM_ADD, INT64_MAX, 1, ASC_DIM_OVERFLOW);
    expect_none(ASC_DIM_SUB, INT64_MIN, 1, ASC_DIM_OVERFLOW);
    expect_none(ASC_DIM_MUL, INT64_MAX, 2, ASC_DIM_OVERFLOW);
    expect_none(ASC_DIM_MUL, INT64_MIN, -1, ASC_DIM_OVERFLOW);
    expect_none(ASC_DIM_FLOORDIV, INT64_MIN, -1, ASC_DIM_OVERFLOW);
    expect_none(ASC_DIM_FLOORDIV, 1, 0, ASC_DIM_BY_ZERO);
    expect_none(ASC_DIM_MOD, 1, 0, ASC_DIM_BY_ZERO);
}

/* What can't be known fails only where it is needed. */
static void test_unbound(void) {
    asc_symbol symbol = {.max = 10};
    asc_dim nodes[] = {{.op = ASC_DIM_SYMBOL},
                       {.value = 0},
                       {.op = ASC_DIM_MUL, .a = 0, .b = 1},
                       {.op = ASC_DIM_FLOORDIV, .a = 1, .b = 1},
                       {.op = ASC_DIM_ADD, .a = 1, .b = 3}};
    asc_plan plan = {0};
    asc_dims dims;
    asc_status status;
    int64_t value;
    plan.tables[ASC_SEC_SYMBOLS] = (asc_table){.data = &symbol, .count = 1};
    plan.tables[ASC_SEC_DIMS] = (asc_table){.data = nodes, .count = 5};
    CHECK(asc_dims_make(&dims, &plan, &status) == ASC_OK);
    asc_dims_evaluate(&dims, &plan);
    CHECK(dims.states[2] == ASC_DIM_UNBOUND && dims.states[4] == ASC_DIM_BY_ZERO);
    CHECK(asc_dims_take(&dims, 1, "a dimension", "x", &value, &status) == ASC_OK && value == 0);
    CHECK(asc_dims_take(&dims, 2, "a dimension", "x", &value, &status) == ASC_E_SHAPE);
    CHECK(strcmp(status.text, "a dimension of 'x' depends on a dimension that no input of the partition gives") == 0);
    asc_dims_free(&dims);
}

int main(void) {
    test_operators();
    test_overflow();
    test_unbound();
    return check_failures();
}
