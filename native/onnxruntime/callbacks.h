/* callbacks.h - the seam between the plugin (libascend_ep) and its compiler, which is Python.
 *
 * The plugin runs EPContext models alone. For a plain model it needs a compiler: Python installs one
 * with asc_ep_install(). Every function below that the plugin calls may run with or without the GIL
 * held by the caller, on any thread, and never after asc_ep_detach(). No release path calls Python.
 *
 * Text pointers handed to a callback are valid until it returns. A callback returns an ASC_ code and,
 * when that isn't ASC_OK, has filled `status`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ASC_EP_CALLBACKS_H
#define ASC_EP_CALLBACKS_H

#include "ascend_rt.h"

/* cffi:begin */

typedef struct asc_ep asc_ep;               /* the provider of one session */
typedef struct asc_ep_claims asc_ep_claims; /* collects the answer to `partition` */
typedef struct asc_ep_set asc_ep_set;       /* a set of declared operators; lives as long as the process */

/* A graph to partition, serialised once. Node i of the callback's answer is node i of `model`.
 * Initializers of more than 256 bytes are external data with location "asc-memory": offset is their address. */
typedef struct asc_ep_graph {
    const void *model; /* ModelProto */
    uint64_t model_bytes;
    const uint8_t *taken; /* per node: 1 when another provider has it */
    uint32_t n_nodes;
    int32_t nested; /* a body of If, Loop or Scan */
} asc_ep_graph;

/* A claimed group, by what goes in and out of it. The plugin finds the operands of the partition by the
 * names of its edges: each input edge is one of `inputs`, and the output edges are `outputs`. */
typedef struct asc_ep_program {
    const char *name;
    const char *const *inputs;
    const char *const *outputs;
    uint32_t n_inputs;
    uint32_t n_outputs;
    asc_model *compiled; /* out: a reference for the plugin to keep */
    uint32_t partition;  /* out */
    uint32_t pad;
    const char *bundle_path; /* where a context model's bundle is to be written; NULL: asc_ep_keep_bundle takes it */
    void *bundle;            /* what asc_ep_keep_bundle copied */
    uint64_t bundle_bytes;
} asc_ep_program;

/* A tensor type in shape inference. */
#define ASC_EP_SYMBOL_BYTES 64
typedef struct asc_ep_shape {
    int32_t dtype;              /* ASC_UNDEFINED: not known */
    int32_t rank;               /* -1: not known */
    int64_t dims[ASC_MAX_RANK]; /* -1: not known, or named */
    char symbols[ASC_MAX_RANK][ASC_EP_SYMBOL_BYTES];
} asc_ep_shape;

typedef struct asc_ep_inference {
    uint32_t declaration; /* what asc_ep_declare returned */
    uint32_t n_in;
    uint32_t n_out;
    uint32_t n_attrs;
    const asc_ep_shape *in;
    asc_ep_shape *out;     /* dtype and rank -1 on entry */
    const asc_attr *attrs; /* the declared ones that the node carries */
} asc_ep_inference;

typedef struct asc_ep_callbacks {
    uint32_t struct_bytes;
    uint32_t pad;
    int32_t (*partition)(asc_ep *ep, const asc_ep_graph *graph, asc_ep_claims *claims, asc_status *status);
    int32_t (*compile)(asc_ep *ep, asc_ep_program *program, asc_status *status);
    int32_t (*infer)(asc_ep_inference *call, asc_status *status);
    asc_ep_set *(*default_set)(void);     /* for RegisterCustomOps calls that nobody prepared; may be NULL */
    void (*recorded)(const char *folder); /* Record kept a batch there, calibration.c; may be NULL */
} asc_ep_callbacks;

/* Copies the table; replaces an earlier one. */
ASC_API void asc_ep_install(const asc_ep_callbacks *callbacks);
/* From here on no callback is called; for the end of the interpreter. */
ASC_API void asc_ep_detach(void);

/* Whether the session makes a context model (ep.context_enable): then `compile` also gives each group's bundle. */
ASC_API int32_t asc_ep_makes_context(const asc_ep *ep);
/* In `compile`: copies the group's bundle. */
ASC_API int32_t asc_ep_keep_bundle(asc_ep_program *program, const void *bytes, uint64_t size);

/* In `partition`: claims a connected, convex group of nodes. */
ASC_API int32_t asc_ep_claim(asc_ep_claims *claims, const uint32_t *nodes, uint32_t n);

/* Whether the provider has this option and takes this value; else ASC_E_ARGUMENT with a sentence. */
ASC_API int32_t asc_ep_check_option(const char *name, const char *value, asc_status *status);
/* The value of a provider option, or NULL when it wasn't given. */
ASC_API const char *asc_ep_option(const asc_ep *ep, const char *name);
ASC_API uint32_t asc_ep_option_count(const asc_ep *ep);
ASC_API const char *asc_ep_option_name(const asc_ep *ep, uint32_t index);
/* Writes to the session's log; level 0 debug .. 3 error. */
ASC_API void asc_ep_log(const asc_ep *ep, int32_t level, const char *text);
/* Opens what `compile` made in this process, with the session's threads, memory limit and log. Never for what
 * comes from elsewhere: native code in it is trusted. */
ASC_API int32_t asc_ep_open(const asc_ep *ep, asc_image *image, asc_model **out, asc_status *status);

/* An operand of a declared operator. */
#define ASC_EP_REQUIRED 0
#define ASC_EP_OPTIONAL 1
#define ASC_EP_VARIADIC 2
typedef struct asc_ep_operand {
    int32_t dtype; /* ASC_UNDEFINED: any */
    int32_t mode;
    int32_t min_count;   /* of a variadic operand */
    int32_t homogeneous; /* a variadic operand's tensors have one type */
} asc_ep_operand;

typedef struct asc_ep_declaration {
    const char *domain;
    const char *op_type;
    int32_t since_version;
    uint32_t n_in;
    uint32_t n_out;
    uint32_t n_attrs;
    const asc_ep_operand *in;
    const asc_ep_operand *out;
    const char *const *attrs; /* names of the attributes that `infer` wants */
} asc_ep_declaration;

/* Declares an operator to onnxruntime sessions; copies everything. Returns its number, or ASC_NONE
 * when there is no memory. The caller declares a definition once: numbers are never freed. */
ASC_API uint32_t asc_ep_declare(const asc_ep_declaration *declaration);
/* A set of declared operators; NULL when there is no memory or a number is wrong. */
ASC_API asc_ep_set *asc_ep_set_new(const uint32_t *declarations, uint32_t n);
/* The set the next RegisterCustomOps call of this thread hands over; NULL = the default set.
 * RegisterCustomOps leaves asc_ep_set_number() of it in the session options, entry "ascend_ep.declared". */
ASC_API uint32_t asc_ep_set_number(const asc_ep_set *set);
ASC_API void asc_ep_set_next(asc_ep_set *set);

/* cffi:end */

/* What Python implements; native/binding/generate.py wraps these in extern "Python".
 * cffi:python-begin
int32_t asc_py_partition(asc_ep *ep, const asc_ep_graph *graph, asc_ep_claims *claims, asc_status *status);
int32_t asc_py_compile(asc_ep *ep, asc_ep_program *program, asc_status *status);
int32_t asc_py_infer(asc_ep_inference *call, asc_status *status);
asc_ep_set *asc_py_default_set(void);
void asc_py_recorded(const char *folder);
 * cffi:python-end
 */

#endif
