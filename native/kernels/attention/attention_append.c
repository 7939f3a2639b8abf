/* attention_append: appends keys and values to a cache, and attends to all of them.
 *
 * in:     Q [B, H, M, D], K [B, G, N, D], V [B, G, N, W], mask (absent, or broadcastable to [B, H, M, P + N]),
 *         past K [B, G, P, D], past V [B, G, P, W]; any strides
 * out:    Y as attention has it (attention.c), of all P + N keys,
 *         present K [B, G, P + N, D] and V [B, G, P + N, W]: what is past, then what is new
 * ints, floats: attention's
 *
 * With few queries, what is past is read once: while it lies in a cache it is multiplied, and on its way to where it
 * is to lie. Otherwise it is copied first, by all threads, and read from there. The bits of Y are those of attention
 * on present. */
#include "attention.h"
#include "movement/strided_copy.h"

enum { Q, K, V, MASK, PAST_K, PAST_V, INPUTS };
enum { Y, PRESENT_K, PRESENT_V, OUTPUTS };
enum { POSITION = 2 };

/* Bytes of present from which on it is stored past the caches: far fewer than ASC_STREAM_BYTES, because nobody reads it
 * before the next run, and until then the other layers' are written too. */
#define PAST_CACHES (256 << 10)

/* attention on present */
typedef struct inner {
    asc_call call;
    asc_tensor in[MASK + 1], out[1];
} inner;

static void find_inner(const asc_call *call, inner *n) {
    n->call = *call;
    n->in[Q] = call->in[Q];
    n->in[K] = call->out[PRESENT_K];
    n->in[V] = call->out[PRESENT_V];
    n->in[MASK] = call->in[MASK];
    n->out[0] = call->out[Y];
    n->call.in = n->in;
    n->call.out = n->out;
    n->call.n_in = MASK + 1;
    n->call.n_out = 1;
}

static int32_t read_appended(const asc_call *call, int kind, attention_appended *a) {
    const asc_tensor *new = &call->in[K + kind], *past = &call->in[PAST_K + kind], *present = &call->out[1 + kind];
    int32_t code;
    if ((code = ASC_FN(attention_operand)(call, new, a->new_strides))) return code;
    if ((code = ASC_FN(attention_operand)(call, past, a->past_strides))) return code;
    ASC_REQUIRE(call, present->rank == 4 && present->layout == ASC_LAYOUT_PLAIN && asc_contiguous(present),
                "attention_append: present has four axes, without gaps");
    for (int i = 0; i < 4; i++) {
        int64_t sum = past->dims[i];
        ASC_REQUIRE(call, i != POSITION || asc_add_ok(sum, new->dims[i], &sum), "attention_append: too many keys");
        ASC_REQUIRE(call, (i == POSITION || new->dims[i] == sum) && present->dims[i] == sum,
                    "attention_append: present is not what is past, then what is new");
    }
    return ASC_OK;
}

static void point_appended(const asc_call *call, int kind, attention_appended *a) {
    a->past = call->in[PAST_K + kind].data;
    a->new = call->in[K + kind].data;
    a->present = call->out[1 + kind].data;
}

static int32_t read_cache(const asc_call *call, attention_cache *c) {
    *c = (attention_cache){0};
    ASC_REQUIRE(call, call->n_in == INPUTS && call->n_out == OUTPUTS,
                "attention_append takes Q, K, V, mask, past K and V, and gives Y, present K and V");
    int32_t code = read_appended(call, 0, &c->k);
    if (code || (code = read_appended(call, 1, &c->v))) return code;
    c->past = call->in[PAST_K].dims[POSITION];
    ASC_REQUIRE(call, call->in[PAST_V].dims[POSITION] == c->past, "attention_append: past K and V differ in length");
    c->past_caches = asc_numel(&call->out[PRESENT_K]) * (int64_t)sizeof(float) >= PAST_CACHES;
    return ASC_OK;
}

/* The note of attention on present, which comes first, and what is put together there. */
typedef struct append_note {
    attention_note attention;
    attention_cache cache;
} append_note;
ASC_KERNEL_NOTE(attention_append, append_note)

int32_t ASC_FN(attention_append_prepare)(asc_call *call) {
    append_note *note = call->note;
    inner n;
    int32_t code = read_cache(call, &note->cache);
    if (code) return code;
    find_inner(call, &n);
    if ((code = ASC_FN(attention_prepare)(&n.call))) return code;
    n.call.in = call->in;
    n.call.out = call->out;
    n.call.n_in = call->n_in;
    n.call.n_out = call->n_out;
    *call = n.call;
    return ASC_OK;
}

static int is_row(const int64_t strides[4]) {
    return strides[3] == 1;
}

/* Whether heads are moved while they are read: each worker then has some, and rows are read as they lie. */
static int moves_by_head(const asc_call *call, const attention *p, const attention_cache *c) {
    return ASC_FN(attention_takes_few)(call) && p->batch * p->kv_heads >= call->threads && is_row(c->k.new_strides) &&
           is_row(c->k.past_strides) && is_row(c->v.new_strides) && is_row(c->v.past_strides);
}

static int moves_cache(const asc_call *call, const attention *p, const attention_cache *c) {
    return moves_by_head(call, p, c) && p->heads && p->queries && p->width;
}

static void append(const asc_call *call, int kind) {
    const asc_tensor *parts[2] = {&call->in[PAST_K + kind], &call->in[K + kind]}, *present = &call->out[1 + kind];
    asc_block block = {.size = sizeof(float), .rank = 4, .to = present->data};
    asc_row_major(present->dims, 4, block.to_strides);
    for (int i = 0; i < 2; i++) {
        block.from = parts[i]->data;
        memcpy(block.dims, parts[i]->dims, sizeof block.dims);
        memcpy(block.from_strides, parts[i]->strides, sizeof block.from_strides);
        ASC_FN(asc_copy_block)(call, &block);
        block.to += parts[i]->dims[POSITION] * block.to_strides[POSITION] * block.size;
    }
}

int32_t ASC_FN(attention_append_run)(const asc_call *call) {
    const append_note *note = call->note;
    attention_cache c = note->cache;
    attention p = note->attention.problem;
    inner n;
    find_inner(call, &n);
    ASC_FN(attention_point)(&n.call, &p);
    point_appended(call, 0, &c.k);
    point_appended(call, 1, &c.v);
    if (moves_cache(call, &p, &c)) {
        p.cache = &c;
    } else {
        append(call, 0);
        append(call, 1);
    }
    return ASC_FN(attention_execute)(&n.call, &p);
}

void ASC_FN(attention_append_schedule)(const asc_call *call, char *text, size_t room) {
    const append_note *note = call->note;
    const attention *p = &note->attention.problem;
    inner n;
    find_inner(call, &n);
    ASC_FN(attention_schedule)(&n.call, text, room);
    size_t used = strlen(text);
    asc_format(text + used, room - used, moves_cache(call, p, &note->cache) ? " moves_cache_as_read" : " copies_cache");
}
