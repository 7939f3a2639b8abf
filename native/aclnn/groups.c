/* groups.c - products of groups of rows, each with a weight of its own, as experts have them. */
#include <string.h>

#include "quantised.h"

/* Positions of arguments, -1 where the operator has none: x, weight, bias, scale, offset, antiquantScale and
 * antiquantOffset are the first seven of all. */
typedef struct groups {
    int row_scale, list, split, type, list_kind, act, out;
} groups;

/* A group's rows, or columns, and its weight. */
typedef struct span {
    int64_t start, length;
    int weight;
} span;

/* A list of ends (0), of lengths (1), or of experts and their lengths (2); of `rows` in all. */
static span *spans_of(asc_run *run, const groups *g, int64_t rows, int *n) {
    int64_t kind = g->list_kind < 0 ? 0 : asc_int(run, g->list_kind), at = 0;
    const asc_argument *a = asc_arg(run, g->list);
    const int64_t *list = a->kind == 'I' ? a->ints : asc_of(run, g->list, ASC_INT64).data;
    int64_t count = a->kind == 'I' ? a->count : asc_elements(asc_in(run, g->list));
    ASC_STOP_UNLESS(run, kind >= 0 && kind <= 2, "groupListType %lld is none of 0 to 2", (long long)kind);
    *n = (int)(kind == 2 ? count / 2 : count);
    span *spans = asc_bytes(run, (size_t)*n * sizeof *spans + 1);
    for (int k = 0; k < *n; k++) {
        int64_t end = kind == 2 ? at + list[2 * k + 1] : kind ? at + list[k] : list[k];
        ASC_STOP_UNLESS(run, end >= at && end <= rows, "group %d ends at %lld of %lld rows", k, (long long)end,
                        (long long)rows);
        spans[k] = (span){at, end - at, kind == 2 ? (int)list[2 * k] : k};
        at = end;
    }
    return spans;
}

/* The tensor of group k: of a list, or of the first axis of a single one. */
static tensor of_group(asc_run *run, int i, int k, int rank) {
    const asc_argument *a = asc_arg(run, i);
    if (a->count == 1 && a->tensors[0].rank == rank + 1) {
        ASC_STOP_UNLESS(run, k < a->tensors[0].dims[0], "%s has nothing for group %d", asc_run_row(run)->names[i], k);
        return asc_select(a->tensors[0], 0, k);
    }
    ASC_STOP_UNLESS(run, k < a->count, "%s has nothing for group %d", asc_run_row(run)->names[i], k);
    return a->tensors[k];
}

/* Scales of an integer weight's group: a row, or a row for each part of k. */
static tensor parts_of_group(asc_run *run, int i, int k) {
    const asc_argument *a = asc_arg(run, i);
    return of_group(run, i, k, a->count == 1 && a->tensors[0].rank == 3 ? 2 : 1);
}

static tensor activated(asc_run *run, const groups *g, tensor y) {
    static const char *const formulas[] = {
        "max(a, 0)",
        "0.5 * a * (1 + tanh(0.7978845608028654 * (a + 0.044715 * a * a * a)))",
        "0.5 * a * (1 + erf(a * 0.7071067811865476))",
        "a * sigmoid(1.702 * a)",
        "a * sigmoid(a)",
    };
    int64_t kind = g->act < 0 ? 0 : asc_int(run, g->act);
    ASC_STOP_UNLESS(run, kind >= 0 && kind <= 5, "actType %lld is none of 0 to 5", (long long)kind);
    return kind ? ASC_COMPUTE(run, ASC_FLOAT32, formulas[kind - 1], y) : y;
}

/* Of bytes: sums of integers by scales; a bias of integers is added before these. */
static tensor product_of_bytes(asc_run *run, const groups *g, tensor x, tensor w, span s, bool raw) {
    tensor y = asc_exact_product(run, x, w), bias = {0};
    if (asc_has_at(run, 2)) bias = of_group(run, 2, s.weight, 1);
    bool first = bias.data && asc_is_integer(bias.dtype);
    if (first) y = ASC_COMPUTE(run, ASC_FLOAT64, "a + b", y, bias);
    if (raw) return y;
    ASC_STOP_UNLESS(run, asc_has_at(run, 3), "a product of bytes needs its scale");
    y = ASC_COMPUTE(run, ASC_FLOAT64, "a * b", y, asc_scales_of(run, of_group(run, 3, s.weight, 1)));
    if (asc_has_at(run, g->row_scale)) {
        tensor rows = asc_flat(run, asc_cast(run, asc_in(run, g->row_scale), ASC_FLOAT32));
        ASC_STOP_UNLESS(run, s.start + s.length <= asc_elements(rows), "there are scales for %lld rows",
                        (long long)asc_elements(rows));
        y = ASC_COMPUTE(run, ASC_FLOAT64, "a * b", y, asc_unsqueeze(asc_narrow(rows, 0, s.start, s.length), 1));
    }
    if (asc_has_at(run, 4)) y = ASC_COMPUTE(run, ASC_FLOAT64, "a + b", y, of_group(run, 4, s.weight, 1));
    return bias.data && !first ? ASC_COMPUTE(run, ASC_FLOAT64, "a + b", y, bias) : y;
}

/* Rows x of group s times its weight, to an output's rows. */
static void multiply_group(asc_run *run, const groups *g, tensor x, span s, tensor to) {
    tensor w = of_group(run, 1, s.weight, 2), scale, offset, y;
    x = asc_unpacked(run, x);
    if (!asc_is_float(x.dtype)) {
        y = activated(run, g, product_of_bytes(run, g, x, asc_unpacked(run, w), s, to.dtype == ASC_INT32));
        asc_store(run, to, to.dtype == ASC_INT8 ? asc_quantised(run, y, 127) : y);
        return;
    }
    if (asc_has_at(run, 5)) {
        scale = parts_of_group(run, 5, s.weight);
        if (asc_has_at(run, 6)) offset = parts_of_group(run, 6, s.weight);
        int64_t k = asc_unpacked(run, w).dims[0], parts = scale.rank == 2 ? scale.dims[0] : 1;
        w = asc_weight_of(run, w, &scale, asc_has_at(run, 6) ? &offset : NULL, parts ? (k + parts - 1) / parts : 0);
    }
    y = asc_multiply(run, x, w);
    if (asc_has_at(run, 2)) y = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", y, of_group(run, 2, s.weight, 1));
    y = activated(run, g, y);
    if (asc_has_at(run, 3)) { /* floats that go out as integers */
        y = ASC_COMPUTE(run, ASC_FLOAT32, "a * b", y, asc_scales_of(run, of_group(run, 3, s.weight, 1)));
        if (asc_has_at(run, 4)) y = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", y, of_group(run, 4, s.weight, 1));
    }
    asc_store(run, to, to.dtype == ASC_INT8 ? asc_quantised(run, y, 127) : y);
}

/* Rows of x in turn are each group's: they meet its weight. */
static void groups_of_rows(asc_run *run, const groups *g) {
    const asc_argument *x = asc_arg(run, 0), *y = asc_arg(run, g->out);
    int n = x->count, one_y = y->count == 1;
    int64_t written = 0;
    span *spans = NULL;
    if (x->count == 1) {
        ASC_STOP_UNLESS(run, asc_has_at(run, g->list), "groups of the rows of one x need groupList");
        spans = spans_of(run, g, x->tensors[0].dims[0], &n);
    }
    for (int k = 0; k < n; k++) {
        span s = spans ? spans[k] : (span){0, x->tensors[k].dims[0], k};
        tensor in = spans ? asc_narrow(x->tensors[0], 0, s.start, s.length) : x->tensors[k];
        if (!one_y) ASC_STOP_UNLESS(run, k < y->count, "there is no output for group %d", k);
        tensor to = one_y ? y->tensors[0] : y->tensors[k];
        ASC_STOP_UNLESS(run, to.rank == 2 && written + s.length <= to.dims[0], "the output has no room for group %d",
                        k);
        if (one_y) to = asc_narrow(to, 0, written, s.length);
        written += one_y ? s.length : 0;
        if (s.length) multiply_group(run, g, in, s, to);
    }
}

/* Columns of x, and rows of the weight, in turn are each group's: a matrix each. */
static void groups_of_columns(asc_run *run, const groups *g) {
    tensor x = asc_in(run, 0), w = asc_in(run, 1);
    ASC_STOP_UNLESS(run, x.rank == 2 && w.rank == 2 && asc_has_at(run, g->list), "groups of columns need groupList");
    int n;
    span *spans = spans_of(run, g, x.dims[1], &n);
    for (int k = 0; k < n; k++)
        asc_store(run, of_group(run, g->out, spans[k].weight, 2),
                  asc_multiply(run, asc_narrow(x, 1, spans[k].start, spans[k].length),
                               asc_narrow(w, 0, spans[k].start, spans[k].length)));
}

static void grouped_product(asc_run *run, groups g) {
    int64_t type =
        g.type < 0 ? (asc_has_at(run, g.list) && asc_arg(run, 0)->count == 1 ? 0 : -1) : asc_int(run, g.type);
    ASC_STOP_UNLESS(run, type == -1 || type == 0 || type == 2, "groupType %lld is none of -1, 0, 2", (long long)type);
    if (type == 2) {
        groups_of_columns(run, &g);
    } else if (type == 0) {
        groups_of_rows(run, &g);
    } else {
        for (int k = 0; k < asc_arg(run, 0)->count; k++) {
            const asc_argument *y = asc_arg(run, g.out);
            ASC_STOP_UNLESS(run, k < y->count, "there is no output for group %d", k);
            tensor x = asc_arg(run, 0)->tensors[k];
            multiply_group(run, &g, x, (span){0, x.dims[0], k}, y->tensors[k]);
        }
    }
}

/* x, weight, bias, scale, offset, antiquantScale, antiquantOffset, groupList, splitItem, perhaps groupType, y. */
void asc_op_grouped_product(asc_run *run, int typed) {
    grouped_product(run, (groups){.row_scale = -1,
                                  .list = 7,
                                  .split = 8,
                                  .type = typed ? 9 : -1,
                                  .list_kind = -1,
                                  .act = -1,
                                  .out = 9 + typed});
}

/* The first seven, scale of rows, groupList, three of an activation's input, splitItem, groupType, groupListType,
 * actType, perhaps (from `out` on behind them) tuning, y, the activation's input, scales of y. */
void asc_op_grouped_product_either(asc_run *run, int out) {
    for (int i = 9; i <= 11; i++)
        ASC_STOP_UNLESS(run, !asc_has_at(run, i), "%s isn't there", asc_run_row(run)->names[i]);
    for (int i = out + 1; i <= out + 2; i++)
        ASC_STOP_UNLESS(run, !asc_has_at(run, i), "%s isn't there", asc_run_row(run)->names[i]);
    grouped_product(
        run, (groups){.row_scale = 7, .list = 8, .split = 12, .type = 13, .list_kind = 14, .act = 15, .out = out});
}

/* x, weight, ends of groups, y, whether x and the weight are transposed, kind of groups, perhaps of the list: rows of
 * each group meet, x by weight, and are added to its part of y. */
void asc_op_grouped_sum(asc_run *run, int n) {
    tensor x = asc_in(run, 0), w = asc_in(run, 1), y = asc_in(run, 3);
    groups g = {.list = 2, .list_kind = n == 8 ? 7 : -1};
    ASC_STOP_UNLESS(run, asc_int(run, 6) == 2 && !asc_int(run, 5) && x.rank == 2 && w.rank == 2,
                    "groups of kind %lld, of matrices that meet in their rows", (long long)asc_int(run, 6));
    if (!asc_int(run, 4)) x = asc_swap(x, 0, 1);
    int count;
    span *spans = spans_of(run, &g, w.dims[0], &count);
    ASC_STOP_UNLESS(run, x.dims[0] == w.dims[0] && asc_elements(y) == count * x.dims[1] * w.dims[1],
                    "%lld rows of x, %lld of the weight", (long long)x.dims[0], (long long)w.dims[0]);
    for (int k = 0; k < count; k++) {
        span s = spans[k];
        tensor to = y.rank == 3 ? asc_select(y, 0, s.weight) : asc_narrow(y, 0, s.weight * x.dims[1], x.dims[1]);
        if (!s.length) continue;
        tensor sum =
            asc_multiply(run, asc_swap(asc_narrow(x, 0, s.start, s.length), 0, 1), asc_narrow(w, 0, s.start, s.length));
        asc_store(run, to, ASC_COMPUTE(run, ASC_FLOAT32, "a + b", to, sum));
    }
}
