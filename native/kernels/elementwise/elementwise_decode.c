/* Checking a tile program and resolving it: opcodes to functions, operands to access patterns. */
#include <string.h>

#include "elementwise_program.h"

#define TILE 1024      /* elements, while all registers of a small program fit the L1 cache */
#define SMALL_TILE 512 /* beyond SMALL_PROGRAM registers */
#define SMALL_PROGRAM 8
#define CHUNK_WORK 25000 /* ns of work that pay for handing a chunk to another thread */

static const int BYTES[EW_CLASSES] = {[EW_F32] = 4, [EW_F64] = 8, [EW_I32] = 4, [EW_I64] = 8, [EW_B8] = 1};

/* What is known about the registers while the steps are read in order. */
typedef struct reading {
    const asc_call *call;
    ew_program *p;
    ew_class classes[ASC_EW_MAX_REGISTERS];
    int16_t writer[ASC_EW_MAX_REGISTERS]; /* the last step that wrote it */
    int16_t writes[ASC_EW_MAX_REGISTERS];
    int32_t last_aliased; /* the last step that reads an input sharing memory with an output */
    uint8_t aliased[ASC_EW_MAX_REGISTERS];
    uint8_t in_aliased[ASC_EW_MAX_INPUTS];
    uint8_t stored[ASC_EW_MAX_OUTPUTS];
    int64_t cost;
} reading;

static int32_t refuse(const reading *r, int32_t step, const char *text) {
    int64_t where = step;
    return asc_failn(r->call->status, ASC_E_SHAPE, text, 1, &where);
}
#define REFUSE_UNLESS(condition, text)                \
    do {                                              \
        if (!(condition)) return refuse(r, at, text); \
    } while (0)

static int defined(const reading *r, int64_t reg) {
    return reg >= 0 && reg < r->p->n_registers && r->classes[reg] != EW_NONE;
}

/* Notes that step `at` reads register reg. */
static void note_read(reading *r, int64_t reg, int32_t at) {
    if (r->aliased[reg]) r->last_aliased = at;
}

static void define(reading *r, int64_t reg, ew_class class, int32_t at) {
    r->classes[reg] = class;
    r->writer[reg] = (int16_t)at;
    r->writes[reg]++;
    r->aliased[reg] = 0;
    r->p->steps[at].dst = (int16_t)reg;
    r->p->steps[at].bytes = (int16_t)BYTES[class];
}

/* ---- operands ------------------------------------------------------------------------------ */

static int32_t read_outputs(reading *r) {
    const asc_call *call = r->call;
    ASC_REQUIRE(call, call->n_out >= 1 && call->n_out <= ASC_EW_MAX_OUTPUTS, "elementwise: 1 to 8 outputs");
    for (int i = 0; i < call->n_out; i++) {
        const asc_tensor *t = &call->out[i];
        ASC_REQUIRE(call, asc_same_dims(t, &call->out[0]), "elementwise: the outputs differ in shape");
        ASC_REQUIRE(call, ASC_FN(asc_ew_class)(t->dtype), "elementwise: no arithmetic on the output's type");
        r->p->out[i] = (ew_target){t->data, ASC_FN(asc_ew_store)(t->dtype), (int32_t)asc_dtype_bytes(t->dtype)};
    }
    r->p->numel = asc_numel(&call->out[0]);
    return ASC_OK;
}

/* Merges axes that the input walks as one; size-1 axes vanish. */
static void set_pattern(ew_source *s, const asc_tensor *in, const asc_tensor *out) {
    int rank = 0, lead = out->rank - in->rank;
    for (int i = 0; i < out->rank; i++) {
        int64_t n = out->dims[i];
        int64_t stride = i < lead || in->dims[i - lead] == 1 ? 0 : in->strides[i - lead];
        if (n == 1) continue;
        if (rank && s->strides[rank - 1] == stride * n) {
            s->dims[rank - 1] *= n;
            s->strides[rank - 1] = stride;
        } else {
            s->dims[rank] = n;
            s->strides[rank++] = stride;
        }
    }
    s->rank = rank;
    s->pattern = rank == 0 || (rank == 1 && s->strides[0] == 0) ? EW_UNIFORM
                 : rank == 1 && s->strides[0] == 1              ? EW_FLAT
                                                                : EW_WALK;
}

static int overlaps(const asc_tensor *in, const asc_tensor *out) {
    const char *a = in->data, *b = out->data;
    return a && a == b && asc_numel(in) > 0;
}

static int32_t read_inputs(reading *r) {
    const asc_call *call = r->call;
    const asc_tensor *out = &call->out[0];
    ASC_REQUIRE(call, call->n_in <= ASC_EW_MAX_INPUTS, "elementwise: at most 16 inputs");
    for (int i = 0; i < call->n_in; i++) {
        const asc_tensor *t = &call->in[i];
        ew_source *s = &r->p->in[i];
        ASC_REQUIRE(call, ASC_FN(asc_ew_class)(t->dtype), "elementwise: no arithmetic on an input's type");
        ASC_REQUIRE(call, t->rank <= out->rank, "elementwise: an input has more axes than the output");
        for (int k = 0; k < t->rank; k++) {
            int64_t size = out->dims[out->rank - t->rank + k], mismatch[] = {k, i, t->dims[k], size};
            if (t->dims[k] != 1 && t->dims[k] != size)
                return asc_failn(call->status, ASC_E_SHAPE,
                                 "elementwise: axis % of input % has size %, which does not broadcast to %", 4,
                                 mismatch);
        }
        s->data = t->data;
        s->load = ASC_FN(asc_ew_load)(t->dtype);
        s->size = (int32_t)asc_dtype_bytes(t->dtype);
        s->shared = 0;
        set_pattern(s, t, out);
        for (int k = 0; k < call->n_out; k++) r->in_aliased[i] |= (uint8_t)overlaps(t, &call->out[k]);
    }
    return ASC_OK;
}

/* ---- steps --------------------------------------------------------------------------------- */

static int32_t read_load(reading *r, int32_t at, const int64_t *code) {
    REFUSE_UNLESS(code[2] >= 0 && code[2] < r->call->n_in, "elementwise: step % loads an input that is not there");
    int64_t input = code[2];
    r->p->steps[at].a = input;
    define(r, code[1], ASC_FN(asc_ew_class)(r->call->in[input].dtype), at);
    if (r->in_aliased[input]) {
        r->aliased[code[1]] = 1;
        r->last_aliased = at;
    }
    return ASC_OK;
}

static int32_t read_const(reading *r, int32_t at, const int64_t *code) {
    ew_step *s = &r->p->steps[at];
    int64_t dtype = code[3];
    if (dtype == ASC_FLOAT32 || dtype == ASC_FLOAT64) {
        REFUSE_UNLESS(code[2] >= 0 && code[2] < r->call->n_floats, "elementwise: step % has no such constant");
        double wide = r->call->floats[code[2]];
        float narrow = (float)wide;
        if (dtype == ASC_FLOAT32)
            memcpy(&s->a, &narrow, sizeof narrow);
        else
            memcpy(&s->a, &wide, sizeof wide);
    } else {
        REFUSE_UNLESS(dtype == ASC_INT32 || dtype == ASC_INT64 || dtype == ASC_BOOL,
                      "elementwise: step % is a constant of a type that has none");
        s->a = dtype == ASC_BOOL ? code[2] != 0 : code[2];
    }
    define(r, code[1], ASC_FN(asc_ew_class)(dtype), at);
    return ASC_OK;
}

static int32_t read_store(reading *r, int32_t at, const int64_t *code) {
    ew_step *s = &r->p->steps[at];
    REFUSE_UNLESS(code[1] >= 0 && code[1] < r->call->n_out, "elementwise: step % stores an output that is not there");
    REFUSE_UNLESS(defined(r, code[2]), "elementwise: step % reads a register that nothing wrote");
    REFUSE_UNLESS(ASC_FN(asc_ew_class)(r->call->out[code[1]].dtype) == r->classes[code[2]],
                  "elementwise: step % stores a register of another class than the output's type");
    REFUSE_UNLESS(!r->stored[code[1]], "elementwise: step % stores an output a second time");
    r->stored[code[1]] = 1;
    s->dst = (int16_t)code[1];
    s->a = code[2];
    s->bytes = (int16_t)BYTES[r->classes[code[2]]];
    note_read(r, code[2], at);
    if (r->aliased[code[2]])
        for (int i = 0; i < r->call->n_in; i++) r->p->in[i].shared |= r->in_aliased[i];
    return ASC_OK;
}

static int32_t read_cast(reading *r, int32_t at, const int64_t *code) {
    ew_step *s = &r->p->steps[at];
    REFUSE_UNLESS(defined(r, code[2]), "elementwise: step % reads a register that nothing wrote");
    ew_class from = r->classes[code[2]], to = ASC_FN(asc_ew_class)(code[3]);
    REFUSE_UNLESS(to != EW_NONE, "elementwise: step % casts to a type without arithmetic");
    REFUSE_UNLESS(code[4] == 0 || ASC_FN(asc_ew_class)(code[4]) == from,
                  "elementwise: step % casts from another class");
    REFUSE_UNLESS(code[1] != code[2] || BYTES[from] == BYTES[to],
                  "elementwise: step % changes the width of the register it reads");
    s->convert = ASC_FN(asc_ew_cast)(from, code[4] == ASC_UINT64, to, code[3] == ASC_UINT64);
    s->narrow = ASC_FN(asc_ew_narrow)(code[3]);
    s->a = code[2];
    note_read(r, code[2], at);
    define(r, code[1], to, at);
    r->cost += 2;
    return ASC_OK;
}

static const ew_primitive *primitive(ew_class class, int64_t op) {
    const ew_primitive *const tables[EW_CLASSES] = {
        NULL, ASC_FN(asc_ew_f32), ASC_FN(asc_ew_f64), ASC_FN(asc_ew_i32), ASC_FN(asc_ew_i64), ASC_FN(asc_ew_b8)};
    return &tables[class][op];
}

/* SELECT, and everything that the class tables hold. */
static int32_t read_primitive(reading *r, int32_t at, const int64_t *code) {
    ew_step *s = &r->p->steps[at];
    int64_t op = code[0], first = op == ASC_EW_SELECT ? 1 : 0;
    int64_t arity = op == ASC_EW_SELECT ? 3 : op < ASC_EW_NEG ? 2 : 1;
    for (int64_t i = 0; i < arity; i++)
        REFUSE_UNLESS(defined(r, code[2 + i]), "elementwise: step % reads a register that nothing wrote");
    ew_class class = r->classes[code[2 + first]];
    for (int64_t i = first; i < arity; i++)
        REFUSE_UNLESS(r->classes[code[2 + i]] == class, "elementwise: step % mixes operands of two classes");
    REFUSE_UNLESS(!first || r->classes[code[2]] == EW_B8, "elementwise: step % selects by something other than a bool");
    const ew_primitive *row = primitive(class, op);
    REFUSE_UNLESS(row->fn, "elementwise: step % has an operation its operands' class lacks");
    for (int64_t i = 0; i < arity; i++) {
        REFUSE_UNLESS(code[1] != code[2 + i] || BYTES[r->classes[code[2 + i]]] == BYTES[row->result],
                      "elementwise: step % changes the width of the register it reads");
        note_read(r, code[2 + i], at);
    }
    s->fn = row->fn;
    s->a = code[2];
    s->b = (int16_t)(arity > 1 ? code[3] : code[2]);
    s->c = (int16_t)(arity > 2 ? code[4] : code[2]);
    define(r, code[1], row->result, at);
    r->cost += row->cost;
    return ASC_OK;
}

static int32_t read_step(reading *r, int32_t at, const int64_t *code) {
    ew_step *s = &r->p->steps[at];
    int64_t op = code[0];
    *s = (ew_step){.op = (int16_t)op, .direct = -1};
    if (op == ASC_EW_STORE) {
        if (r->p->first_store < 0) r->p->first_store = at;
        return read_store(r, at, code);
    }
    REFUSE_UNLESS(r->p->first_store < 0, "elementwise: step % comes after a store");
    REFUSE_UNLESS(code[1] >= 0 && code[1] < r->p->n_registers,
                  "elementwise: step % writes a register that is not there");
    switch (op) {
        case ASC_EW_LOAD: return read_load(r, at, code);
        case ASC_EW_CONST: return read_const(r, at, code);
        case ASC_EW_IOTA: define(r, code[1], EW_I64, at); return ASC_OK;
        case ASC_EW_CAST: return read_cast(r, at, code);
        default:
            REFUSE_UNLESS(op == ASC_EW_SELECT || (op >= ASC_EW_ADD && op < ASC_EW_COUNT),
                          "elementwise: step % has an unknown opcode");
            return read_primitive(r, at, code);
    }
}

/* ---- what runs when, and where it writes ---------------------------------------------------- */

/* A value that is stored as it is goes straight to the output, unless the output's memory is that of
 * an input some later step still reads. */
static void choose_direct(reading *r) {
    ew_program *p = r->p;
    for (int32_t at = p->first_store; at < p->n_steps; at++) {
        const ew_step *store = &p->steps[at];
        ew_step *writer = &p->steps[r->writer[store->a]];
        int computed = writer->op == ASC_EW_CAST || writer->fn != NULL;
        if (computed && !p->out[store->dst].store && writer->direct < 0 && r->last_aliased <= r->writer[store->a])
            writer->direct = store->dst;
    }
}

/* Whether an input is one row again and again: scales and biases of channels. */
static int repeats(const ew_source *s) {
    return s->pattern == EW_WALK && s->rank == 2 && s->strides[0] == 0 && !s->shared;
}

/* The least number of elements, in whole vectors, after which all such inputs begin anew; 0 if that is more than
 * `most`, or there are none. */
static int64_t period_of(const reading *r, int64_t most) {
    int64_t period = EW_LANES;
    int any = 0;
    for (int i = 0; i < r->call->n_in; i++) {
        const ew_source *s = &r->p->in[i];
        if (!repeats(s)) continue;
        int64_t a = period, b = s->dims[1];
        while (b != 0) {
            int64_t rest = a % b;
            a = b;
            b = rest;
        }
        if (s->dims[1] / a > most / period) return 0;
        period *= s->dims[1] / a;
        any = 1;
    }
    return any ? period : 0;
}

static void choose_once(reading *r) {
    for (int32_t at = 0; at < r->p->n_steps; at++) {
        ew_step *s = &r->p->steps[at];
        const ew_source *in = s->op == ASC_EW_LOAD ? &r->p->in[s->a] : NULL;
        int same = s->op == ASC_EW_CONST || (in && (in->pattern == EW_UNIFORM || (r->p->repeats && repeats(in))));
        s->once = (int16_t)(s->op == EW_NOTHING || (same && r->writes[s->dst] == 1));
    }
}

static void choose_sizes(const reading *r) {
    ew_program *p = r->p;
    p->tile = p->n_registers <= SMALL_PROGRAM ? TILE : SMALL_TILE;
    int64_t period = period_of(r, p->tile);
    p->repeats = period > 0;
    if (period > 0) p->tile -= (int32_t)(p->tile % period);
    p->worker_bytes = (int64_t)(p->n_registers + 1) * p->tile * 8;
    int64_t work = (r->cost + p->n_steps) * 16 / ASC_VF; /* in 1/16 ns per element */
    int64_t least = (int64_t)CHUNK_WORK * 16 / (work < 1 ? 1 : work);
    int64_t share = p->numel / (4 * (r->call->threads > 0 ? r->call->threads : 1));
    int64_t chunk = share > least ? share : least;
    p->chunk = (chunk / p->tile + 1) * p->tile;
    p->chunks = (p->numel + p->chunk - 1) / p->chunk;
}

int32_t ASC_FN(asc_ew_decode)(const asc_call *call, ew_program *p) {
    reading state, *r = &state;
    memset(r, 0, sizeof *r);
    r->call = call;
    r->p = p;
    r->last_aliased = -1;
    p->first_store = -1;
    ASC_REQUIRE(call, call->n_ints >= 2, "elementwise: no program");
    int64_t registers = call->ints[0], steps = call->ints[1];
    ASC_REQUIRE(call, registers >= 1 && registers <= ASC_EW_MAX_REGISTERS, "elementwise: 1 to 64 registers");
    ASC_REQUIRE(call, steps >= 1 && steps <= ASC_EW_MAX_STEPS, "elementwise: 1 to 512 steps");
    ASC_REQUIRE(call, call->n_ints == 2 + steps * ASC_EW_STEP_INTS,
                "elementwise: the program's length is not what it says");
    p->n_registers = (int32_t)registers;
    p->n_steps = (int32_t)steps;
    int32_t code = read_outputs(r);
    if (code == ASC_OK) code = read_inputs(r);
    for (int32_t at = 0; at < steps && code == ASC_OK; at++)
        code = read_step(r, at, call->ints + 2 + at * ASC_EW_STEP_INTS);
    if (code != ASC_OK) return code;
    for (int i = 0; i < call->n_out; i++) ASC_REQUIRE(call, r->stored[i], "elementwise: an output is never stored");
    if (call->n_out == 1 || r->last_aliased < 0) ASC_FN(asc_ew_fold)(p);
    choose_direct(r);
    choose_sizes(r);
    choose_once(r);
    return ASC_OK;
}
