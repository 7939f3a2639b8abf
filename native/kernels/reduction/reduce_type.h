/* reduce_type.h - one element type's part of reduce.c; included once for each type with
 *   T, V, LANES   the element, its vector and the lanes of that
 *   LANE_NUMBERS  0, 1, .. in lanes of integers as wide
 *   NAME(x)       the type's own symbol
 *   LOWEST, HIGHEST, ABS(v), ADD(a, v), MUL(a, v), FOLD_MAX(a, v), FOLD_MIN(a, v)
 *
 * A block is the fold of up to REDUCE_BLOCK elements; blocks are folded into the total in order. A block of a
 * strided axis is folded from parts of ASC_SUM_PART, as one of a contiguous axis is from its lanes. */

#define VECTOR_FOLD(fold, fill, v_expr, combine)                                                                \
    /* n contiguous elements to one vector. */                                                                  \
    static V NAME(fold##_run)(const T *x, int64_t n) {                                                          \
        V a0 = NAME(set)(fill), a1 = a0, a2 = a0, a3 = a0;                                                      \
        int64_t i = 0;                                                                                          \
        for (; i + 4 * LANES <= n; i += 4 * LANES) {                                                            \
            V v = NAME(load)(x + i), a = a0;                                                                    \
            v = v_expr, a0 = combine;                                                                           \
            v = NAME(load)(x + i + LANES), a = a1;                                                              \
            v = v_expr, a1 = combine;                                                                           \
            v = NAME(load)(x + i + 2 * LANES), a = a2;                                                          \
            v = v_expr, a2 = combine;                                                                           \
            v = NAME(load)(x + i + 3 * LANES), a = a3;                                                          \
            v = v_expr, a3 = combine;                                                                           \
        }                                                                                                       \
        for (; i < n; i += LANES) {                                                                             \
            V v = NAME(load_some)(x + i, n - i, fill), a = a0;                                                  \
            v = v_expr, a0 = combine;                                                                           \
        }                                                                                                       \
        V a = a0, v = a1;                                                                                       \
        a0 = combine, a = a2, v = a3;                                                                           \
        a2 = combine, a = a0, v = a2;                                                                           \
        return combine;                                                                                         \
    }                                                                                                           \
    /* LANES rows of n elements, element i of all of them at x + i * LANES, to the fold of each in its lane: */ \
    /* s holds what `run` would have in a0 to a3 for every row, a vector for each lane of those. */             \
    static V NAME(fold##_transposed)(const T *x, int64_t n) {                                                   \
        V s[4 * LANES];                                                                                         \
        int64_t fours = n / (4 * LANES) * (4 * LANES), used = fours ? 4 * LANES : LANES;                        \
        for (int64_t l = 0; l < used; l++) s[l] = NAME(set)(fill);                                              \
        for (int64_t i = 0; i < n; i++) {                                                                       \
            V v = NAME(load)(x + i * LANES), *to = s + i % (i < fours ? 4 * LANES : LANES), a = *to;            \
            v = v_expr, *to = combine;                                                                          \
        }                                                                                                       \
        for (int64_t l = 0; l < LANES && fours; l++) {                                                          \
            V a = s[l], v = s[LANES + l], low = combine;                                                        \
            a = s[2 * LANES + l], v = s[3 * LANES + l], v = combine, a = low;                                   \
            s[l] = combine;                                                                                     \
        }                                                                                                       \
        for (int64_t half = LANES / 2; half; half /= 2)                                                         \
            for (int64_t l = 0; l < half; l++) {                                                                \
                V a = s[l], v = s[l + half];                                                                    \
                s[l] = combine;                                                                                 \
            }                                                                                                   \
        return s[0];                                                                                            \
    }                                                                                                           \
    /* `rows` rows, `step` apart, of up to STRIP * LANES columns to one row of vectors. */                      \
    static void NAME(fold##_rows)(const T *x, int64_t rows, int64_t step, int64_t columns, V *sums) {           \
        V s[STRIP];                                                                                             \
        for (int k = 0; k < STRIP; k++) s[k] = NAME(set)(fill);                                                 \
        for (int64_t r = 0; r < rows && columns == STRIP * LANES; r++, x += step)                               \
            for (int k = 0; k < STRIP; k++) {                                                                   \
                V v = NAME(load)(x + k * LANES), a = s[k];                                                      \
                v = v_expr, s[k] = combine;                                                                     \
            }                                                                                                   \
        for (int64_t r = 0; r < rows && columns < STRIP * LANES; r++, x += step)                                \
            for (int k = 0; k * LANES < columns; k++) {                                                         \
                V v = NAME(load_some)(x + k * LANES, columns - k * LANES, fill), a = s[k];                      \
                v = v_expr, s[k] = combine;                                                                     \
            }                                                                                                   \
        memcpy(sums, s, sizeof s);                                                                              \
    }

static inline V NAME(set)(T x) {
    return x - (V){0};
}
static inline V NAME(load)(const T *p) {
    V v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline V NAME(load_tail)(const T *p, int64_t n, T fill) {
    T lanes[LANES];
    for (int64_t i = 0; i < LANES; i++) lanes[i] = i < n ? p[i] : fill;
    return NAME(load)(lanes);
}

static inline V NAME(load_some)(const T *p, int64_t n, T fill) {
    return n < LANES ? NAME(load_tail)(p, n, fill) : NAME(load)(p);
}

static V NAME(sum_join)(V a, V v) {
    return ADD(a, v);
}
static V NAME(prod_join)(V a, V v) {
    return MUL(a, v);
}
static V NAME(max_join)(V a, V v) {
    return FOLD_MAX(a, v);
}
static V NAME(min_join)(V a, V v) {
    return FOLD_MIN(a, v);
}

VECTOR_FOLD(sum, 0, v, ADD(a, v))
VECTOR_FOLD(prod, 1, v, MUL(a, v))
VECTOR_FOLD(max, LOWEST, v, FOLD_MAX(a, v))
VECTOR_FOLD(min, HIGHEST, v, FOLD_MIN(a, v))
VECTOR_FOLD(l1, 0, ABS(v), ADD(a, v))
VECTOR_FOLD(squares, 0, MUL(v, v), ADD(a, v))

typedef struct NAME(fold) {
    T fill;
    V (*run)(const T *, int64_t), (*transposed)(const T *, int64_t);
    void (*rows)(const T *, int64_t, int64_t, int64_t, V *);
    V (*join)(V, V);
} NAME(fold);

static NAME(fold) NAME(fold_of)(int64_t op) {
    switch (op) {
        case ASC_REDUCE_PROD:
            return (NAME(fold)){1, NAME(prod_run), NAME(prod_transposed), NAME(prod_rows), NAME(prod_join)};
        case ASC_REDUCE_MAX:
            return (NAME(fold)){LOWEST, NAME(max_run), NAME(max_transposed), NAME(max_rows), NAME(max_join)};
        case ASC_REDUCE_MIN:
            return (NAME(fold)){HIGHEST, NAME(min_run), NAME(min_transposed), NAME(min_rows), NAME(min_join)};
        case ASC_REDUCE_L1: return (NAME(fold)){0, NAME(l1_run), NAME(l1_transposed), NAME(l1_rows), NAME(sum_join)};
        case ASC_REDUCE_L2:
        case ASC_REDUCE_SUMSQUARE:
            return (NAME(fold)){0, NAME(squares_run), NAME(squares_transposed), NAME(squares_rows), NAME(sum_join)};
        default: return (NAME(fold)){0, NAME(sum_run), NAME(sum_transposed), NAME(sum_rows), NAME(sum_join)};
    }
}

/* Halves, quarters, ... of a vector folded into its first lane. */
static T NAME(fold_lanes)(const NAME(fold) * fold, V v) {
#pragma GCC unroll 4
    for (int half = LANES / 2; half; half /= 2) v = fold->join(v, asc_shuffle(v, LANE_NUMBERS ^ half));
    return v[0];
}

/* `rows` rows of up to STRIP * LANES columns to one row of vectors, in parts. */
static void NAME(fold_block)(const NAME(fold) * fold, const T *x, int64_t rows, int64_t step, int64_t columns,
                             V *block) {
    V part[STRIP];
    for (int k = 0; k < STRIP; k++) block[k] = NAME(set)(fold->fill);
    for (int64_t at = 0; at < rows; at += ASC_SUM_PART) {
        int64_t n = rows - at < ASC_SUM_PART ? rows - at : ASC_SUM_PART;
        fold->rows(x + at * step, n, step, columns, part);
        for (int k = 0; k < STRIP; k++) block[k] = fold->join(block[k], part[k]);
    }
}

/* Up to STRIP * LANES neighbouring outputs: every block in the order of the reduced axes. */
static void NAME(reduce_item)(const reduce_job *job, const T *x, T *y, int64_t columns) {
    NAME(fold) fold = NAME(fold_of)(job->op);
    V totals[STRIP], block[STRIP];
    T out[STRIP * LANES];
    for (int k = 0; k < STRIP; k++) totals[k] = NAME(set)(fold.fill);
    for (int64_t outer = 0; outer < job->outer_reduced; outer++) {
        const T *from = x + reduced_offset(job, outer);
        for (int64_t at = 0; at < job->n; at += REDUCE_BLOCK) {
            int64_t n = job->n - at < REDUCE_BLOCK ? job->n - at : REDUCE_BLOCK;
            if (job->columns == 1) {
                totals[0] = fold.join(totals[0], fold.run(from + at, n));
                continue;
            }
            NAME(fold_block)(&fold, from + at * job->columns, n, job->columns, columns, block);
            for (int k = 0; k < STRIP; k++) totals[k] = fold.join(totals[k], block[k]);
        }
    }
    memcpy(out, totals, sizeof out);
    if (job->columns == 1) out[0] = NAME(fold_lanes)(&fold, totals[0]);
    for (int64_t i = 0; i < columns; i++) y[i] = NAME(finish)(out[i], job);
}

/* Rows of up to SHORT_ROW elements, from `first` to `end`: LANES of them together, each in a lane of its own. The bits
 * are those of reduce_item, and so of code generated from a formula. */
static void NAME(reduce_short)(const reduce_job *job, const T *x, T *y, int64_t first, int64_t end) {
    NAME(fold) fold = NAME(fold_of)(job->op);
    T transposed[SHORT_ROW * LANES], out[LANES];
    for (int64_t at = first; at < end; at += LANES) {
        int64_t rows = end - at < LANES ? end - at : LANES;
        for (int64_t r = 0; r < LANES; r++) {
            const T *row = x + (at + (r < rows ? r : 0)) * job->n;
            for (int64_t i = 0; i < job->n; i++) transposed[i * LANES + r] = row[i];
        }
        V totals = fold.transposed(transposed, job->n);
        memcpy(out, &totals, sizeof out);
        for (int64_t r = 0; r < rows; r++) y[at + r] = NAME(finish)(out[r], job);
    }
}

static void NAME(reduce_chunk)(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)worker;
    const reduce_job *job = arg;
    int64_t strips = asc_ceil_div(job->columns, STRIP * LANES), items = job->outputs * strips;
    int64_t end = (chunk + 1) * job->per_chunk < items ? (chunk + 1) * job->per_chunk : items;
    if (takes_lanes(job)) {
        NAME(reduce_short)(job, call->in[0].data, call->out[0].data, chunk * job->per_chunk, end);
        return;
    }
    for (int64_t i = chunk * job->per_chunk; i < end; i++) {
        int64_t output = i / strips, column = i % strips * STRIP * LANES, columns = job->columns - column;
        NAME(reduce_item)(job, (const T *)call->in[0].data + kept_offset(job, output) + column,
                          (T *)call->out[0].data + output * job->columns + column,
                          columns < STRIP * LANES ? columns : STRIP * LANES);
    }
}

#undef T
#undef V
#undef LANES
#undef LANE_NUMBERS
#undef NAME
#undef LOWEST
#undef HIGHEST
#undef ABS
#undef ADD
#undef MUL
#undef FOLD_MAX
#undef FOLD_MIN
#undef VECTOR_FOLD
