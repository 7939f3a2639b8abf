/* kernel.h - what a kernel is: a row of the table, a check, and a run function.
 *
 * A kernel never allocates, prints, or keeps state. `prepare` runs once per set of shapes and must
 * check everything `run` relies on: ranks, dims, the number and range of ints and floats. After a
 * successful prepare no value of the data may cause an access outside the operands; a data-dependent
 * index is checked in `run`, which then fails with ASC_E_RUN.
 */
#ifndef ASC_CORE_KERNEL_H
#define ASC_CORE_KERNEL_H

#include "ascend_rt.h"

typedef struct asc_call asc_call;
typedef struct asc_pool asc_pool;

struct asc_call {
    const asc_tensor *in; /* absent operand: dtype ASC_UNDEFINED, data NULL */
    asc_tensor *out;
    const int64_t *ints; /* the instruction's integer arguments: attributes and resolved dims alike */
    const double *floats;
    int32_t n_in, n_out, n_ints, n_floats;
    int32_t threads; /* most workers a run may use; worker numbers are below it */
    int32_t isa;
    int32_t turns;            /* every second region goes backwards (pool.c); prepare may say no */
    const asc_call *previous; /* for prepare: who leaves the workspace as run finds it, if that is the same kernel with
                                 the same first operand; else NULL */
    const void *prefetch;     /* for run: the packed weights that a later call reads first; NULL: none */
    void *workspace;          /* 64-byte aligned; NULL in prepare */
    uint64_t workspace_bytes; /* set by prepare */
    void *note;         /* what prepare found out for run, which only reads it: the row's struct, zeros at first */
    const void *native; /* the asc_custom_op of a library call */
    const asc_attr *attrs;
    uint32_t n_attrs;
    asc_pool *pool;
    asc_status *status;
};

/* A call's arguments as a struct of asc_plan.h, and how many that has without what repeats. `prepare` compares n_ints
 * and n_floats with that first. */
#define ASC_INTS_AS(struct_name, call) ((const struct_name *)(const void *)(call)->ints)
#define ASC_FLOATS_AS(struct_name, call) ((const struct_name *)(const void *)(call)->floats)
#define ASC_MEMBERS(struct_name) ((int)(sizeof(struct_name) / sizeof(int64_t)))

/* Whether the call has that input. */
static inline int asc_has_input(const asc_call *call, int32_t i) {
    return i < call->n_in && call->in[i].dtype != ASC_UNDEFINED;
}

typedef int32_t (*asc_prepare_fn)(asc_call *call);
typedef int32_t (*asc_run_fn)(const asc_call *call);
/* How run will do a call that was prepared, for profiles: the form that was chosen, then sizes: "strips spans=4
 * parts=1". Sizes are of the call as a whole; run and this ask the same functions, so that they can't differ. */
typedef void (*asc_schedule_fn)(const asc_call *call, char *text, size_t room);

/* A row. `types` is its signature: one letter per input, ':', one letter per output.
 *   f float32   h float16   b bfloat16   d float64   i int32   l int64   s int16   c int8   u uint8
 *   S uint16  I uint32  L uint64  ? bool   * any fixed-size type
 *   w x y z float8 e4m3fn, e4m3fnuz, e5m2, e5m2fnuz   N uint4  n int4  Q uint2  q int2
 *   ~ before a letter: the operand may be absent;  + after the last letter of a side: one or more.
 * Absent trailing operands need not be given. `note_bytes` is the size of the struct at asc_call.note (ASC_KERNEL_NOTE
 * in the kernel's file, ASC_KERNEL_NOTED in table.inc), NULL: the kernel has none. `schedule`: of kernels with several
 * forms (ASC_KERNEL_FORMS), else NULL. */
typedef struct asc_kernel {
    const char *op;
    const char *types;
    uint32_t flags; /* ASC_K_... */
    asc_prepare_fn prepare;
    asc_run_fn run;
    const uint32_t *note_bytes;
    asc_schedule_fn schedule;
} asc_kernel;

/* The bytes of a call's note, rounded up to what aligns the next one. */
static inline uint64_t asc_note_room(const asc_kernel *row) {
    return row && row->note_bytes ? ((uint64_t)*row->note_bytes + 15) / 16 * 16 : 0;
}

/* Empties a status (which may be NULL): no error, no node. */
void asc_status_begin(asc_status *status);
/* Fails a call: sets code and a printf-less sentence built from up to three parts. Returns code. */
int32_t asc_fail(asc_status *status, int32_t code, const char *text);
/* As asc_fail, with "%d"-style insertion of 64-bit integers at each '%' in text, in order. */
int32_t asc_failn(asc_status *status, int32_t code, const char *text, int n, const int64_t *values);
/* As asc_fail, with the printf conversions %s, %d, %u, %ld and %lu only. */
int32_t asc_failf(asc_status *status, int32_t code, const char *text, ...) __attribute__((format(printf, 3, 4)));
/* The same sentence in a buffer of any size; cut between UTF-8 characters, always NUL-terminated. */
void asc_format(char *out, size_t room, const char *text, ...) __attribute__((format(printf, 3, 4)));

#define ASC_REQUIRE(call, condition, text)                                    \
    do {                                                                      \
        if (!(condition)) return asc_fail((call)->status, ASC_E_SHAPE, text); \
    } while (0)

/* Runs fn for every chunk in [0, n). Chunks are claimed from an atomic counter, so the caller alone
 * always finishes them; neither which worker takes a chunk nor in which order may change a bit of the result. */
typedef void (*asc_chunk_fn)(const asc_call *call, int64_t chunk, int32_t worker, void *arg);
void asc_parallel(const asc_call *call, int64_t n_chunks, asc_chunk_fn fn, void *arg);

/* Overflow-checked sizes: return 0 on overflow or a negative operand. */
static inline int asc_mul_ok(int64_t a, int64_t b, int64_t *out) {
    return a >= 0 && b >= 0 && !__builtin_mul_overflow(a, b, out);
}
static inline int asc_add_ok(int64_t a, int64_t b, int64_t *out) {
    return a >= 0 && b >= 0 && !__builtin_add_overflow(a, b, out);
}

/* Elements of dims [from, to); dims were checked for overflow when bound. */
static inline int64_t asc_count(const asc_tensor *t, int from, int to) {
    int64_t n = 1;
    for (int i = from; i < to; i++) n *= t->dims[i];
    return n;
}
static inline int64_t asc_numel(const asc_tensor *t) {
    return asc_count(t, 0, t->rank);
}
int asc_contiguous(const asc_tensor *t);
int asc_same_dims(const asc_tensor *a, const asc_tensor *b);

/* Row tables, one per ISA level, made by kernels/table.c. */
const asc_kernel *asc_kernels_baseline(uint32_t *count);
const asc_kernel *asc_kernels_avx2(uint32_t *count);
const asc_kernel *asc_kernels_avx512(uint32_t *count);
const asc_kernel *asc_kernels_avx512vnni(uint32_t *count);
const asc_kernel *asc_kernels_avx512bf16(uint32_t *count);
const asc_kernel *asc_kernels_amx(uint32_t *count);
const asc_kernel *asc_kernels_dotprod(uint32_t *count);
const asc_kernel *asc_kernels_bf16i8mm(uint32_t *count);

const asc_kernel *asc_kernel_rows(int32_t isa, uint32_t *count);
const asc_kernel *asc_kernel_lookup(int32_t isa, const char *op, const asc_tensor *in, uint32_t n_in,
                                    const asc_tensor *out, uint32_t n_out);

#endif
