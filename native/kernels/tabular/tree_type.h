/* tree_type.h - one element type's part of tree_ensemble.c; included once for each with
 *   T, NODE   float or double, and its node
 *   NAME(x)   the type's own symbol
 *
 * A walk is a chain of loads and a comparison that no branch predictor knows, so LANES of them go side by side,
 * without branches: rows of one tree, or trees of one row. A leaf is its own child, so that walks may end apart. */

/* One step from a node; `kind` is a constant of the caller. */
static inline int32_t NAME(step)(const NODE *nodes, const T *x, int32_t at, node_kind kind) {
    NODE node = nodes[at];
    if (kind == NODES_PLAIN) return node.child + (x[node.feature] <= node.threshold);
    T v = x[node.feature & ASC_NODE_COLUMN];
    int32_t second = v <= node.threshold;
    if (kind == NODES_FINITE) return node.child + second;
    if (kind == NODES_EQUAL) second = (v == node.threshold) | (second & !(node.feature & ASC_NODE_EQUAL));
    return node.child + (second | ((v != v) & ((node.feature & ASC_NODE_MISSING) != 0)));
}

/* From the nodes `at` to leaves: lane l reads the row x + l * stride. */
static inline void NAME(walk)(const NODE *nodes, const T *x, int64_t stride, int32_t at[LANES], node_kind kind) {
    for (int32_t moved = 1; moved;) {
        moved = 0;
        for (int l = 0; l < LANES; l++) {
            int32_t next = NAME(step)(nodes, x + l * stride, at[l], kind);
            moved |= next ^ at[l];
            at[l] = next;
        }
    }
}

static inline void NAME(walk_lanes)(const NODE *nodes, const T *x, int64_t stride, int32_t at[LANES], node_kind kind) {
    if (kind == NODES_PLAIN)
        NAME(walk)(nodes, x, stride, at, NODES_PLAIN);
    else if (kind == NODES_FINITE)
        NAME(walk)(nodes, x, stride, at, NODES_FINITE);
    else if (kind == NODES_MISSING)
        NAME(walk)(nodes, x, stride, at, NODES_MISSING);
    else
        NAME(walk)(nodes, x, stride, at, NODES_EQUAL);
}

static inline T NAME(folded)(T sum, T weight, int64_t aggregate) {
    if (aggregate <= ASC_AGGREGATE_AVERAGE) return sum + weight;
    int better = aggregate == ASC_AGGREGATE_MIN ? weight < sum : weight > sum;
    return better || !NAME(has_score)(sum) ? weight : sum;
}

/* Adds what a leaf of that tree says to the sums of a row. */
static inline void NAME(add_leaf)(const tree_job *job, const tree_data *data, const NODE *leaf, int64_t tree, T *sums) {
    const T *weights = data->weights;
    int64_t aggregate = job->aggregate;
    if (job->leaf == ASC_LEAF_WEIGHT) {
        T *sum = sums + data->trees[2 * tree + 1];
        *sum = NAME(folded)(*sum, leaf->weight, aggregate);
    } else if (job->leaf == ASC_LEAF_ROW) {
        weights += leaf->number * job->rule.n;
        for (int64_t k = 0; k < job->rule.n; k++) sums[k] = NAME(folded)(sums[k], weights[k], aggregate);
    } else {
        for (int32_t i = data->begins[leaf->number]; i < data->begins[leaf->number + 1]; i++)
            sums[data->targets[i]] = NAME(folded)(sums[data->targets[i]], weights[i], aggregate);
    }
}

/* The steps that these rows need: without NaN none looks at marks of missing values. */
static node_kind NAME(kind_for)(const tree_job *job, const T *x, int64_t rows) {
    if (job->kind != NODES_MISSING) return job->kind;
    int32_t nan = 0;
    for (int64_t i = 0; i < rows * job->columns; i++) nan |= x[i] != x[i];
    return nan ? NODES_MISSING : NODES_FINITE;
}

/* A row through all trees. */
static void NAME(add_row)(const tree_job *job, const tree_data *data, const T *x, T *sums) {
    node_kind kind = NAME(kind_for)(job, x, 1);
    const NODE *nodes = data->nodes;
    for (int64_t tree = 0; tree < job->trees; tree += LANES) {
        int64_t lanes = asc_least(LANES, job->trees - tree);
        int32_t at[LANES];
        for (int64_t l = 0; l < LANES; l++) at[l] = data->trees[2 * (tree + asc_least(l, lanes - 1))];
        NAME(walk_lanes)(nodes, x, 0, at, kind);
        for (int64_t l = 0; l < lanes; l++) NAME(add_leaf)(job, data, nodes + at[l], tree + l, sums);
    }
}

/* LANES rows, a multiple of it, through one tree after another. */
static void NAME(add_rows)(const tree_job *job, const tree_data *data, const T *x, int64_t rows, T *sums) {
    const NODE *nodes = data->nodes;
    int64_t n = job->rule.n;
    node_kind kind = NAME(kind_for)(job, x, rows);
    for (int64_t tree = 0; tree < job->trees; tree++)
        for (int64_t row = 0; row < rows; row += LANES) {
            int32_t at[LANES];
            for (int l = 0; l < LANES; l++) at[l] = data->trees[2 * tree];
            NAME(walk_lanes)(nodes, x + row * job->columns, job->columns, at, kind);
            for (int l = 0; l < LANES; l++) NAME(add_leaf)(job, data, nodes + at[l], tree, sums + (row + l) * n);
        }
}

/* The leaves that a row comes to in the trees `from` .. `to`. */
static void NAME(find_leaves)(const tree_job *job, const tree_data *data, int64_t row, int64_t from, int64_t to) {
    const T *x = (const T *)data->x + row * job->columns;
    node_kind kind = NAME(kind_for)(job, x, 1);
    for (int64_t tree = from; tree < to; tree += LANES) {
        int64_t lanes = asc_least(LANES, to - tree);
        int32_t at[LANES];
        for (int64_t l = 0; l < LANES; l++) at[l] = data->trees[2 * (tree + asc_least(l, lanes - 1))];
        NAME(walk_lanes)(data->nodes, x, 0, at, kind);
        for (int64_t l = 0; l < lanes; l++) data->found[row * job->trees + tree + l] = at[l];
    }
}

/* Scores of the only target without a transform. */
static void NAME(store_plain)(const tree_job *job, const T *sums, int64_t rows, float *to) {
    T base = job->rule.n_base ? (T)job->rule.base[0] : 0;
    for (int64_t i = 0; i < rows; i++) to[i] = (float)(sums[i] + base + 0);
}

static void NAME(store_rows)(const tree_job *job, const tree_data *data, int64_t first, int64_t rows, T *sums) {
    int64_t n = job->rule.n;
    for (int64_t i = 0; i < rows * n && job->aggregate == ASC_AGGREGATE_AVERAGE; i++) sums[i] /= (T)job->trees;
    if (n == 1 && job->rule.label == ASC_LABEL_NONE && job->rule.post != ASC_POST_PROBIT && !job->wide) {
        NAME(store_plain)(job, sums, rows, (float *)data->scores + first);
        return;
    }
    for (int64_t row = 0; row < rows; row++, sums += n) {
        int64_t label = NAME(finish_row)(&job->rule, sums);
        if (data->labels) data->labels[first + row] = label;
        for (int64_t k = 0, to = (first + row) * n; k < n; k++)
            if (job->wide)
                ((double *)data->scores)[to + k] = (double)sums[k];
            else
                ((float *)data->scores)[to + k] = (float)sums[k];
    }
}

/* Rows first .. first + rows: sums, then scores and labels. `sums` has room for the rows. */
static void NAME(score_rows)(const tree_job *job, const tree_data *data, int64_t first, int64_t rows, T *sums) {
    const T *x = (const T *)data->x + first * job->columns;
    int64_t n = job->rule.n, full = rows / LANES * LANES;
    for (int64_t i = 0; i < rows * n; i++) sums[i] = (T)-0.0;
    NAME(add_rows)(job, data, x, full, sums);
    for (int64_t row = full; row < rows; row++) NAME(add_row)(job, data, x + row * job->columns, sums + row * n);
    NAME(store_rows)(job, data, first, rows, sums);
}

/* All rows, whose leaves are found. */
static void NAME(score_found)(const tree_job *job, const tree_data *data, T *sums) {
    for (int64_t i = 0; i < job->rows * job->rule.n; i++) sums[i] = (T)-0.0;
    for (int64_t row = 0; row < job->rows; row++)
        for (int64_t tree = 0; tree < job->trees; tree++)
            NAME(add_leaf)(job, data, (const NODE *)data->nodes + data->found[row * job->trees + tree], tree,
                           sums + row * job->rule.n);
    NAME(store_rows)(job, data, 0, job->rows, sums);
}

/* Whether the nodes end in leaves and stay within the operands, whatever the rows are. Finds their kind. */
static int NAME(check_nodes)(tree_job *job, const NODE *nodes, int64_t count, int64_t leaves) {
    int32_t flags = 0;
    for (int64_t i = 0; i < count; i++) {
        NODE node = nodes[i];
        if ((node.feature & ASC_NODE_COLUMN) >= job->columns || node.feature < 0) return 0;
        flags |= node.feature;
        if (node.child != i) {
            if (node.child < i || node.child >= count - 1) return 0;
            continue;
        }
        if (node.threshold == node.threshold || node.feature & ~ASC_NODE_COLUMN) return 0;
        if (job->leaf != ASC_LEAF_WEIGHT && (node.number < 0 || node.number >= leaves)) return 0;
    }
    job->kind = flags & ASC_NODE_EQUAL ? NODES_EQUAL : flags & ASC_NODE_MISSING ? NODES_MISSING : NODES_PLAIN;
    return 1;
}
