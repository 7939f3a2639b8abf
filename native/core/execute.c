/* Running a bound partition. A run takes a context - the calls with their operands, and an arena - from
 * the bound's idle ones, which are kept in slots that are emptied and filled by single atomic exchanges. */
#include <stdlib.h>
#include <string.h>

#include "asc_watch.h"
#include "lent.h"
#include "model.h"
#include "trace.h"

struct asc_context {
    asc_status status;
    asc_call *calls;
    asc_tensor *operands;
    uint8_t *arena;
    uint8_t *workspace;
    uint64_t *ns, *counts; /* of calls, once a trace has wanted them: start and end; counters behind each call */
#if defined(__SANITIZE_ADDRESS__)
    void **buffers; /* per value of the partition */
#endif
};

#if defined(__SANITIZE_ADDRESS__)

/* Every temporary gets an allocation of its own, so that a kernel that leaves it is caught; memory taken
 * over in place stays shared. */
static int place_context(asc_context *c, const asc_bound *b) {
    uint32_t n = asc_bound_partition(b)->n_values;
    c->buffers = calloc(n + 1, sizeof *c->buffers);
    if (posix_memalign((void **)&c->arena, ASC_ALIGN, 1) != 0) c->arena = NULL;
    if (posix_memalign((void **)&c->workspace, ASC_ALIGN, b->workspace_bytes) != 0) c->workspace = NULL;
    for (uint32_t v = 0; c->buffers && v < n; v++)
        if (b->storage[v].bytes && b->storage[v].takes == ASC_NONE) {
            if (posix_memalign(&c->buffers[v], ASC_ALIGN, b->storage[v].bytes) != 0) return 0;
            memset(c->buffers[v], 0xFB, b->storage[v].bytes);
        }
    return c->buffers && c->arena && c->workspace;
}

static void *temp_address(const asc_context *c, const asc_bound *b, uint32_t v) {
    while (b->storage[v].takes != ASC_NONE) v = b->storage[v].takes;
    return c->buffers[v] ? c->buffers[v] : c->arena;
}

static void unplace_context(asc_context *c, const asc_bound *b) {
    for (uint32_t v = 0; c->buffers && v < asc_bound_partition(b)->n_values; v++) free(c->buffers[v]);
    free(c->buffers);
    free(c->arena);
    free(c->workspace);
}

#else

static int place_context(asc_context *c, const asc_bound *b) {
    void *memory;
    if (posix_memalign(&memory, ASC_ALIGN, b->arena_bytes + b->workspace_bytes + ASC_ALIGN) != 0) return 0;
    c->arena = memory;
    c->workspace = c->arena + b->arena_bytes;
    return 1;
}

static void *temp_address(const asc_context *c, const asc_bound *b, uint32_t v) {
    return c->arena + b->storage[v].offset;
}

static void unplace_context(asc_context *c, const asc_bound *b) {
    (void)b;
    free(c->arena);
}

#endif

static void free_context(asc_context *c, const asc_bound *b) {
    if (!c) return;
    unplace_context(c, b);
    free(c->calls);
    free(c->operands);
    free(c->ns);
    free(c->counts);
    free(c);
}

static asc_context *make_context(const asc_bound *b) {
    asc_context *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->calls = malloc((b->n_insns + 1) * sizeof *c->calls);
    c->operands = malloc((b->n_operands + 1) * sizeof *c->operands);
    if (!c->calls || !c->operands || !place_context(c, b)) {
        free_context(c, b);
        return NULL;
    }
    memcpy(c->operands, b->operands, b->n_operands * sizeof *c->operands);
    for (uint32_t i = 0; i < b->n_insns; i++) {
        c->calls[i] = b->calls[i];
        c->calls[i].in = c->operands + (b->calls[i].in - b->operands);
        c->calls[i].out = c->operands + (b->calls[i].out - b->operands);
        c->calls[i].status = &c->status;
        c->calls[i].workspace = c->workspace;
    }
    for (uint32_t i = 0; i < b->n_arena_patches; i++) {
        const asc_patch *p = &b->arena_patches[i];
        c->operands[p->operand].data = (char *)temp_address(c, b, p->value) + p->delta;
    }
    asc_status_begin(&c->status);
    return c;
}

static asc_context *take_context(asc_bound *b) {
    for (int32_t i = 0; i < b->max_idle; i++) {
        if (!atomic_load_explicit(&b->idle[i], memory_order_relaxed)) continue;
        asc_context *c = atomic_exchange_explicit(&b->idle[i], NULL, memory_order_acquire);
        if (c) return c;
    }
    return make_context(b);
}

static void return_context(asc_bound *b, asc_context *c) {
    for (int32_t i = 0; i < b->max_idle; i++) {
        asc_context *empty = NULL;
        if (atomic_compare_exchange_strong_explicit(&b->idle[i], &empty, c, memory_order_release, memory_order_relaxed))
            return;
    }
    free_context(c, b);
}

void asc_contexts_free(asc_bound *b) {
    for (int32_t i = 0; i < ASC_IDLE_CONTEXTS; i++) free_context(b->idle[i], b);
}

static int32_t check_buffer(const asc_bound *b, uint32_t slot, const void *data, asc_status *status) {
    const asc_boundary *boundary = &b->boundary[slot];
    if (boundary->bytes == 0 || (data && (uintptr_t)data % boundary->align == 0)) return ASC_OK;
    int input = slot < b->n_inputs;
    return asc_failf(status, ASC_E_ARGUMENT, "the buffer of %s %u is %s", input ? "input" : "output",
                     input ? slot : slot - b->n_inputs, data ? "not aligned to its element type" : "NULL");
}

static int32_t check_buffers(const asc_bound *b, const void *const *in, void *const *out, asc_status *status) {
    for (uint32_t s = 0; s < b->n_inputs + b->n_outputs; s++) {
        int32_t code = check_buffer(b, s, s < b->n_inputs ? in[s] : out[s - b->n_inputs], status);
        if (code != ASC_OK) return code;
    }
    return ASC_OK;
}

static void set_buffers(const asc_bound *b, asc_context *c, const void *const *in, void *const *out) {
    for (uint32_t i = 0; i < b->n_boundary_patches; i++) {
        const asc_patch *p = &b->boundary_patches[i];
        void *base = p->slot < b->n_inputs ? (void *)in[p->slot] : out[p->slot - b->n_inputs];
        c->operands[p->operand].data = (char *)(base ? base : c->arena) + p->delta; /* NULL: no elements */
    }
}

/* Gives back the memory of the weights that instruction i has read. */
static void drop_weights(const asc_bound *b, uint32_t i) {
    const asc_plan *plan = &b->model->plan;
    const asc_insn *insn = &asc_plan_insns(plan)[asc_bound_partition(b)->first_insn + i];
    for (uint32_t k = 0; k < insn->n_in; k++) {
        uint32_t v = asc_plan_indices(plan)[insn->first_operand + k];
        const asc_value *root = v == ASC_NONE ? NULL : &asc_plan_values(plan)[plan->roots[v]];
        if (!root || root->kind != ASC_VALUE_WEIGHT) continue;
        uint64_t bytes = asc_plan_weights(plan)[root->base].bytes;
        asc_region_drop(&b->model->region, b->model->weights[root->base], bytes);
        asc_region_drop(&b->model->outside, b->model->weights[root->base], bytes);
    }
}

/* One run of the plan's calls; `at` and `code` are of the call that failed. */
typedef struct run {
    asc_bound *bound;
    asc_context *context;
    uint64_t *ns;
    uint64_t *counts; /* NULL: nothing is counted */
    uint32_t counters, thread;
    uint32_t at;
    int32_t code;
    asc_watch_fn watch; /* NULL: nobody looks */
    void *watcher;
} run;

static _Thread_local asc_watch_fn watching;
static _Thread_local void *watching_for;

void asc_watch_calls(asc_watch_fn watch, void *user) {
    watching = watch;
    watching_for = user;
}

static void show_call(const run *r, uint32_t i, int32_t done) {
    const asc_bound *b = r->bound;
    const asc_call *call = &r->context->calls[i];
    asc_watched_call shown = {.model = b->model,
                              .insn = asc_bound_partition(b)->first_insn + i,
                              .n_in = call->n_in,
                              .n_out = call->n_out,
                              .in = call->in,
                              .out = call->out,
                              .done = done,
                              .code = done ? r->code : ASC_OK};
    r->watch(r->watcher, &shown);
}

/* What call i added to the counters, in the place of what they were before it, with what its helpers counted. */
static void count_call(const run *r, uint64_t *before, asc_tally *helpers, uint32_t i) {
    uint64_t now[ASC_COUNTERS];
    uint32_t n = (uint32_t)__builtin_popcount(r->counters);
    asc_counters_read(r->counters, now);
    for (uint32_t k = 0; k < n; k++) {
        r->counts[i * n + k] = now[k] - before[k] + atomic_exchange(&helpers->counts[k], 0);
        before[k] = now[k];
    }
}

static void run_calls(void *given) {
    run *r = given;
    const asc_bound *b = r->bound;
    uint64_t *ns = r->ns, before[ASC_COUNTERS];
    asc_tally helpers = {.counters = r->counters}, *outer = asc_own_tally;
    if (r->counters) {
        asc_own_tally = &helpers;
        asc_counters_read(r->counters, before);
    }
    if (ns) r->thread = asc_trace_thread();
    for (r->at = 0; r->at < b->n_insns; r->at++) {
        uint32_t i = r->at;
        if (r->watch) show_call(r, i, 0);
        if (ns) ns[2 * i] = asc_clock_ns();
        r->code = b->runs[i](&r->context->calls[i]);
        if (ns) ns[2 * i + 1] = asc_clock_ns();
        if (r->counters) count_call(r, before, &helpers, i);
        if (r->watch) show_call(r, i, 1);
        if (b->model->flags & ASC_OPEN_LOW_MEMORY) drop_weights(b, i);
        if (r->code != ASC_OK) break;
    }
    asc_own_tally = outer;
}

/* Moves the failure of instruction i from the context to the caller. */
static void report(const asc_bound *b, asc_context *c, uint32_t i, int32_t code, asc_status *status) {
    if (!c->status.text[0]) asc_fail(&c->status, code, "the kernel failed without saying why");
    if (status) *status = c->status;
    asc_blame(status, &b->model->plan, asc_bound_partition(b)->first_insn + i);
    asc_status_begin(&c->status);
}

/* Room for what a trace wants of each call; the run goes on without it when there is no memory. */
static void make_room(run *r) {
    asc_context *c = r->context;
    uint32_t n = r->bound->n_insns + 1, counters = asc_trace_counters();
    if (!r->ns) {
        if (!c->ns) c->ns = malloc(2 * n * sizeof *c->ns);
        r->ns = c->ns;
    }
    if (counters && !c->counts) c->counts = malloc(ASC_COUNTERS * n * sizeof *c->counts);
    r->counts = counters ? c->counts : NULL;
    r->counters = r->counts ? counters : 0;
}

static void trace(const run *r, uint64_t began) {
    if (!r->ns) {
        asc_trace_lose_run();
        return;
    }
    asc_traced_run made = {.start = began,
                           .end = asc_clock_ns(),
                           .ns = r->ns,
                           .counts = r->counts,
                           .n_calls = r->at,
                           .thread = r->thread,
                           .counters = r->counters,
                           .code = r->code};
    asc_trace_add_run(r->bound, &made);
}

int32_t asc_execute(asc_bound *b, const void *const *in, void *const *out, uint64_t *ns, asc_status *status) {
    int traced = asc_trace_is_on();
    uint64_t began = traced ? asc_clock_ns() : 0;
    asc_status_begin(status);
    int32_t code = check_buffers(b, in, out, status);
    if (code != ASC_OK) return code;
    asc_context *c = take_context(b);
    if (!c)
        return asc_failf(status, ASC_E_MEMORY, "no memory for %lu bytes of temporaries",
                         b->arena_bytes + b->workspace_bytes);
    set_buffers(b, c, in, out);
    run r = {.bound = b, .context = c, .ns = ns, .code = ASC_OK, .watch = watching, .watcher = watching_for};
    if (traced) make_room(&r);
    b->regions = asc_lent_stay(b->model->threads, b->regions, run_calls, &r);
    if (traced) trace(&r, began);
    if (r.code != ASC_OK) report(b, c, r.at, r.code, status);
    return_context(b, c);
    int32_t files = asc_files_unchanged(b->model, status);
    return files == ASC_OK ? r.code : files;
}
