/* formula_abi.h - what every operator built from a formula exports: asc_get_custom_op (ascend_rt.h), and MindSpore's
 * aot function with its InferShape. Its parts are generated for one combination of element types each, and for
 * tensors whose leading dimensions are groups (codegen/leading.py); here a call of any of these types, with
 * any number of leading dimensions, becomes a call of a part.
 *
 * Before this text stand ascend_rt.h and
 *   OP_TYPE, AOT_NAME        the operator's type, and its aot function's symbol
 *   REBUILD                  the command that builds it, without shapes and types
 *   N_IN, N_OUT, N_GIVEN     operands, and inputs that aren't absent: the given ones
 *   N_LEAST                  inputs up to the last given one
 *   N_PARTS, parts           the operators of the parts
 *   part_types               per part the types of given inputs, then of outputs
 *   given_slot, given_name   per given input its position among all, and its name
 *   given_own                per given input its dimensions that aren't leading
 *   could_be                 per given input the types that another build may take, a bit each
 *   N_GROUPS, group_of       groups of leading dimensions (0: ranks are as built), a bit for each given input with them
 *   FULL_GROUP, LEADING      the group that all inputs with leading dimensions have, and those inputs
 *   SPREADS                  whether leading dimensions broadcast
 *   EXACT                    inputs that have no leading dimensions, not even of 1
 */
#include <stdlib.h>
#include <string.h>

typedef struct form {
    const asc_custom_op *part;
    asc_tensor in[N_IN + 1], out[N_OUT];
    int64_t lead[ASC_MAX_RANK]; /* the leading dimensions, broadcast */
    int64_t elements;           /* in them */
    int64_t groups[N_GROUPS + 1];
    uint32_t repeated; /* inputs that are written out along all of them */
    int n_lead;
} form;

static const char *const type_names[] = {"nothing", "float32", "uint8",     "int8",       "uint16",  "int16",
                                         "int32",   "int64",   "string",    "bool",       "float16", "float64",
                                         "uint32",  "uint64",  "complex64", "complex128", "bfloat16"};
static const uint8_t type_bytes[] = {0, 4, 1, 1, 2, 2, 4, 8, 0, 1, 2, 8, 4, 8, 8, 16, 2};
#define N_TYPES (int)(sizeof type_bytes)

/* ---- refusals ------------------------------------------------------------------------------ */

static void say(asc_custom_call *call, const char *text) {
    if (!call->error || !call->error_bytes) return;
    uint32_t n = 0;
    while (n + 1 < call->error_bytes && call->error[n]) n++;
    for (; *text && n + 1 < call->error_bytes; n++) call->error[n] = *text++;
    call->error[n] = 0;
}
static void say_number(asc_custom_call *call, int64_t number) {
    char digits[24] = {0}, *at = digits + sizeof digits - 1;
    do *--at = (char)('0' + number % 10);
    while (number /= 10);
    say(call, at);
}
static void say_input(asc_custom_call *call, int k) {
    if (call->error && call->error_bytes) call->error[0] = 0;
    say(call, "input "), say(call, given_name[k]);
}
static const char *name_of(int32_t dtype) {
    return dtype >= 0 && dtype < N_TYPES ? type_names[dtype] : "of an unknown type";
}
static int could_take(int k, int32_t dtype) {
    return dtype > 0 && dtype < 32 && could_be[k] >> dtype & 1;
}
/* The command that builds the operator for this call, where the formula allows its types. */
static int32_t say_rebuild(asc_custom_call *call) {
    for (int k = 0; k < N_GIVEN; k++)
        if (!could_take(k, call->in[given_slot[k]].dtype)) return 1;
    say(call, "; rebuild it: " REBUILD " --input_shape \"");
    for (int k = 0; k < N_GIVEN; k++) {
        const asc_tensor *t = &call->in[given_slot[k]];
        say(call, k ? ";[" : "[");
        for (int d = 0; d < t->rank; d++) {
            if (d) say(call, ",");
            say_number(call, t->dims[d] > 1 ? t->dims[d] : 1);
        }
        say(call, "]");
    }
    say(call, "\" --dtype \"");
    for (int k = 0; k < N_GIVEN; k++) {
        if (k) say(call, ";");
        say(call, name_of(call->in[given_slot[k]].dtype));
    }
    say(call, "\"");
    return 1;
}

/* ---- element types ------------------------------------------------------------------------- */

/* Whether an earlier part has the same type there. */
static int is_listed(int part, int k) {
    for (int p = 0; p < part; p++)
        if (part_types[p][k] == part_types[part][k]) return 1;
    return 0;
}
static int is_taken(int k, int32_t dtype) {
    for (int p = 0; p < N_PARTS; p++)
        if (part_types[p][k] == dtype) return 1;
    return 0;
}
static int32_t refuse_types(asc_custom_call *call) {
    for (int k = 0; k < N_GIVEN; k++) {
        int32_t dtype = call->in[given_slot[k]].dtype;
        if (is_taken(k, dtype)) continue;
        say_input(call, k), say(call, " is "), say(call, name_of(dtype)), say(call, ", and it was built for ");
        for (int p = 0, n = 0; p < N_PARTS; p++) {
            if (is_listed(p, k)) continue;
            if (n++) say(call, ", ");
            say(call, type_names[part_types[p][k]]);
        }
        if (!could_take(k, dtype)) say(call, "; no build of it takes another: cast it");
        return say_rebuild(call);
    }
    say_input(call, 0), say(call, " and the others are of types that don't go together");
    return 1;
}
static int find_part(asc_custom_call *call, form *f) {
    for (int p = 0; p < N_PARTS; p++) {
        int k = 0;
        while (k < N_GIVEN && part_types[p][k] == call->in[given_slot[k]].dtype) k++;
        f->part = parts[p];
        if (k == N_GIVEN) return 0;
    }
    return refuse_types(call);
}
static int find_inputs(asc_custom_call *call) {
    if (call->error && call->error_bytes) call->error[0] = 0;
    int absent = 0, extra = call->n_in > N_IN || call->n_out != N_OUT;
    for (int k = 0; k < N_GIVEN; k++) {
        uint32_t slot = (uint32_t)given_slot[k];
        absent |= slot >= call->n_in || call->in[slot].dtype == ASC_UNDEFINED;
    }
    for (uint32_t i = 0, k = 0; i < call->n_in && !extra; i++) {
        int is_given = k < N_GIVEN && (uint32_t)given_slot[k] == i;
        extra = !is_given && call->in[i].dtype != ASC_UNDEFINED;
        k += (uint32_t)is_given;
    }
    if (absent || extra) say(call, "it was built for other inputs: all of these, and no others: ");
    for (int k = 0; k < N_GIVEN && (absent || extra); k++) say(call, k ? ", " : ""), say(call, given_name[k]);
    return absent || extra;
}

/* ---- leading dimensions -------------------------------------------------------------------- */

/* How many dimensions of its own come last. */
static int own_of(int k) {
    return given_own[k];
}
static int64_t lead_dim(const asc_tensor *t, int k, int back) {
    int d = t->rank - own_of(k) - back;
    return d >= 0 ? t->dims[d] : 1;
}
static int broadcast_lead(asc_custom_call *call, form *f) {
    f->elements = 1;
    for (int back = f->n_lead; back > 0; back--) {
        int64_t size = 1;
        for (int k = 0; k < N_GIVEN; k++) {
            int64_t mine = lead_dim(&call->in[given_slot[k]], k, back);
            if (mine == 1) continue;
            if (!(LEADING >> k & 1)) {
                say_input(call, k), say(call, " was built without dimensions before its last ");
                say_number(call, own_of(k));
                return say_rebuild(call);
            }
            if (size != 1 && mine != size) {
                say_input(call, k), say(call, " has "), say_number(call, mine), say(call, " where another has ");
                say_number(call, size), say(call, " elements along a dimension");
                return 1;
            }
            size = mine;
        }
        f->lead[f->n_lead - back] = size;
        if (__builtin_mul_overflow(f->elements, size, &f->elements)) return say(call, "it is too large"), 1;
    }
    return 0;
}
/* Where leading dimensions don't broadcast, all inputs that have them have the same. */
static int refuse_spread(asc_custom_call *call) {
    int first = 0;
    while (!(LEADING >> first & 1)) first++;
    const asc_tensor *t = &call->in[given_slot[first]];
    for (int k = first + 1; k < N_GIVEN; k++) {
        const asc_tensor *u = &call->in[given_slot[k]];
        int differs = u->rank - own_of(k) != t->rank - own_of(first);
        for (int d = 0; !differs && d < t->rank - own_of(first); d++) differs = u->dims[d] != t->dims[d];
        if (!(LEADING >> k & 1) || !differs) continue;
        say_input(call, k), say(call, " has other leading dimensions than ");
        say(call, given_name[first]), say(call, ", and these don't broadcast");
        return 1;
    }
    return 0;
}
/* The sizes of the groups; whether the call's dimensions are among them, in their order. */
static int find_groups(const asc_custom_call *call, form *f) {
    uint32_t last = 0;
    int at = -1;
    for (int g = 0; g < N_GROUPS; g++) f->groups[g] = 1;
    for (int back = f->n_lead; back > 0; back--) {
        uint32_t having = 0;
        for (int k = 0; k < N_GIVEN; k++) having |= (uint32_t)(lead_dim(&call->in[given_slot[k]], k, back) != 1) << k;
        if (!having) continue;
        if (having != last) do
                if (++at >= N_GROUPS) return 0;
            while (group_of[at] != having);
        last = having;
        f->groups[at] *= f->lead[f->n_lead - back];
    }
    return 1;
}
static void set_dims(asc_tensor *t, const int64_t *groups, uint32_t bit, const asc_tensor *given, int own) {
    int rank = 0;
    if (LEADING & bit)
        for (int g = 0; g < N_GROUPS; g++) t->dims[rank++] = group_of[g] & bit ? groups[g] : 1;
    for (int d = given->rank - own; d < given->rank; d++) t->dims[rank++] = given->dims[d];
    t->rank = rank;
    for (int64_t d = rank - 1, step = 1; d >= 0; d--) t->strides[d] = step, step *= t->dims[d] > 1 ? t->dims[d] : 1;
}
static int form_groups(asc_custom_call *call, form *f) {
    for (int k = 0; k < N_GIVEN; k++) {
        int lead = call->in[given_slot[k]].rank - own_of(k);
        if (lead < 0) {
            say_input(call, k), say(call, " has "), say_number(call, call->in[given_slot[k]].rank);
            say(call, " dimensions, and it takes "), say_number(call, own_of(k)), say(call, " or more");
            return 1;
        }
        if (EXACT >> k & 1 && lead) {
            say_input(call, k), say(call, " has "), say_number(call, call->in[given_slot[k]].rank);
            say(call, " dimensions, and it was built for "), say_number(call, own_of(k));
            return say_rebuild(call);
        }
        if (LEADING >> k & 1) f->n_lead = lead > f->n_lead ? lead : f->n_lead;
    }
    for (int k = 0; k < N_GIVEN; k++) {
        if (call->in[given_slot[k]].rank - own_of(k) <= f->n_lead) continue;
        say_input(call, k), say(call, " has more leading dimensions than the others, and was built without");
        return say_rebuild(call);
    }
    if ((!SPREADS && refuse_spread(call)) || broadcast_lead(call, f)) return 1;
    if (!find_groups(call, f)) {
        for (int g = 0; g < N_GROUPS; g++) f->groups[g] = g == FULL_GROUP ? f->elements : 1;
        for (int k = 0; k < N_GIVEN; k++)
            for (int back = f->n_lead; LEADING >> k & 1 && back > 0; back--)
                if (lead_dim(&call->in[given_slot[k]], k, back) != f->lead[f->n_lead - back])
                    f->repeated |= (uint32_t)1 << k;
    }
    for (int k = 0; k < N_GIVEN; k++)
        set_dims(&f->in[given_slot[k]], f->groups, (uint32_t)1 << k, &call->in[given_slot[k]], own_of(k));
    return 0;
}

/* ---- a call as its part has it ------------------------------------------------------------- */

static int form_call(asc_custom_call *call, form *f) {
    memset(f, 0, sizeof *f);
    if (find_inputs(call) || find_part(call, f)) return 1;
    for (int k = 0; k < N_GIVEN; k++) f->in[given_slot[k]] = call->in[given_slot[k]];
    if (N_GROUPS) return form_groups(call, f);
    for (int k = 0; k < N_GIVEN; k++) {
        if (call->in[given_slot[k]].rank == own_of(k)) continue;
        say_input(call, k), say(call, " has "), say_number(call, call->in[given_slot[k]].rank);
        say(call, " dimensions, and it was built for "), say_number(call, own_of(k));
        return say_rebuild(call);
    }
    return 0;
}
static asc_custom_call inner_call(const asc_custom_call *call, form *f) {
    asc_custom_call inner = *call;
    inner.in = f->in;
    inner.out = f->out;
    inner.n_in = N_LEAST;
    return inner;
}

static int32_t infer(asc_custom_call *call) {
    form f;
    if (form_call(call, &f)) return 1;
    asc_custom_call inner = inner_call(call, &f);
    if (f.part->infer(&inner)) return 1;
    for (int o = 0; o < N_OUT; o++) {
        const asc_tensor *from = &f.out[o];
        asc_tensor *to = &call->out[o];
        if (f.n_lead + from->rank - N_GROUPS > ASC_MAX_RANK) return say(call, "an output has too many dimensions"), 1;
        for (int d = 0; d < N_GROUPS; d++)
            if (from->dims[d] != f.groups[d]) return say(call, "its code gives an output another shape"), 1;
        to->dtype = from->dtype;
        to->rank = 0;
        for (int d = 0; d < f.n_lead; d++) to->dims[to->rank++] = f.lead[d];
        for (int d = N_GROUPS; d < from->rank; d++) to->dims[to->rank++] = from->dims[d];
    }
    return 0;
}

/* Bytes of an input that is repeated; those of one index of the leading dimensions to *block. */
static uint64_t repeated_bytes(const asc_custom_call *call, const form *f, int k, int64_t *block) {
    const asc_tensor *t = &call->in[given_slot[k]];
    *block = type_bytes[t->dtype];
    for (int d = t->rank - own_of(k); d < t->rank; d++) *block *= t->dims[d];
    return ((uint64_t)*block * (uint64_t)f->elements + 63) / 64 * 64;
}
static void repeat_input(const asc_custom_call *call, const form *f, int k, char *to) {
    const asc_tensor *t = &call->in[given_slot[k]];
    int64_t block, run = 1, step[ASC_MAX_RANK], at[ASC_MAX_RANK] = {0}, from = 0;
    repeated_bytes(call, f, k, &block);
    for (int d = f->n_lead - 1; d >= 0; d--) {
        int64_t mine = lead_dim(t, k, f->n_lead - d);
        step[d] = mine == 1 ? 0 : run * block;
        run *= mine;
    }
    for (int64_t i = 0; i < f->elements; i++, to += block) {
        memcpy(to, (const char *)t->data + from, (size_t)block);
        for (int d = f->n_lead - 1; d >= 0; d--) {
            from += step[d];
            if (++at[d] < f->lead[d]) break;
            from -= step[d] * f->lead[d];
            at[d] = 0;
        }
    }
}

static uint64_t workspace(const asc_custom_call *given) {
    asc_custom_call call = *given;
    form f;
    int64_t block;
    if (form_call(&call, &f)) return UINT64_MAX;
    asc_custom_call inner = inner_call(&call, &f);
    uint64_t bytes = f.part->workspace(&inner);
    if (bytes == UINT64_MAX) return bytes;
    for (int k = 0; k < N_GIVEN; k++)
        if (f.repeated >> k & 1) bytes += repeated_bytes(&call, &f, k, &block);
    return bytes;
}
static int32_t compute(const asc_custom_call *given) {
    asc_custom_call call = *given;
    form f;
    int64_t block;
    if (form_call(&call, &f)) return 1;
    asc_custom_call inner = inner_call(&call, &f);
    for (int k = 0; k < N_GIVEN; k++) {
        if (!(f.repeated >> k & 1)) continue;
        uint64_t bytes = repeated_bytes(&call, &f, k, &block);
        if (bytes > inner.workspace_bytes) return say(&call, "the workspace is too small"), 1;
        repeat_input(&call, &f, k, inner.workspace);
        f.in[given_slot[k]].data = inner.workspace;
        inner.workspace = (char *)inner.workspace + bytes;
        inner.workspace_bytes -= bytes;
    }
    for (int o = 0; o < N_OUT; o++) f.out[o].data = call.out[o].data;
    return f.part->compute(&inner);
}

static const asc_custom_op described = {
    2, sizeof(asc_custom_op), OP_TYPE, N_LEAST, N_IN, N_OUT, 0, infer, workspace, compute};

ASC_API const asc_custom_op *asc_get_custom_op(uint32_t version, const char *op_type);
const asc_custom_op *asc_get_custom_op(uint32_t version, const char *op_type) {
    return version >= 2 && strcmp(op_type, described.op_type) == 0 ? &described : NULL;
}

/* ---- MindSpore ----------------------------------------------------------------------------- */

static int same_type(const char *given, int32_t dtype) {
    const char *name = type_names[dtype];
    if (strcmp(given, name) == 0) return 1;
    return (dtype == ASC_FLOAT32 && strcmp(given, "float") == 0) || (dtype == ASC_INT32 && strcmp(given, "int") == 0);
}
/* The types of a part that has those of all operands; NULL without one. */
static const int32_t *aot_types(const char **dtypes) {
    for (int p = 0; p < N_PARTS; p++) {
        int i = 0;
        while (i < N_GIVEN + N_OUT && same_type(dtypes[i], part_types[p][i])) i++;
        if (i == N_GIVEN + N_OUT) return part_types[p];
    }
    return NULL;
}

static int aot_describe(asc_custom_call *call, asc_tensor *in, const int32_t *types, int *ndims, int64_t **shapes) {
    for (int k = 0; k < N_GIVEN; k++) {
        asc_tensor *t = &in[given_slot[k]];
        if (ndims[k] < 0 || ndims[k] > ASC_MAX_RANK) return 1;
        t->dtype = types[k];
        t->rank = ndims[k];
        for (int d = 0; d < ndims[k]; d++) t->dims[d] = shapes[k][d];
    }
    return infer(call);
}

static int aot_outputs(asc_tensor *out, void **params, int *ndims, int64_t **shapes) {
    for (int o = 0; o < N_OUT; o++) {
        if (ndims[N_GIVEN + o] != out[o].rank) return 1;
        for (int d = 0; d < out[o].rank; d++)
            if (shapes[N_GIVEN + o][d] != out[o].dims[d]) return 1;
        out[o].data = params[N_GIVEN + o];
    }
    return 0;
}

/* Inputs, then outputs. 0: done; 1: another number of operands; 2: other types; 3: other shapes; 4: no memory. */
ASC_API int aot_call(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *stream,
                     void *extra) __asm__(AOT_NAME);
int aot_call(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *stream, void *extra) {
    asc_tensor in[N_IN + 1] = {0}, out[N_OUT] = {0};
    asc_custom_call call = {.in = in, .out = out, .n_in = N_IN, .n_out = N_OUT, .threads = 1};
    (void)stream, (void)extra;
    if (nparam != N_GIVEN + N_OUT) return 1;
    const int32_t *types = aot_types(dtypes);
    if (!types) return 2;
    if (aot_describe(&call, in, types, ndims, shapes) || aot_outputs(out, params, ndims, shapes)) return 3;
    for (int k = 0; k < N_GIVEN; k++) in[given_slot[k]].data = params[k];
    call.workspace_bytes = workspace(&call);
    if (call.workspace_bytes && posix_memalign(&call.workspace, 64, call.workspace_bytes) != 0) return 4;
    int failed = compute(&call);
    free(call.workspace);
    return failed ? 3 : 0;
}

/* In C++ a std::vector<int64_t>, which is returned through memory of the caller's: three pointers. Empty when the
 * shapes don't fit. */
typedef struct vector_of_int64 {
    int64_t *first, *last, *end;
} vector_of_int64;
ASC_API vector_of_int64 aot_infer(int *ndims, int64_t **shapes, void *extra) __asm__(AOT_NAME "InferShape");
vector_of_int64 aot_infer(int *ndims, int64_t **shapes, void *extra) {
    asc_tensor in[N_IN + 1] = {0}, out[N_OUT] = {0};
    asc_custom_call call = {.in = in, .out = out, .n_in = N_IN, .n_out = N_OUT};
    vector_of_int64 v = {0};
    (void)extra;
    if (aot_describe(&call, in, part_types[0], ndims, shapes) != 0 || !out[0].rank) return v;
    v.first = malloc((size_t)out[0].rank * sizeof *v.first);
    if (!v.first) return v;
    for (int d = 0; d < out[0].rank; d++) v.first[d] = out[0].dims[d];
    v.last = v.end = v.first + out[0].rank;
    return v;
}
