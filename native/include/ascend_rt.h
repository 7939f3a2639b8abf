/* ascend_rt.h - the public C API of libascend_rt, and the one definition of every structure that
 * the Python side, the bundle file, the plugin and C programs share.
 *
 * Everything between "cffi:begin" and "cffi:end" is read by native/binding/generate.py, so it holds
 * declarations and plain `#define NAME number` lines only.
 *
 * Rules of the file structures: fixed width, explicit padding, little-endian, indices instead of
 * pointers, append-only (a reader accepts any plan whose min_reader it meets).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ASCEND_RT_H
#define ASCEND_RT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define ASC_API __declspec(dllexport)
#else
#define ASC_API __attribute__((visibility("default")))
#endif

/* cffi:begin */

/* ---- numbers ------------------------------------------------------------------------------ */

#define ASC_ABI_VERSION 1
#define ASC_MAX_RANK 8
#define ASC_NONE 0xFFFFFFFF /* an absent index */

/* Element types: the numbers of onnx.TensorProto.DataType. */
#define ASC_UNDEFINED 0
#define ASC_FLOAT32 1
#define ASC_UINT8 2
#define ASC_INT8 3
#define ASC_UINT16 4
#define ASC_INT16 5
#define ASC_INT32 6
#define ASC_INT64 7
#define ASC_STRING 8
#define ASC_BOOL 9
#define ASC_FLOAT16 10
#define ASC_FLOAT64 11
#define ASC_UINT32 12
#define ASC_UINT64 13
#define ASC_BFLOAT16 16
#define ASC_FLOAT8E4M3FN 17
#define ASC_FLOAT8E4M3FNUZ 18
#define ASC_FLOAT8E5M2 19
#define ASC_FLOAT8E5M2FNUZ 20
#define ASC_UINT4 21 /* these and the next three: an element in the low bits of a byte */
#define ASC_INT4 22
#define ASC_UINT2 25
#define ASC_INT2 26

/* How the elements of a weight are laid out in memory. */
#define ASC_LAYOUT_PLAIN 0 /* row-major */
#define ASC_LAYOUT_PANEL32 \
    1 /* [K,N] as ceil(N/32) panels of K rows of 32 columns, zero padded; the same on every ISA */
#define ASC_LAYOUT_VNNI2_32 \
    2 /* bfloat16 [K,N] as PANEL32 of [ceil(K/2),N] pairs: rows 2k and 2k+1 of a column side by side */
#define ASC_LAYOUT_BYTES32 3 /* int8 [K,N] as PANEL32 of bytes */
#define ASC_LAYOUT_NIBBLES32 \
    4 /* int8 [K,N] of -8..7 as PANEL32 of [ceil(K/2),N] bytes: row 2k in the low four bits, 2k+1 in the high */
#define ASC_LAYOUT_FP16_32 5 /* float16 [K,N] as PANEL32 of float16 */
#define ASC_LAYOUT_VNNI4_32 \
    6 /* int8 [K,N] as PANEL32 of [ceil(K/4),N] groups of four: rows 4k to 4k+3 of a column side by side */
#define ASC_LAYOUT_COUNT 7

/* Status codes. The Python catalogue (ascend_ep/errors.py) gives each its E-code and fix. */
#define ASC_OK 0
#define ASC_E_ARGUMENT 1    /* the caller's arguments don't fit */
#define ASC_E_IO 2          /* a file can't be opened, read or mapped */
#define ASC_E_FORMAT 3      /* the bytes are not a valid bundle */
#define ASC_E_CHECKSUM 4    /* the bytes were changed */
#define ASC_E_VERSION 5     /* a newer reader, another platform, or a real NPU model */
#define ASC_E_UNSUPPORTED 6 /* no kernel for this operator, type or layout */
#define ASC_E_SHAPE 7       /* a shape doesn't fit the model or the kernel */
#define ASC_E_MEMORY 8      /* memory, or a limit, is exhausted */
#define ASC_E_TRUST 9       /* native code in the bundle is not trusted here */
#define ASC_E_HOST 10       /* the partition needs onnxruntime */
#define ASC_E_RUN 11        /* a kernel refused its data at run time (an index out of range, ...) */
#define ASC_E_INTERNAL 12
#define ASC_E_DECLARED 13 /* data contradict sizes that the model declares, and the plan relies on */
#define ASC_E_CHANGED 14  /* a file was written to or cut short while a session maps it */

typedef struct asc_status {
    int32_t code; /* ASC_OK or ASC_E_... */
    int32_t node; /* index of the instruction in its plan, or -1 */
    char node_name[120];
    char text[384]; /* one sentence, no trailing newline */
} asc_status;

/* A tensor as kernels and callers see it. Strides count elements. data == NULL with dtype
 * ASC_UNDEFINED is an absent optional operand. */
typedef struct asc_tensor {
    void *data;
    int64_t dims[ASC_MAX_RANK];
    int64_t strides[ASC_MAX_RANK];
    int32_t dtype;
    int32_t rank;
    int32_t layout; /* ASC_LAYOUT_... */
    uint32_t flags; /* ASC_T_... */
} asc_tensor;
#define ASC_T_CONST 1 /* data is a weight, valid from bind on */

/* ---- the plan: sections of the PLAN partition of a bundle --------------------------------- */

/* Partition types of the IMOD table that we use: the real numbers where they exist. */
#define ASC_PART_MODEL_DEF 0
#define ASC_PART_WEIGHTS 1
#define ASC_PART_PLAN 1000    /* asc_plan_header, asc_section[], section bytes */
#define ASC_PART_HOST 1001    /* ONNX models of the host partitions, back to back */
#define ASC_PART_NATIVE 1002  /* shared objects, back to back */
#define ASC_PART_SAMPLES 1003 /* sample inputs and outputs for the self-check */

#define ASC_PLAN_MAGIC 0x4E4C5041 /* "APLN" */
#define ASC_PLAN_VERSION 1
/* 2: fallback partitions; 3: int8 in panels; 4: profiles; 5: float16 in panels, int8 in fours; 6: weights in files;
 * 7: constraints; 8: those of which either side may be 1; 9: products that normalise rows or are gated, bfloat16
 * between products, norms and attention, convolutions with channels last that are transposed or of volumes, maxima of
 * bytes and tables of them; 10: HardSwish and LeakyRelu of sums, models of tables; 11: recurrent layers in bfloat16,
 * bfloat16 of convolutions that end in a function; 12: convolutions of several images, steps of Slice in the data; 13:
 * bytes with a row of float32; 14: sums of images in convolutions of bytes; 15: normalisation of groups with channels
 * last */
#define ASC_READER_VERSION 15
#define ASC_ALIGN 64

typedef struct asc_plan_header {
    uint32_t magic;
    uint16_t version;
    uint16_t min_reader;
    uint32_t header_bytes; /* sizeof(asc_plan_header) of the writer */
    uint32_t n_sections;
    uint64_t plan_bytes; /* of the whole PLAN partition */
    uint32_t isa_hint;   /* ISA level the writer tuned for; informative */
    uint32_t pad[9];
} asc_plan_header;

/* Section kinds. A kind occurs at most once; an absent one is empty. */
#define ASC_SEC_STRINGS 1       /* bytes; NUL-terminated UTF-8; names are offsets into it; offset 0 is "" */
#define ASC_SEC_SYMBOLS 2       /* asc_symbol */
#define ASC_SEC_DIMS 3          /* asc_dim */
#define ASC_SEC_INDICES 4       /* uint32_t, referenced as [first, first + n) */
#define ASC_SEC_FLOATS 5        /* double */
#define ASC_SEC_WEIGHTS 6       /* asc_weight */
#define ASC_SEC_VALUES 7        /* asc_value */
#define ASC_SEC_INSNS 8         /* asc_insn */
#define ASC_SEC_PARTITIONS 9    /* asc_partition */
#define ASC_SEC_EDGES 10        /* asc_edge */
#define ASC_SEC_ATTRS 11        /* asc_attr_record: attributes handed to custom-operator libraries */
#define ASC_SEC_NATIVE 12       /* asc_native */
#define ASC_SEC_META 13         /* asc_meta: key/value strings (producer, soc_version, command line, precision, ...) */
#define ASC_SEC_SAMPLES 14      /* asc_sample */
#define ASC_SEC_PROFILES 15     /* asc_profile_size */
#define ASC_SEC_WEIGHT_FILES 16 /* asc_weight_file */
#define ASC_SEC_CONSTRAINTS 17  /* asc_constraint */
/* The same model for sizes that contradict the names of dims or the constraints: bytes, a PLAN partition of its own
 * that has the weights and native code of this one, but no samples; and the ONNX models of its host partitions. */
#define ASC_SEC_APART 18
#define ASC_SEC_APART_HOST 19

typedef struct asc_section {
    uint32_t kind;
    uint32_t stride; /* sizeof of one element, as written; a reader accepts stride >= its own */
    uint64_t offset; /* from the start of the PLAN partition, multiple of ASC_ALIGN */
    uint64_t count;
} asc_section;

/* A free dimension of the model. */
typedef struct asc_symbol {
    uint32_t name;
    uint32_t pad;
    int64_t min; /* >= 0 */
    int64_t max; /* INT64_MAX = unbounded */
} asc_symbol;

/* One node of the dimension expressions. a and b are indices of earlier nodes. All nodes are
 * evaluated in order, once per set of input shapes, with overflow checks. */
#define ASC_DIM_CONST 0  /* value */
#define ASC_DIM_SYMBOL 1 /* a = symbol index */
#define ASC_DIM_ADD 2
#define ASC_DIM_SUB 3
#define ASC_DIM_MUL 4
#define ASC_DIM_FLOORDIV 5
#define ASC_DIM_MOD 6 /* of the sign of b, as Python's % */
#define ASC_DIM_MAX 7
#define ASC_DIM_MIN 8
typedef struct asc_dim {
    uint32_t op;
    uint32_t a;
    uint32_t b;
    uint32_t pad;
    int64_t value;
} asc_dim;

/* A segment of the WEIGHTS partition, or of the file that an asc_weight_file names. Segments are in order,
 * ASC_ALIGN-aligned, without overlap; the bytes between them are zero. */
typedef struct asc_weight {
    uint64_t offset;
    uint64_t bytes;
    uint8_t sha256[32];
} asc_weight;

/* A file beside the bundle (--external_weight) that holds weights [first_weight, first_weight + n_weights) and
 * nothing else, laid out as the WEIGHTS partition is. Files are stored in the order of their weights. */
typedef struct asc_weight_file {
    uint32_t name; /* relative to the bundle's folder, within which it stays: "weight/weight_..." */
    uint32_t first_weight;
    uint32_t n_weights; /* >= 1 */
    uint32_t pad;
    uint64_t bytes; /* of the whole file, >= 1 */
    uint8_t sha256[32];
} asc_weight_file;

#define ASC_VALUE_INPUT 0  /* bound by the caller */
#define ASC_VALUE_OUTPUT 1 /* written by an instruction straight into the caller's buffer */
#define ASC_VALUE_TEMP 2   /* lives in the arena */
#define ASC_VALUE_WEIGHT 3 /* base = weight index */
#define ASC_VALUE_VIEW                                                                    \
    4 /* base = value index (same partition, any kind, earlier, plain layout); the offset \
         counts elements from the base's first, strides are those of memory */
/* Fields that a kind does not have are ASC_NONE. A temporary or output is written by one instruction, before it is
 * read; nothing else is written. Every element of a view lies in the value at the end of its chain of bases. */
typedef struct asc_value {
    uint32_t name;
    uint8_t dtype;
    uint8_t kind;
    uint8_t rank;
    uint8_t layout;
    uint32_t first_dim;    /* INDICES[first_dim + i] is the node of dim i */
    uint32_t first_stride; /* likewise; ASC_NONE = contiguous */
    uint32_t base;
    uint32_t offset; /* dim node, in elements; ASC_NONE = 0 */
    uint32_t pad[2];
} asc_value;

/* One kernel call. Operands: INDICES[first_operand ...] holds n_in then n_out value indices
 * (ASC_NONE = absent). ints: INDICES[first_int ...] holds dim nodes. */
typedef struct asc_insn {
    uint32_t name;   /* node name, for errors and traces */
    uint32_t kernel; /* string: the row's operator name, or a custom operator's type */
    uint16_t n_in;
    uint16_t n_out;
    uint32_t first_operand;
    uint32_t first_int;
    uint32_t n_ints;
    uint32_t first_float;
    uint32_t n_floats;
    uint32_t native; /* index into NATIVE for a custom-operator library; ASC_NONE = a row of the kernel table */
    uint32_t first_attr;
    uint32_t n_attrs;
    uint32_t op_type; /* string: the source operator, "domain::Type" */
} asc_insn;

#define ASC_PARTITION_NATIVE 0
#define ASC_PARTITION_HOST 1
#define ASC_PARTITION_FALLBACK 2 /* of the same edges as the native partition that names it; calls no library */
typedef struct asc_partition {
    uint32_t name;
    uint32_t kind;
    uint32_t first_value; /* VALUES[first_value ...] belong to this partition */
    uint32_t n_values;
    uint32_t first_insn;
    uint32_t n_insns;
    uint32_t first_input; /* INDICES: pairs (edge, value); value is ASC_NONE for a host partition */
    uint32_t n_inputs;
    uint32_t first_output;
    uint32_t n_outputs;
    uint64_t host_offset; /* in the HOST partition */
    uint64_t host_bytes;
    uint32_t reason;   /* string: why this is a host partition */
    uint32_t fallback; /* of a native partition that calls libraries: the number of the partition of kind
                          FALLBACK that runs in its place where one of them isn't loaded; 0: there is none */
} asc_partition;

/* A tensor between partitions, or at the model's boundary. Partitions are stored in execution order. */
#define ASC_EDGE_INPUT 1
#define ASC_EDGE_OUTPUT 2
typedef struct asc_edge {
    uint32_t name;
    uint8_t dtype; /* ASC_UNDEFINED: not a tensor (between host partitions only) */
    uint8_t rank;
    uint8_t role; /* ASC_EDGE_... bits */
    uint8_t pad;
    uint32_t first_dim;
} asc_edge;

#define ASC_ATTR_INTS 1
#define ASC_ATTR_FLOATS 2
#define ASC_ATTR_STRING 3
typedef struct asc_attr_record {
    uint32_t name;
    uint32_t kind;
    uint32_t first; /* INTS: INDICES of dim nodes; FLOATS: FLOATS; STRING: string offset */
    uint32_t count;
} asc_attr_record;

typedef struct asc_native {
    uint32_t name;
    uint32_t pad;
    uint64_t offset; /* in the NATIVE partition */
    uint64_t bytes;
    uint8_t sha256[32];
} asc_native;

typedef struct asc_meta {
    uint32_t key;
    uint32_t value;
} asc_meta;

typedef struct asc_sample {
    uint32_t edge;
    uint32_t rank;
    int64_t dims[ASC_MAX_RANK];
    uint64_t offset; /* in the SAMPLES partition */
    uint64_t bytes;
} asc_sample;

/* One size of a profile (--dynamic_batch_size and its kind). Profiles are numbered from 0 and stored one after
 * another, each with the same symbols in the same order. A model that has profiles runs at their sizes only. */
typedef struct asc_profile_size {
    uint32_t profile;
    uint32_t symbol;
    int64_t size;
} asc_profile_size;

/* What the sizes of inputs must satisfy: dim `left` is dim `right`; or `left` is 1 (or_one 1), or either is (or_one 2).
 * `text` says which axes that are and who needs it. Of dims that no input of a partition gives, nothing is checked
 * there. */
typedef struct asc_constraint {
    uint32_t left;
    uint32_t right;
    uint32_t or_one;
    uint32_t text;
} asc_constraint;

/* ---- library ------------------------------------------------------------------------------ */

ASC_API uint32_t asc_abi_version(void);
ASC_API const char *asc_version(void);

/* ISA levels of x86 and of AArch64, lowest first; each has the lowest one. ASCEND_EP_CPU= forces one by its name:
 * baseline, avx2, avx512, avx512vnni, avx512bf16, amx; on AArch64 neon (or baseline), dotprod, bf16i8mm. */
#define ASC_ISA_BASELINE 0
#define ASC_ISA_AVX2 1
#define ASC_ISA_AVX512 2
#define ASC_ISA_AVX512VNNI 3
#define ASC_ISA_AVX512BF16 4
#define ASC_ISA_AMX 5
#define ASC_ISA_DOTPROD 6  /* products of bytes, four a lane */
#define ASC_ISA_BF16I8MM 7 /* those of bfloat16 and of bytes, by pairs of rows */
#define ASC_ISA_COUNT 8
ASC_API const char *asc_isa_name(int32_t isa);     /* NULL when there is no such level */
ASC_API int32_t asc_isa_by_name(const char *name); /* -1 when there is none */
ASC_API int32_t asc_isa_supported(int32_t isa);    /* compiled in, and this CPU and its system have it */
ASC_API int32_t asc_isa_current(void); /* the level in use; a pure function of CPU flags and ASCEND_EP_CPU */

ASC_API uint64_t asc_dtype_bytes(int32_t dtype); /* 0 for strings and unknown types */

/* ---- kernels one at a time: for tests, benchmarks and the converter's claims --------------- */

typedef struct asc_kernel_info {
    const char *op;
    const char *types; /* signature, see native/core/kernel.h */
    uint32_t flags;    /* ASC_K_... */
    int32_t isa;
} asc_kernel_info;
#define ASC_K_STRIDED 1         /* accepts inputs with strides; otherwise inputs are contiguous */
#define ASC_K_INPLACE 2         /* output 0 may share the memory of any input of the same dims and dtype */
#define ASC_K_BATCH_INVARIANT 4 /* a row's bits depend neither on the batch nor on the threads */
#define ASC_K_INPLACE_LAST 8    /* output 0 may share the memory of the last input, when that is read only there */
#define ASC_K_PACKED 16         /* takes packed constants, and checks their layouts; otherwise inputs are row-major */

ASC_API uint32_t asc_kernel_count(int32_t isa);
ASC_API int32_t asc_kernel_at(int32_t isa, uint32_t index, asc_kernel_info *out);
/* Index of the first row that takes these types, or -1. A type of ASC_UNDEFINED is an absent operand. */
ASC_API int32_t asc_kernel_find(int32_t isa, const char *op, const int32_t *types, uint32_t n_in, uint32_t n_out);
/* Checks and runs one kernel; threads <= 0 means the default. isa < 0 means asc_isa_current(). Made to find faults: the
 * workspace begins as NaN, and a kernel that writes behind it fails. */
ASC_API int32_t asc_kernel_call(int32_t isa, const char *op, asc_tensor *in, uint32_t n_in, asc_tensor *out,
                                uint32_t n_out, const int64_t *ints, uint32_t n_ints, const double *floats,
                                uint32_t n_floats, int32_t threads, asc_status *status);

/* ---- models ------------------------------------------------------------------------------- */

typedef struct asc_model asc_model; /* immutable once open; shared by any number of threads */
typedef struct asc_bound asc_bound; /* a partition at one set of input shapes; reference counted */

typedef void (*asc_log_fn)(void *user, int32_t level, const char *text); /* level: 0 debug .. 3 error */

#define ASC_OPEN_VERIFY_WEIGHTS 1 /* also check the digest of every weight segment and file */
#define ASC_OPEN_NO_NATIVE 2      /* never load native code */
#define ASC_OPEN_NO_MMAP 4        /* read into memory instead of mapping */
#define ASC_OPEN_LOW_MEMORY 8     /* give mapped weights back to the system after each kernel that read them */
typedef struct asc_options {
    uint32_t struct_bytes; /* sizeof(asc_options) */
    uint32_t flags;        /* ASC_OPEN_... */
    int32_t num_threads;   /* <= 0: ASCEND_EP_THREADS, else the CPUs of this process */
    int32_t max_bound;     /* shapes kept per partition; <= 0: 16 */
    uint64_t max_memory;   /* bytes of arena per run; 0: no limit but the address space */
    const char *trust;     /* "sha256:<hex>[,...]", "all", or NULL: only the user's trust store */
    asc_log_fn log;
    void *log_user;
} asc_options;

ASC_API int32_t asc_model_open(const char *path, const asc_options *options, asc_model **out, asc_status *status);
/* Copies the bytes. A bundle whose weights are in files can be opened by its path only. */
ASC_API int32_t asc_model_from_memory(const void *bytes, uint64_t size, const asc_options *options, asc_model **out,
                                      asc_status *status);
/* Memory for a bundle that is written in this process: `size` zeros, which asc_image_open takes over. */
typedef struct asc_image asc_image;
ASC_API asc_image *asc_image_new(uint64_t size, asc_status *status); /* NULL when there is no memory */
ASC_API void *asc_image_bytes(asc_image *image);                     /* NULL once it was opened */
/* Before the bytes up to `end` are written: memory that is there already is written faster. From any thread. */
ASC_API void asc_image_populate(asc_image *image, uint64_t end);
/* Gives back what is behind the first `size` bytes; what others populate then, ends. */
ASC_API void asc_image_shrink(asc_image *image, uint64_t size);
ASC_API void asc_image_free(asc_image *image);
/* As asc_model_from_memory, without a copy: the image is empty afterwards. */
ASC_API int32_t asc_image_open(asc_image *image, const asc_options *options, asc_model **out, asc_status *status);
ASC_API asc_model *asc_model_retain(asc_model *model);
ASC_API void asc_model_release(asc_model *model);
/* The elements of one section (ASC_SEC_...), verified at load; NULL and 0 when empty. */
ASC_API const void *asc_model_section(const asc_model *model, uint32_t kind, uint64_t *count);
/* The bytes of one partition of the file (ASC_PART_...). */
ASC_API const void *asc_model_part(const asc_model *model, uint32_t type, uint64_t *size);
ASC_API const char *asc_model_string(const asc_model *model, uint32_t offset);
ASC_API uint32_t asc_model_find_partition(const asc_model *model, const char *name); /* ASC_NONE if absent */
ASC_API int32_t asc_model_verify_weights(const asc_model *model, asc_status *status);
/* Whether the native library (index into ASC_SEC_NATIVE) was trusted and loaded. */
ASC_API int32_t asc_model_native_loaded(const asc_model *model, uint32_t index);
/* The partition that asc_bind takes for this one: its fallback where a library it calls isn't loaded, else
 * itself; ASC_NONE when there is no such partition. */
ASC_API uint32_t asc_model_partition_in_use(const asc_model *model, uint32_t partition);

/* The model made without the names of dims and the shapes declared of other values than inputs (ASC_SEC_APART), or
 * NULL. It lives as long as the first. */
ASC_API asc_model *asc_model_apart(const asc_model *model);
/* Whether tensors of these shapes, the model's inputs in the order of their edges, have one size for each name and keep
 * the constraints; if not, `why` says what doesn't. Inputs of another rank contradict nothing. */
ASC_API int32_t asc_model_names_hold(const asc_model *model, const asc_tensor *inputs, uint32_t n_inputs,
                                     asc_status *why);
/* The partition of asc_model_apart() with the same inputs and outputs as this one; ASC_NONE: there is none. */
ASC_API uint32_t asc_model_stand_in(const asc_model *model, uint32_t partition);
/* Logs, once in the life of a model, that the one made without names ran for it, and why. */
ASC_API void asc_model_say_apart(asc_model *model, const asc_status *why);

/* Resolves a partition for the dims and dtypes of these inputs (data is not read) and returns a
 * reference; the same shapes give the same asc_bound while it stays cached. Shapes that contradict names of dims
 * or constraints are bound by the partition of asc_model_apart() with the same inputs and outputs, if it has one. */
ASC_API int32_t asc_bind(asc_model *model, uint32_t partition, const asc_tensor *inputs, uint32_t n_inputs,
                         asc_bound **out, asc_status *status);
ASC_API void asc_bound_release(asc_bound *bound);
ASC_API uint32_t asc_bound_outputs(const asc_bound *bound, const asc_tensor **outputs); /* data is NULL */
ASC_API uint64_t asc_bound_arena_bytes(const asc_bound *bound);
/* Extent of value v (index within the partition) in the arena; 0 bytes when it has none. For the planner's checker. */
ASC_API int32_t asc_bound_value(const asc_bound *bound, uint32_t v, asc_tensor *shape, uint64_t *offset,
                                uint64_t *bytes, uint32_t *first_use, uint32_t *last_use);
/* Runs the plan. in and out point to contiguous buffers of the bound dims. Any number of threads
 * may run one asc_bound at once. ns, when given, receives start and end nanoseconds per instruction. What failed with
 * ASC_E_DECLARED the partitions of asc_model_apart() run; the outputs then have other dims. */
ASC_API int32_t asc_execute(asc_bound *bound, const void *const *in, void *const *out, uint64_t *ns,
                            asc_status *status);
ASC_API uint64_t asc_clock_ns(void);
ASC_API int32_t asc_threads_default(void);

/* Threads of the embedder: calls work(arg, i) for every i < n, on any threads, and returns when all have returned. */
typedef void (*asc_work_fn)(void *arg, size_t i);
typedef void (*asc_parallel_for_fn)(void *with, size_t n, asc_work_fn work, void *arg);
/* What this thread executes from now on runs by parallel_for(with, ..) instead of on the library's own pool; two pools
 * would wait for each other's CPUs. NULL: on its own pool again. */
ASC_API void asc_lend_threads(asc_parallel_for_fn parallel_for, void *with);

/* ---- bundle writing ----------------------------------------------------------------------- */

/* What a layout of panels is made of: units that lie as the floats of PANEL32 do. The one description that packing,
 * verification and kernels share. */
typedef struct asc_layout {
    const char *name;
    int32_t dtype;      /* of the elements, as values and kernels have it; 0: any (PLAIN) */
    int32_t source;     /* of the elements they are packed from */
    int32_t rows;       /* of the matrix, which share a unit; 0: there are no units */
    int32_t unit_bytes; /* what a column of them takes */
    int32_t reader;     /* the first reader that knows it (ASC_READER_VERSION) */
} asc_layout;
/* NULL when the number is no layout. */
ASC_API const asc_layout *asc_layout_of(int32_t layout);
/* Bytes of a packed [k,n] matrix; -1 when k or n is negative, the size overflows, or the layout packs nothing. */
ASC_API int64_t asc_packed_bytes(int32_t layout, int64_t k, int64_t n);
/* Packs a [k,n] matrix of the layout's source type; its strides count elements. */
ASC_API void asc_pack(int32_t layout, const void *b, int64_t k, int64_t n, int64_t row_stride, int64_t col_stride,
                      void *out);

ASC_API void asc_sha256(const void *bytes, uint64_t size, uint8_t digest[32]);
/* Fills the digest of a finished bundle: over everything but the weights, the checksum field as zero. */
ASC_API int32_t asc_bundle_digest(const void *bytes, uint64_t size, uint8_t digest[32], asc_status *status);

/* ---- caches ------------------------------------------------------------------------------- */

/* The bytes of all operands of a call that the caches are to hold. Outputs beyond it are best stored past them, since
 * they would displace what is read: 24 MiB, as measured where L3 has 32 (docs/benchmark-limits.md). */
#define ASC_STREAM_BYTES 25165824

/* ---- tile programs: the arguments of the "elementwise" kernel (native/kernels/elementwise/elementwise.h) - */

#define ASC_EW_STEP_INTS 5 /* op, dst, a, b, c */
#define ASC_EW_MAX_REGISTERS 64
#define ASC_EW_MAX_STEPS 512
#define ASC_EW_MAX_INPUTS 16
#define ASC_EW_MAX_OUTPUTS 8

#define ASC_EW_LOAD 1
#define ASC_EW_CONST 2
#define ASC_EW_IOTA 3
#define ASC_EW_STORE 4
#define ASC_EW_CAST 5
#define ASC_EW_SELECT 6
/* two operands of one class */
#define ASC_EW_ADD 16
#define ASC_EW_SUB 17
#define ASC_EW_MUL 18
#define ASC_EW_DIV 19
#define ASC_EW_MIN 20
#define ASC_EW_MAX 21
#define ASC_EW_POW 22
#define ASC_EW_MOD 23
#define ASC_EW_FMOD 24
#define ASC_EW_AND 25
#define ASC_EW_OR 26
#define ASC_EW_XOR 27
#define ASC_EW_SHL 28
#define ASC_EW_SHR 29
#define ASC_EW_LT 30
#define ASC_EW_LE 31
#define ASC_EW_GT 32
#define ASC_EW_GE 33
#define ASC_EW_EQ 34
#define ASC_EW_NE 35
#define ASC_EW_ATAN2 36
#define ASC_EW_GATE 37 /* a * sigmoid(b) */
/* one operand */
#define ASC_EW_NEG 48
#define ASC_EW_ABS 49
#define ASC_EW_SIGN 50
#define ASC_EW_NOT 51
#define ASC_EW_SQRT 52
#define ASC_EW_RSQRT 53
#define ASC_EW_RECIPROCAL 54
#define ASC_EW_FLOOR 55
#define ASC_EW_CEIL 56
#define ASC_EW_ROUND 57
#define ASC_EW_TRUNC 58
#define ASC_EW_EXP 59
#define ASC_EW_EXPM1 60
#define ASC_EW_LOG 61
#define ASC_EW_LOG1P 62
#define ASC_EW_SIN 63
#define ASC_EW_COS 64
#define ASC_EW_TAN 65
#define ASC_EW_ASIN 66
#define ASC_EW_ACOS 67
#define ASC_EW_ATAN 68
#define ASC_EW_SINH 69
#define ASC_EW_COSH 70
#define ASC_EW_TANH 71
#define ASC_EW_ASINH 72
#define ASC_EW_ACOSH 73
#define ASC_EW_ATANH 74
#define ASC_EW_ERF 75
#define ASC_EW_SIGMOID 76
#define ASC_EW_SOFTPLUS 77
#define ASC_EW_COUNT 78 /* one more than the largest */

/* ---- custom-operator libraries (--custom_op=Name:./lib.so) --------------------------------- */

/* 2 added asc_custom_call.parallel and host; 3 asc_custom_op.computed */
#define ASC_CUSTOM_OP_VERSION 3

typedef struct asc_attr {
    const char *name;
    int32_t kind; /* ASC_ATTR_... */
    int32_t count;
    const int64_t *ints;
    const double *floats;
    const char *string;
} asc_attr;

typedef struct asc_custom_call asc_custom_call;
struct asc_custom_call {
    const asc_tensor *in;
    asc_tensor *out;
    uint32_t n_in;
    uint32_t n_out;
    const asc_attr *attrs;
    uint32_t n_attrs;
    int32_t threads; /* the library may use up to so many */
    void *workspace;
    uint64_t workspace_bytes;
    char *error; /* buffer for one sentence */
    uint32_t error_bytes;
    /* Since version 2. Runs fn(arg, chunk) for every chunk in [0, n_chunks), on up to `threads` threads at
     * once, and returns when all are done. May be NULL, as it is outside compute. */
    void (*parallel)(const asc_custom_call *call, int64_t n_chunks, void (*fn)(void *arg, int64_t chunk), void *arg);
    const void *host; /* the caller's own */
};

/* One operator of a library. Functions return 0 for success. */
typedef struct asc_custom_op {
    uint32_t version; /* ASC_CUSTOM_OP_VERSION */
    uint32_t struct_bytes;
    const char *op_type;
    uint32_t min_inputs;
    uint32_t max_inputs;
    uint32_t n_outputs;
    /* Since version 3, 0 before: bit i says that compute decides the shape of output i. infer then gives the largest,
     * and compute, which finds room for that, sets rank and dims to what it wrote. aclnn<Op> takes such operators;
     * bundles and onnxruntime, which place outputs before a run, don't. */
    uint32_t computed;
    /* Given the inputs' dtype and dims (data may be NULL), fills dtype, rank and dims of the outputs. */
    int32_t (*infer)(asc_custom_call *call);
    /* Bytes of workspace compute needs for these shapes; may be NULL. */
    uint64_t (*workspace)(const asc_custom_call *call);
    int32_t (*compute)(const asc_custom_call *call);
} asc_custom_op;

/* What a library exports under the name "asc_get_custom_op": the operator of this type, or NULL. */
typedef const asc_custom_op *(*asc_get_custom_op_fn)(uint32_t version, const char *op_type);

/* A library may export `const char asc_op_schedule[]`, NUL-terminated: how its loops go, "tile=4096 unroll=4". Profiles
 * show it. */

/* Opens a library and finds an operator; for the converter. Not reference counted: stays open. */
ASC_API const asc_custom_op *asc_custom_op_load(const char *path, const char *op_type, asc_status *status);

/* cffi:end */

#define ASC_ASSERT_SIZE(type, bytes) typedef char asc_size_of_##type[sizeof(type) == (bytes) ? 1 : -1]
ASC_ASSERT_SIZE(asc_status, 512);
ASC_ASSERT_SIZE(asc_plan_header, 64);
ASC_ASSERT_SIZE(asc_section, 24);
ASC_ASSERT_SIZE(asc_symbol, 24);
ASC_ASSERT_SIZE(asc_dim, 24);
ASC_ASSERT_SIZE(asc_weight, 48);
ASC_ASSERT_SIZE(asc_weight_file, 56);
ASC_ASSERT_SIZE(asc_value, 32);
ASC_ASSERT_SIZE(asc_insn, 48);
ASC_ASSERT_SIZE(asc_partition, 64);
ASC_ASSERT_SIZE(asc_edge, 12);
ASC_ASSERT_SIZE(asc_attr_record, 16);
ASC_ASSERT_SIZE(asc_native, 56);
ASC_ASSERT_SIZE(asc_meta, 8);
ASC_ASSERT_SIZE(asc_sample, 88);
ASC_ASSERT_SIZE(asc_profile_size, 16);
ASC_ASSERT_SIZE(asc_constraint, 16);

#ifdef __cplusplus
}
#endif
#endif /* ASCEND_RT_H */
