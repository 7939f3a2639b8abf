/* elementwise: runs a tile program (elementwise.h) over all elements of its outputs. */
#include "elementwise.h"

#include <string.h>

#include "chunks.h"
#include "elementwise_program.h"

/* One worker's view of one tile. */
typedef struct tile {
    const ew_program *p;
    char *memory;                          /* registers, then one staging buffer */
    char *registers[ASC_EW_MAX_REGISTERS]; /* where each register's elements are */
    int64_t first, n;                      /* elements [first, first + n) of the output */
    int64_t lanes;                         /* n rounded up to whole vectors */
} tile;

static char *own(const tile *t, int64_t reg) {
    return t->memory + reg * t->p->tile * 8;
}

/* ---- loading ------------------------------------------------------------------------------- */

#define GATHER(type)                                                                    \
    static char *gather_##type(char *to, const char *from, int64_t stride, int64_t n) { \
        type *d = (type *)to;                                                           \
        const type *s = (const type *)from;                                             \
        if (stride == 0)                                                                \
            for (int64_t i = 0; i < n; i++) d[i] = s[0];                                \
        else                                                                            \
            for (int64_t i = 0; i < n; i++) d[i] = s[i * stride];                       \
        return to + n * (int64_t)sizeof(type);                                          \
    }
GATHER(uint8_t)
GATHER(uint16_t)
GATHER(uint32_t)
GATHER(uint64_t)

/* Copies n elements, `stride` apart (0: one element n times), to `to`; returns the end. */
static char *gather(char *to, const char *from, int64_t stride, int64_t n, int size) {
    if (stride == 1) {
        memcpy(to, from, (size_t)(n * size));
        return to + n * size;
    }
    switch (size) {
        case 1: return gather_uint8_t(to, from, stride, n);
        case 2: return gather_uint16_t(to, from, stride, n);
        case 4: return gather_uint32_t(to, from, stride, n);
        default: return gather_uint64_t(to, from, stride, n);
    }
}

/* A repeated row: one period, then copies of twice as much each time. */
static void repeat_row(const ew_source *s, char *to, int64_t first, int64_t n) {
    int64_t period = s->dims[1], start = first % period, size = s->size;
    int64_t head = period - start < n ? period - start : n, done = period < n ? period : n;
    char *end = gather(to, s->data + start * s->strides[1] * size, s->strides[1], head, s->size);
    gather(end, s->data, s->strides[1], done - head, s->size);
    while (done < n) {
        int64_t more = done < n - done ? done : n - done;
        memcpy(to + done * size, to, (size_t)(more * size));
        done += more;
    }
}

/* The elements [first, first + n) of the broadcast input, in memory form. */
static void walk(const ew_source *s, char *to, int64_t first, int64_t n) {
    if (s->rank == 2 && s->strides[0] == 0) {
        repeat_row(s, to, first, n);
        return;
    }
    int last = s->rank - 1;
    int64_t index[ASC_MAX_RANK], offset = 0, rest = first;
    for (int i = last; i >= 0; i--) {
        index[i] = rest % s->dims[i];
        rest /= s->dims[i];
        offset += index[i] * s->strides[i];
    }
    for (;;) {
        int64_t run = s->dims[last] - index[last];
        if (run > n) run = n;
        to = gather(to, s->data + offset * s->size, s->strides[last], run, s->size);
        if ((n -= run) == 0) return;
        offset -= index[last] * s->strides[last];
        index[last] = 0;
        for (int i = last - 1; i >= 0; i--) {
            offset += s->strides[i];
            if (++index[i] < s->dims[i]) break;
            offset -= s->dims[i] * s->strides[i];
            index[i] = 0;
        }
    }
}

static void load(tile *t, const ew_step *step) {
    const ew_source *s = &t->p->in[step->a];
    const char *from = s->data + t->first * s->size;
    char *reg = own(t, step->dst), *staging = own(t, t->p->n_registers);
    int in_place = s->pattern == EW_FLAT && t->n == t->lanes;
    t->registers[step->dst] = reg;
    if (in_place && !s->load && !s->shared) {
        t->registers[step->dst] = (char *)from;
    } else if (in_place && s->load) {
        s->load(reg, from, t->lanes);
    } else {
        char *raw = s->load ? staging : reg;
        if (s->pattern == EW_FLAT)
            memcpy(raw, from, (size_t)(t->n * s->size));
        else if (s->pattern == EW_UNIFORM)
            gather(raw, s->data, 0, t->lanes, s->size);
        else
            walk(s, raw, t->first, t->n);
        if (s->load) s->load(reg, raw, t->lanes);
    }
}

/* ---- steps --------------------------------------------------------------------------------- */

static void fill(tile *t, const ew_step *step) {
    t->registers[step->dst] = own(t, step->dst);
    gather(own(t, step->dst), (const char *)&step->a, 0, t->lanes, step->bytes);
}

static void iota(tile *t, const ew_step *step) {
    int64_t *d = (int64_t *)own(t, step->dst);
    t->registers[step->dst] = (char *)d;
    for (int64_t i = 0; i < t->lanes; i++) d[i] = t->first + i;
}

/* Where the result goes: its register, or straight to the output when the tile is whole vectors. */
static char *place(tile *t, const ew_step *step) {
    char *to = own(t, step->dst);
    if (step->direct >= 0 && t->n == t->lanes) to = t->p->out[step->direct].data + t->first * step->bytes;
    t->registers[step->dst] = to;
    return to;
}

static void cast(tile *t, const ew_step *step) {
    const char *from = t->registers[step->a];
    char *to = place(t, step);
    step->convert(to, from, t->lanes);
    if (step->narrow) step->narrow(to, to, t->lanes);
}

static void store(tile *t, const ew_step *step) {
    const ew_target *out = &t->p->out[step->dst];
    const char *from = t->registers[step->a];
    char *to = out->data + t->first * out->size;
    if (from == to) return;
    if (!out->store) {
        memcpy(to, from, (size_t)(t->n * out->size));
    } else if (t->n == t->lanes) {
        out->store(to, from, t->lanes);
    } else {
        char *staging = own(t, t->p->n_registers);
        out->store(staging, from, t->lanes);
        memcpy(to, staging, (size_t)(t->n * out->size));
    }
}

static void run_step(tile *t, const ew_step *step) {
    switch (step->op) {
        case ASC_EW_LOAD: load(t, step); break;
        case ASC_EW_CONST: fill(t, step); break;
        case ASC_EW_IOTA: iota(t, step); break;
        case ASC_EW_CAST: cast(t, step); break;
        case ASC_EW_STORE: store(t, step); break;
        case EW_NOTHING: break;
        default: {
            const char *a = t->registers[step->a], *b = t->registers[step->b], *c = t->registers[step->c];
            step->fn(place(t, step), a, b, c, t->lanes);
        }
    }
}

/* ---- the kernel ---------------------------------------------------------------------------- */

static void set_extent(tile *t, int64_t first, int64_t n) {
    t->first = first;
    t->n = n;
    t->lanes = (n + EW_LANES - 1) / EW_LANES * EW_LANES;
}

static void run_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const ew_program *p = arg;
    int64_t from = chunk * p->chunk, to = from + p->chunk < p->numel ? from + p->chunk : p->numel;
    tile t = {.p = p, .memory = (char *)call->workspace + worker * p->worker_bytes};
    set_extent(&t, from, to - from < p->tile ? to - from : p->tile);
    for (int i = 0; i < p->n_steps; i++)
        if (p->steps[i].once) run_step(&t, &p->steps[i]);
    for (; from < to; from += p->tile) {
        set_extent(&t, from, to - from < p->tile ? to - from : p->tile);
        for (int i = 0; i < p->n_steps; i++)
            if (!p->steps[i].once) run_step(&t, &p->steps[i]);
    }
}

/* For profiles alone: runs decode the program themselves. */
typedef struct elementwise_note {
    int64_t numel, chunks;
    int32_t tile, steps, folded, repeats, walks; /* walks: inputs whose elements are no run of neighbours */
} elementwise_note;
ASC_KERNEL_NOTE(elementwise, elementwise_note)

static void note(asc_call *call, const ew_program *p) {
    elementwise_note *note = call->note;
    *note = (elementwise_note){.numel = p->numel, .chunks = p->chunks, .tile = p->tile, .steps = p->n_steps};
    note->repeats = p->repeats;
    for (int i = 0; i < p->n_steps; i++) note->folded += p->steps[i].op == EW_NOTHING;
    for (int i = 0; i < call->n_in; i++) note->walks += p->in[i].pattern == EW_WALK;
}

int32_t ASC_FN(elementwise_prepare)(asc_call *call) {
    ew_program program;
    int32_t code = ASC_FN(asc_ew_decode)(call, &program);
    if (code != ASC_OK) return code;
    note(call, &program);
    int64_t workers = program.chunks < call->threads ? program.chunks : call->threads;
    call->workspace_bytes = (uint64_t)((workers < 1 ? 1 : workers) * program.worker_bytes);
    return ASC_OK;
}

int32_t ASC_FN(elementwise_run)(const asc_call *call) {
    ew_program program;
    int32_t code = ASC_FN(asc_ew_decode)(call, &program);
    if (code == ASC_OK && program.numel > 0) asc_parallel(call, program.chunks, run_chunk, &program);
    return code;
}

void ASC_FN(elementwise_schedule)(const asc_call *call, char *text, size_t room) {
    const elementwise_note *note = call->note;
    if (note->numel == 0)
        asc_format(text, room, ASC_NO_SCHEDULE);
    else
        asc_format(text, room, "%s tile=%d steps=%d folded=%d chunks=%ld threads=%ld",
                   note->repeats ? "repeats"
                   : note->walks ? "walks"
                                 : "flat",
                   note->tile, note->steps, note->folded, note->chunks,
                   note->chunks < call->threads ? note->chunks : (int64_t)call->threads);
}
