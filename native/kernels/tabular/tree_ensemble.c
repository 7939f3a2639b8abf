/* tree_ensemble: decision trees over the rows of a table, float32 or float64.
 *   x [rows, columns] or [columns], nodes, trees, weights, begins, targets -> scores [rows, targets], labels [rows]
 * nodes: int32 [nodes, words], each a struct node_f32 or node_f64; the two children of a node lie side by side behind
 *   it, and x <= threshold leads to the second. A leaf is its own child, and its threshold is NaN.
 * trees: int32 [trees, 2], the root of each and the target of its leaves, which ASC_LEAF_WEIGHT adds to
 * weights: [leaves, targets] of ASC_LEAF_ROW, [entries] of ASC_LEAF_LIST; else absent
 * begins: int32 [leaves + 1], targets: int32 [entries], of ASC_LEAF_LIST; else absent
 * ints: asc_tree_params, floats: asc_tree_floats. Nodes, trees and lists are constants.
 *
 * Sums are those of the trees in their order, in the type of x, however many rows and threads there are. Of few rows
 * the threads find the leaves, each in some of the trees, and the caller adds them. Scores are float32 or float64. */
#include <math.h>

#include "chunks.h"
#include "class_rule.h"

#define LANES 8
#define BLOCK_ROWS 128   /* that go through a tree before the next is fetched */
#define CHUNK_STEPS 8192 /* the least steps of walks that are worth another thread: 20 us */
#define PIECE_STEPS 2048 /* the same of few rows, whose nodes nobody has in a cache yet */

typedef struct node_f32 {
    float threshold;
    int32_t feature; /* the column, and ASC_NODE_... */
    int32_t child;   /* the first */
    union {
        float weight;
        int32_t number;
    };
} node_f32;

typedef struct node_f64 {
    double threshold;
    int32_t feature, child;
    union {
        double weight;
        int64_t number;
    };
} node_f64;

/* What a step looks at besides the threshold. */
typedef enum node_kind {
    NODES_PLAIN,
    NODES_FINITE, /* NaN, which some nodes have a mark for, is not among the rows */
    NODES_MISSING,
    NODES_EQUAL
} node_kind;

typedef struct tree_job {
    class_rule rule;
    int64_t aggregate, leaf;
    int64_t rows, columns, trees, per_chunk, sums_bytes;
    node_kind kind;
    int wide;       /* float64 scores */
    int64_t pieces; /* of the trees, of few rows; 0: chunks are of rows */
} tree_job;
ASC_KERNEL_NOTE(tree_ensemble, tree_job)

typedef struct tree_data {
    const tree_job *job;
    const void *x, *nodes, *weights;
    const int32_t *trees, *begins, *targets;
    void *scores;
    int64_t *labels;
    int32_t *found; /* [rows, trees], the leaves of few rows */
} tree_data;

enum { X, NODES, TREES, WEIGHTS, BEGINS, TARGETS };

#define T float
#define NODE node_f32
#define NAME(x) x##_f32
#include "class_scores.h"
#include "tree_type.h"
#undef T
#undef NODE
#undef NAME
#define T double
#define NODE node_f64
#define NAME(x) x##_f64
#include "class_scores.h"
#include "tree_type.h"

/* A constant int32 matrix or vector of that many columns; 0 columns: a vector. */
static int is_table(const asc_call *call, int32_t i, int64_t columns) {
    const asc_tensor *t = &call->in[i];
    return asc_has_input(call, i) && t->flags & ASC_T_CONST && t->rank == (columns ? 2 : 1) &&
           (!columns || t->dims[1] == columns);
}

/* The number of rows or lists that leaves may name; -1 when the lists don't fit. */
static int64_t leaves_of(const asc_call *call, const tree_job *job) {
    if (job->leaf == ASC_LEAF_WEIGHT) return 0;
    if (!asc_has_input(call, WEIGHTS)) return -1;
    const asc_tensor *weights = &call->in[WEIGHTS];
    if (job->leaf == ASC_LEAF_ROW) return weights->rank == 2 && weights->dims[1] == job->rule.n ? weights->dims[0] : -1;
    if (!is_table(call, BEGINS, 0) || !is_table(call, TARGETS, 0) || weights->rank != 1) return -1;
    const asc_tensor *targets = &call->in[TARGETS];
    const int32_t *begins = call->in[BEGINS].data, *target = targets->data;
    int64_t lists = call->in[BEGINS].dims[0] - 1;
    if (weights->dims[0] != targets->dims[0] || lists < 0 || begins[0] != 0) return -1;
    for (int64_t i = 0; i < lists; i++)
        if (begins[i] > begins[i + 1]) return -1;
    for (int64_t i = 0; i < targets->dims[0]; i++)
        if (target[i] < 0 || target[i] >= job->rule.n) return -1;
    return begins[lists] <= targets->dims[0] ? lists : -1;
}

static int32_t check_trees(asc_call *call, tree_job *job) {
    int wide = call->in[X].dtype == ASC_FLOAT64;
    const asc_tensor *nodes = &call->in[NODES], *trees = &call->in[TREES];
    int64_t words = (int64_t)(wide ? sizeof(node_f64) : sizeof(node_f32)) / 4;
    ASC_REQUIRE(call, is_table(call, NODES, words) && is_table(call, TREES, 2) && nodes->dims[0] < INT32_MAX,
                "tree_ensemble: nodes and trees are no constant tables");
    job->trees = trees->dims[0];
    int64_t leaves = leaves_of(call, job);
    ASC_REQUIRE(call, leaves >= 0, "tree_ensemble: the weights of leaves don't fit the targets");
    ASC_REQUIRE(call,
                wide ? check_nodes_f64(job, nodes->data, nodes->dims[0], leaves)
                     : check_nodes_f32(job, nodes->data, nodes->dims[0], leaves),
                "tree_ensemble: a node names a column, a child or a leaf that there isn't");
    for (int64_t i = 0; i < job->trees; i++) {
        const int32_t *tree = (const int32_t *)trees->data + 2 * i;
        ASC_REQUIRE(call, tree[0] >= 0 && tree[0] < nodes->dims[0] && tree[1] >= 0 && tree[1] < job->rule.n,
                    "tree_ensemble: a tree has no such root or target");
    }
    return ASC_OK;
}

static int32_t check_shapes(asc_call *call, tree_job *job) {
    const asc_tensor *x = &call->in[X], *scores = &call->out[0];
    ASC_REQUIRE(call, x->rank == 1 || x->rank == 2, "tree_ensemble: x is no table");
    job->columns = x->dims[x->rank - 1];
    job->rows = x->rank == 2 ? x->dims[0] : 1;
    ASC_REQUIRE(call, scores->rank == 2 && scores->dims[0] == job->rows && scores->dims[1] == job->rule.n,
                "tree_ensemble: the scores have another shape");
    ASC_REQUIRE(call, job->rule.label == ASC_LABEL_NONE || call->n_out == 2, "tree_ensemble: labels have no output");
    ASC_REQUIRE(call, call->n_out == 1 || (call->out[1].rank == 1 && call->out[1].dims[0] == job->rows),
                "tree_ensemble: the labels have another shape");
    return ASC_OK;
}

static int32_t read_arguments(asc_call *call, tree_job *job) {
    const asc_tree_params *p = ASC_INTS_AS(asc_tree_params, call);
    int fixed = ASC_MEMBERS(asc_tree_params);
    ASC_REQUIRE(call, call->n_ints >= fixed && call->n_floats > 0, "tree_ensemble: arguments are missing");
    const asc_tree_floats *f = ASC_FLOATS_AS(asc_tree_floats, call);
    *job = (tree_job){.aggregate = p->aggregate, .leaf = p->leaf, .wide = call->out[0].dtype == ASC_FLOAT64};
    job->rule = (class_rule){.n = p->targets, .post = p->post, .label = p->label, .n_base = call->n_floats - 1};
    job->rule.base = f->base;
    job->rule.labels = p->labels;
    ASC_REQUIRE(call,
                p->targets > 0 && p->aggregate >= 0 && p->aggregate < ASC_AGGREGATE_COUNT && p->leaf >= 0 &&
                    p->leaf < ASC_LEAF_COUNT && p->post >= 0 && p->post < ASC_POST_COUNT && p->label >= 0 &&
                    p->label < ASC_LABEL_COUNT && f->bases == call->n_floats - 1,
                "tree_ensemble: an argument is out of range");
    ASC_REQUIRE(call, call->n_ints - fixed == (p->label == ASC_LABEL_NONE ? 0 : p->targets),
                "tree_ensemble: there is not one label for each class");
    ASC_REQUIRE(call, p->label <= ASC_LABEL_LARGEST || p->targets == 2, "tree_ensemble: it takes two classes");
    ASC_REQUIRE(call, f->bases == 0 || f->bases == (double)p->targets || (f->bases == 1 && p->targets == 2),
                "tree_ensemble: there is not one base value for each target");
    return ASC_OK;
}

int32_t ASC_FN(tree_ensemble_prepare)(asc_call *call) {
    tree_job *job = call->note;
    int32_t code = read_arguments(call, job);
    if (code == ASC_OK) code = check_shapes(call, job);
    if (code == ASC_OK) code = check_trees(call, job);
    if (code != ASC_OK) return code;
    int64_t depth = 1, per_tree = job->trees ? call->in[NODES].dims[0] / job->trees : 0, bytes, total;
    while (per_tree >> depth) depth++;
    int64_t fair = asc_ceil_div(job->rows, (int64_t)call->threads * 8), least = CHUNK_STEPS / (job->trees * depth + 1);
    job->per_chunk = asc_ceil_div(asc_most(fair, least + 1), LANES) * LANES;
    job->per_chunk = asc_least(job->per_chunk, BLOCK_ROWS);
    ASC_REQUIRE(call, asc_mul_ok(job->rule.n, 8 * BLOCK_ROWS, &bytes) && asc_mul_ok(bytes, call->threads, &total),
                "tree_ensemble: there are too many targets");
    job->sums_bytes = bytes;
    int64_t steps = job->rows < LANES && job->trees < INT32_MAX / LANES ? job->rows * job->trees * depth : 0;
    if (call->threads > 1 && steps >= 2 * PIECE_STEPS) {
        job->pieces = asc_ceil_div(asc_least(steps / PIECE_STEPS, (int64_t)call->threads * 2), job->rows);
        ASC_REQUIRE(call, asc_add_ok(total, job->rows * job->trees * 4, &total), "tree_ensemble: too many trees");
    }
    call->workspace_bytes = (uint64_t)total;
    return ASC_OK;
}

static void tree_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const tree_data *data = arg;
    const tree_job *job = data->job;
    int64_t first = chunk * job->per_chunk, rows = asc_least(job->per_chunk, job->rows - first);
    void *sums = (char *)call->workspace + worker * job->sums_bytes;
    if (call->in[X].dtype == ASC_FLOAT64)
        score_rows_f64(job, data, first, rows, sums);
    else
        score_rows_f32(job, data, first, rows, sums);
}

/* Some trees of a row. */
static void leaf_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)worker;
    const tree_data *data = arg;
    const tree_job *job = data->job;
    int64_t row = chunk / job->pieces, piece = chunk % job->pieces;
    int64_t from = asc_split_at(job->trees, job->pieces, piece), to = asc_split_at(job->trees, job->pieces, piece + 1);
    if (call->in[X].dtype == ASC_FLOAT64)
        find_leaves_f64(job, data, row, from, to);
    else
        find_leaves_f32(job, data, row, from, to);
}

static void score_few(const asc_call *call, tree_data *data) {
    const tree_job *job = data->job;
    data->found = (int32_t *)((char *)call->workspace + call->threads * job->sums_bytes);
    asc_parallel(call, job->rows * job->pieces, leaf_chunk, data);
    if (call->in[X].dtype == ASC_FLOAT64)
        score_found_f64(job, data, call->workspace);
    else
        score_found_f32(job, data, call->workspace);
}

int32_t ASC_FN(tree_ensemble_run)(const asc_call *call) {
    const tree_job *job = call->note;
    const asc_tensor *in = call->in;
    tree_data data = {.job = job, .x = in[X].data, .nodes = in[NODES].data, .trees = in[TREES].data};
    if (job->leaf != ASC_LEAF_WEIGHT) data.weights = in[WEIGHTS].data;
    if (job->leaf == ASC_LEAF_LIST) data.begins = in[BEGINS].data, data.targets = in[TARGETS].data;
    data.scores = call->out[0].data;
    data.labels = call->n_out == 2 ? call->out[1].data : NULL;
    if (job->pieces)
        score_few(call, &data);
    else if (job->rows)
        asc_parallel(call, asc_ceil_div(job->rows, job->per_chunk), tree_chunk, &data);
    return ASC_OK;
}

void ASC_FN(tree_ensemble_schedule)(const asc_call *call, char *text, size_t room) {
    const tree_job *job = call->note;
    if (job->pieces)
        asc_say_chunks(call, "trees_of_a_row", job->rows * job->pieces, text, room);
    else
        asc_say_chunks(call, "rows", job->rows ? asc_ceil_div(job->rows, job->per_chunk) : 0, text, room);
}
