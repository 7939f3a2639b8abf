/* Random plans of copies, concatenations and views, run and compared with a simulation of them; the places
 * of their temporaries are checked through asc_bound_value. */
#include "bundle_builder.h"
#include "check.h"

#define MAX_VALUES 120
#define MAX_LENGTH 4000

static uint64_t seed = 5;
static uint32_t below(uint32_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

/* What the plan should compute: every value as a row of numbers. */
typedef struct expected {
    int32_t *numbers[MAX_VALUES];
    uint32_t length[MAX_VALUES];
    int is_strided[MAX_VALUES];
    uint32_t n;
} expected;

static void expect_value(expected *e, uint32_t length) {
    e->numbers[e->n] = calloc(length + 1, sizeof(int32_t));
    e->length[e->n] = length;
    e->is_strided[e->n++] = 0;
}

/* Every second number from `from` on, or backwards, or a plain piece. */
static void add_view(builder *b, expected *e, uint32_t base) {
    static const int STEPS[] = {1, 2, -1, 0};
    int step = STEPS[below(4)];
    uint32_t from = below(e->length[base]), left = step < 0 ? from + 1 : e->length[base] - from;
    uint32_t length = step == 0 ? 1 + below(20) : 1 + below(step == 2 ? (left + 1) / 2 : left);
    uint32_t dims = bb_const(b, length), stride = bb_const(b, step);
    bb_view(b, "", base, &dims, 1, step == 1 ? NULL : &stride, from ? bb_const(b, from) : ASC_NONE);
    expect_value(e, length);
    e->is_strided[e->n - 1] = step != 1 && length > 1;
    for (uint32_t i = 0; i < length; i++) e->numbers[e->n - 1][i] = e->numbers[base][(int)from + (int)i * step];
}

static uint32_t add_written(builder *b, expected *e, int kind, uint32_t length) {
    uint32_t dims = bb_const(b, length);
    expect_value(e, length);
    return bb_value(b, "", ASC_INT32, kind, &dims, 1);
}

static void add_concat(builder *b, expected *e, uint32_t x, uint32_t y) {
    uint32_t zero = bb_const(b, 0), out = add_written(b, e, ASC_VALUE_TEMP, e->length[x] + e->length[y]);
    memcpy(e->numbers[out], e->numbers[x], e->length[x] * 4);
    memcpy(e->numbers[out] + e->length[x], e->numbers[y], e->length[y] * 4);
    bb_insn(b, "concat", BB_LIST(x, y), &out, 1, &zero, 1);
}

static void add_copy(builder *b, expected *e, uint32_t x, int kind) {
    uint32_t out = add_written(b, e, kind, e->length[x]);
    memcpy(e->numbers[out], e->numbers[x], e->length[x] * 4);
    bb_insn(b, "copy", &x, 1, &out, 1, BB_NOTHING);
}

/* Value 0 is the input, the last one the output. */
static bb_bytes random_plan(expected *e, uint32_t n) {
    builder b = {0};
    uint32_t input = add_written(&b, e, ASC_VALUE_INPUT, 1 + below(50));
    for (uint32_t i = 0; i < e->length[0]; i++) e->numbers[0][i] = (int32_t)(i * i + 1);
    while (e->n < n - 1) {
        uint32_t x = e->n - 1 - below(e->n < 12 ? e->n : 12), y = below(e->n);
        uint32_t pick = below(3);
        if (pick == 0 && !e->is_strided[x])
            add_view(&b, e, x);
        else if (pick == 1 && e->length[x] + e->length[y] < MAX_LENGTH)
            add_concat(&b, e, x, y);
        else
            add_copy(&b, e, x, ASC_VALUE_TEMP);
    }
    add_copy(&b, e, e->n - 1, ASC_VALUE_OUTPUT);
    uint32_t output = e->n - 1;
    bb_partition(&b, "main", &input, 1, &output, 1);
    return bb_finish(&b);
}

static void check_places(const asc_bound *bound, uint32_t n) {
    uint64_t offset[MAX_VALUES], bytes[MAX_VALUES];
    uint32_t first[MAX_VALUES], last[MAX_VALUES];
    asc_tensor shape;
    for (uint32_t i = 0; i < n; i++) {
        CHECK(asc_bound_value(bound, i, &shape, &offset[i], &bytes[i], &first[i], &last[i]) == ASC_OK);
        CHECK(offset[i] + bytes[i] <= asc_bound_arena_bytes(bound));
        for (uint32_t j = 0; j < i; j++) {
            int together = bytes[i] && bytes[j] && first[i] <= last[j] && first[j] <= last[i];
            CHECK(!together || offset[i] + bytes[i] <= offset[j] || offset[j] + bytes[j] <= offset[i]);
        }
    }
    CHECK(asc_bound_value(bound, n, &shape, NULL, NULL, NULL, NULL) == ASC_E_ARGUMENT);
}

static void run_plan(const bb_bytes *file, const expected *e) {
    asc_model *m;
    asc_bound *bound;
    asc_status status;
    asc_tensor x = {.dims = {e->length[0]}, .dtype = ASC_INT32, .rank = 1};
    CHECK(asc_model_from_memory(file->at, file->size, NULL, &m, &status) == ASC_OK);
    CHECK(asc_bind(m, 0, &x, 1, &bound, &status) == ASC_OK);
    check_places(bound, e->n);
    uint64_t size = e->length[e->n - 1] * sizeof(int32_t);
    int32_t *out = malloc(size);
    const void *ins[] = {e->numbers[0]};
    void *outs[] = {out};
    for (int i = 0; i < 2; i++) { /* the second time in a used arena */
        memset(out, 0x55, size);
        CHECK(asc_execute(bound, ins, outs, NULL, &status) == ASC_OK);
        CHECK(memcmp(out, e->numbers[e->n - 1], size) == 0);
    }
    free(out);
    asc_bound_release(bound);
    asc_model_release(m);
}

int main(void) {
    for (int i = 0; i < 150; i++) {
        expected e = {.n = 0};
        bb_bytes file = random_plan(&e, 3 + below(MAX_VALUES - 3));
        run_plan(&file, &e);
        for (uint32_t v = 0; v < e.n; v++) free(e.numbers[v]);
        free(file.at);
    }
    return check_failures();
}
