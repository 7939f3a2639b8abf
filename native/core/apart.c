/* Sizes that contradict what a model declares. A name that stands in two places says that two sizes are equal, and so
 * may the shape declared of an output, or it says what data will make; onnxruntime takes all that for remarks. So a
 * bundle may hold a second plan, made without them, of which this is the model. */
#include <stdlib.h>
#include <string.h>

#include "dims.h"
#include "model.h"

/* What the plan says of the shape of an input. */
typedef struct shape {
    uint32_t name;
    uint32_t rank;
    uint32_t first_dim;
} shape;

/* ---- whether names hold ---------------------------------------------------------------------- */

/* Symbols that are a dim by themselves: the first place of each gives its size. */
static int symbols_hold(const asc_plan *plan, asc_dims *dims, const shape *shapes, const asc_tensor *inputs, uint32_t n,
                        asc_status *why) {
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t axis = 0; axis < shapes[i].rank; axis++) {
            const asc_dim *node = &asc_plan_dims(plan)[asc_plan_indices(plan)[shapes[i].first_dim + axis]];
            int64_t got = inputs[i].dims[axis];
            if (node->op != ASC_DIM_SYMBOL) continue;
            if (dims->symbol_known[node->a] && dims->symbols[node->a] != got) {
                asc_failf(why, ASC_E_SHAPE, "input '%s': dimension %u is %ld, but '%s' is %ld in another place",
                          asc_plan_string(plan, shapes[i].name), axis, got,
                          asc_plan_string(plan, asc_plan_symbols(plan)[node->a].name), dims->symbols[node->a]);
                return 0;
            }
            dims->symbols[node->a] = got;
            dims->symbol_known[node->a] = 1;
        }
    }
    return 1;
}

static int expressions_hold(const asc_plan *plan, asc_dims *dims, const shape *shapes, const asc_tensor *inputs,
                            uint32_t n, asc_status *why) {
    asc_dims_evaluate(dims, plan);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t axis = 0; axis < shapes[i].rank; axis++) {
            uint32_t node = asc_plan_indices(plan)[shapes[i].first_dim + axis];
            int64_t got = inputs[i].dims[axis];
            if (asc_plan_dims(plan)[node].op == ASC_DIM_CONST || dims->states[node] || dims->nodes[node] == got)
                continue;
            asc_failf(why, ASC_E_SHAPE, "input '%s': dimension %u is %ld, but must be %ld by what it is called",
                      asc_plan_string(plan, shapes[i].name), axis, got, dims->nodes[node]);
            return 0;
        }
    }
    return 1;
}

static int names_hold(const asc_plan *plan, const shape *shapes, const asc_tensor *inputs, uint32_t n,
                      asc_status *why) {
    asc_dims dims = {0};
    for (uint32_t i = 0; i < n; i++)
        if (inputs[i].rank != (int32_t)shapes[i].rank) return 1;
    if (asc_dims_make(&dims, plan, NULL) != ASC_OK) return 1;
    int hold = symbols_hold(plan, &dims, shapes, inputs, n, why) &&
               expressions_hold(plan, &dims, shapes, inputs, n, why) &&
               asc_check_constraints(&dims, plan, why) == ASC_OK;
    asc_dims_free(&dims);
    return hold;
}

void asc_model_say_apart(asc_model *m, const asc_status *why) {
    char text[512];
    if (atomic_exchange(&m->said_apart, 1)) return;
    asc_format(text, sizeof text, "%s: declared shapes and names of dimensions don't count where sizes contradict them",
               why->text);
    asc_model_log(m, 2, text);
}

int32_t asc_model_names_hold(const asc_model *m, const asc_tensor *inputs, uint32_t n_inputs, asc_status *why) {
    const asc_plan *plan = &m->plan;
    uint32_t n = 0;
    shape *shapes = malloc((n_inputs + 1) * sizeof *shapes);
    for (uint32_t i = 0; shapes && i < asc_plan_n_edges(plan); i++) {
        const asc_edge *e = &asc_plan_edges(plan)[i];
        if (!(e->role & ASC_EDGE_INPUT)) continue;
        if (n < n_inputs) shapes[n] = (shape){e->name, e->rank, e->first_dim};
        n++;
    }
    int hold = !shapes || n != n_inputs || names_hold(plan, shapes, inputs, n, why);
    free(shapes);
    return hold;
}

uint32_t asc_apart_partition(const asc_model *m, uint32_t partition, const asc_tensor *inputs, asc_status *why) {
    const asc_plan *plan = &m->plan;
    if (!m->apart || m->stands_in[partition] == ASC_NONE) return ASC_NONE;
    const asc_partition *p = &asc_plan_partitions(plan)[partition];
    shape *shapes = malloc((p->n_inputs + 1) * sizeof *shapes);
    for (uint32_t i = 0; shapes && i < p->n_inputs; i++) {
        const asc_value *v = &asc_plan_values(plan)[asc_plan_indices(plan)[p->first_input + 2 * i + 1]];
        shapes[i] = (shape){v->name, v->rank, v->first_dim};
    }
    int hold = !shapes || names_hold(plan, shapes, inputs, p->n_inputs, why);
    free(shapes);
    return hold ? ASC_NONE : m->stands_in[partition];
}

/* ---- opening --------------------------------------------------------------------------------- */

static int same_edge(const asc_plan *one, uint32_t a, const asc_plan *other, uint32_t b) {
    const asc_edge *e = &asc_plan_edges(one)[a], *f = &asc_plan_edges(other)[b];
    return e->dtype == f->dtype && e->rank == f->rank &&
           strcmp(asc_plan_string(one, e->name), asc_plan_string(other, f->name)) == 0;
}

static int same_run(const asc_plan *one, uint32_t first, const asc_plan *other, uint32_t second, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (!same_edge(one, asc_plan_indices(one)[first + 2 * i], other, asc_plan_indices(other)[second + 2 * i]))
            return 0;
    return 1;
}

/* The next edge from `at` on that has this role, or the number of edges. */
static uint32_t next_edge(const asc_plan *plan, uint32_t at, uint32_t role) {
    while (at < asc_plan_n_edges(plan) && !(asc_plan_edges(plan)[at].role & role)) at++;
    return at;
}

/* Whether both have the same inputs, and outputs of the same names. */
static int same_boundary(const asc_plan *one, const asc_plan *other) {
    for (uint32_t role = ASC_EDGE_INPUT; role <= ASC_EDGE_OUTPUT; role++) {
        uint32_t a = next_edge(one, 0, role), b = next_edge(other, 0, role);
        for (; a < asc_plan_n_edges(one) && b < asc_plan_n_edges(other);
             a = next_edge(one, a + 1, role), b = next_edge(other, b + 1, role)) {
            const asc_edge *e = &asc_plan_edges(one)[a], *f = &asc_plan_edges(other)[b];
            if (role == ASC_EDGE_INPUT ? !same_edge(one, a, other, b)
                                       : strcmp(asc_plan_string(one, e->name), asc_plan_string(other, f->name)) != 0)
                return 0;
        }
        if (a < asc_plan_n_edges(one) || b < asc_plan_n_edges(other)) return 0;
    }
    return 1;
}

/* Whether both mean the same bytes. Where a library lies follows from the bytes of those before it, and how many bytes
 * a file has from its weights, as both plans have been verified. */
static int same_blobs(const asc_plan *one, const asc_plan *other) {
    uint32_t n = asc_plan_n_weights(one), n_natives = asc_plan_n_natives(one), n_files = asc_plan_n_weight_files(one);
    if (n != asc_plan_n_weights(other) || n_natives != asc_plan_n_natives(other) ||
        n_files != asc_plan_n_weight_files(other))
        return 0;
    if (n && memcmp(asc_plan_weights(one), asc_plan_weights(other), n * sizeof(asc_weight)) != 0) return 0;
    for (uint32_t i = 0; i < n_natives; i++) {
        const asc_native *a = &asc_plan_natives(one)[i], *b = &asc_plan_natives(other)[i];
        if (a->bytes != b->bytes) return 0;
    }
    for (uint32_t i = 0; i < n_files; i++) {
        const asc_weight_file *a = &asc_plan_weight_files(one)[i], *b = &asc_plan_weight_files(other)[i];
        if (a->first_weight != b->first_weight || a->n_weights != b->n_weights) return 0;
    }
    return 1;
}

/* The partition of `other` with the same inputs and outputs, in the same order; or ASC_NONE. */
static uint32_t find_same(const asc_plan *plan, const asc_partition *p, const asc_plan *other) {
    for (uint32_t i = 0; p->kind == ASC_PARTITION_NATIVE && i < asc_plan_n_partitions(other); i++) {
        const asc_partition *q = &asc_plan_partitions(other)[i];
        if (q->kind == ASC_PARTITION_NATIVE && p->n_inputs == q->n_inputs && p->n_outputs == q->n_outputs &&
            same_run(plan, p->first_input, other, q->first_input, p->n_inputs) &&
            same_run(plan, p->first_output, other, q->first_output, p->n_outputs))
            return i;
    }
    return ASC_NONE;
}

/* The file as the second plan sees it: its own PLAN and HOST partitions, and no samples. */
static asc_frame frame_of(const asc_model *m, const asc_table *plan, const asc_table *hosts) {
    asc_frame frame = {.table_end = m->frame.table_end, .file_size = m->frame.file_size};
    const uint32_t kept[] = {ASC_PART_WEIGHTS, ASC_PART_NATIVE};
    for (int i = 0; i < 2; i++) {
        const asc_part *part = asc_frame_part(&m->frame, kept[i]);
        if (part) frame.parts[frame.n_parts++] = *part;
    }
    const asc_table *own[] = {plan, hosts};
    for (int i = 0; i < 2; i++)
        if (own[i]->count)
            frame.parts[frame.n_parts++] =
                (asc_part){i ? ASC_PART_HOST : ASC_PART_PLAN,
                           (uint64_t)((const uint8_t *)own[i]->data - m->region.bytes), own[i]->count};
    return frame;
}

static int32_t open_plan(asc_model *m, asc_model *a, const asc_table *section, asc_status *status) {
    int32_t code = asc_plan_parse(&a->plan, section->data, section->count, status);
    if (code == ASC_OK) code = asc_plan_verify(&a->plan, &a->frame, m->region.bytes, m->isa, status);
    if (code != ASC_OK) return code;
    if (a->plan.tables[ASC_SEC_APART].count || a->plan.tables[ASC_SEC_APART_HOST].count ||
        !same_blobs(&m->plan, &a->plan) || !same_boundary(&m->plan, &a->plan))
        return asc_fail(status, ASC_E_FORMAT, "the plan without names is of another model");
    uint32_t n = asc_plan_n_partitions(&m->plan);
    a->caches = calloc(asc_plan_n_partitions(&a->plan) + 1, sizeof *a->caches);
    m->stands_in = malloc((n + 1) * sizeof *m->stands_in);
    if (!a->caches || !m->stands_in) return asc_fail(status, ASC_E_MEMORY, "no memory for the model");
    for (uint32_t i = 0; i < n; i++) m->stands_in[i] = find_same(&m->plan, &asc_plan_partitions(&m->plan)[i], &a->plan);
    return ASC_OK;
}

int32_t asc_apart_open(asc_model *m, asc_status *status) {
    const asc_table *section = &m->plan.tables[ASC_SEC_APART], *hosts = &m->plan.tables[ASC_SEC_APART_HOST];
    if (!section->count)
        return hosts->count ? asc_fail(status, ASC_E_FORMAT, "there are host models of a plan that isn't there")
                            : ASC_OK;
    asc_model *a = calloc(1, sizeof *a);
    if (!a) return asc_fail(status, ASC_E_MEMORY, "no memory for the model");
    m->apart = a;
    a->owner = m;
    a->region = m->region;
    a->frame = frame_of(m, section, hosts);
    a->isa = m->isa;
    a->threads = m->threads;
    a->max_bound = m->max_bound;
    a->flags = m->flags;
    a->max_memory = m->max_memory;
    a->log = m->log;
    a->log_user = m->log_user;
    a->libraries = m->libraries;
    a->weights = m->weights;
    pthread_mutex_init(&a->lock, NULL);
    return open_plan(m, a, section, status);
}

void asc_apart_free(asc_model *m) {
    asc_model *a = m->apart;
    free(m->stands_in);
    if (!a) return;
    asc_caches_free(a);
    asc_plan_free(&a->plan);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

asc_model *asc_model_apart(const asc_model *model) {
    return model->apart;
}

uint32_t asc_model_stand_in(const asc_model *model, uint32_t partition) {
    if (!model->apart || partition >= asc_plan_n_partitions(&model->plan)) return ASC_NONE;
    return model->stands_in[partition];
}
