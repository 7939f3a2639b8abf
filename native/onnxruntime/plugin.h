/* plugin.h - what the files of the plugin share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ASC_EP_PLUGIN_H
#define ASC_EP_PLUGIN_H

#include "ascend_rt.h"
#include "callbacks.h"
#include "slots.h"
#include "wire.h"

#define ASC_EP_NAME "AscendEP"
#define ASC_EP_OPTION_PREFIX "ep.ascendep."

/* Returns a failed status from the enclosing function. */
#define TRY(call)                          \
    do {                                   \
        ort_status *try_status = (call);   \
        if (try_status) return try_status; \
    } while (0)

/* ---- factory.c */
/* Takes the API tables from onnxruntime; NULL, or an error when the runtime is too old. Idempotent. */
ort_status *plugin_bind(const ort_api_base *base);

/* ---- install.c: the compiler's callbacks, or NULL when there are none (any more). */
const asc_ep_callbacks *plugin_callbacks(void);

/* ---- text.c: bounded text without stdio. Each appends to the NUL-terminated `text` of `size` bytes. */
void text_add(char *text, size_t size, const char *more);
void text_add_number(char *text, size_t size, int64_t value);
int text_to_int(const char *text, int64_t *value); /* 1 when all of text is a decimal number */
int text_to_size(const char *text, uint64_t *value);
uint32_t text_distance(const char *a, const char *b); /* edits between two option names */
char *text_copy(const char *text);                    /* malloc'd; NULL without memory */

/* ---- status.c */
ort_status *fail(int32_t ort_code, const char *text, const char *detail);
ort_status *fail_memory(void);
/* From a native status; `where` names the node or file and may be NULL. */
ort_status *fail_status(const asc_status *status, const char *where);
/* The same as the provider's own failure: onnxruntime's Python runs the model again on the next providers. */
ort_status *fail_provider(const asc_status *status);

/* ---- options.c: provider options, checked against the table of known names. */
typedef struct ep_option {
    char *name;
    char *value;
} ep_option;
typedef struct ep_options {
    ep_option *items;
    uint32_t n;
    char *context_file;    /* session option ep.context_file_path, or NULL */
    int32_t makes_context; /* ep.context_enable */
    int32_t embeds;        /* ep.context_embed_mode: bundles lie in the context model, not beside it */
    int32_t num_threads;
    int32_t on_session_threads; /* whether onnxruntime's workers run the kernels' chunks, or the library's own */
    uint64_t max_memory;
} ep_options;
ort_status *options_read(ep_options *options, const ort_session_options *session, const ort_logger *logger);
const char *options_find(const ep_options *options, const char *name);
void options_free(ep_options *options);

/* ---- ep.c */
struct asc_ep {
    ort_ep base; /* first: what onnxruntime sees */
    const ort_logger *logger;
    ep_options options;
    asc_model *context; /* the bundle of the EPContext nodes seen last, and its path ("" = embedded) */
    char *context_path;
    uint32_t n_bundles; /* written beside a context model */
};
ort_status *ep_create(const ort_session_options *session, const ort_logger *logger, ort_ep **out);
void ep_release(ort_ep *ep);
asc_options ep_open_options(const asc_ep *ep);

/* ---- custom_ops.c: what RegisterCustomOps does, for a library of another name (native/amct). */
ASC_API ort_status *asc_ep_register(ort_session_options *options, const ort_api_base *base);

/* ---- calibration.c: the operator that records inputs, for the sessions of these options. */
ort_status *calibration_register(ort_session_options *options);

/* ---- list.c: what onnxruntime lists of an object (slot: ORT_GRAPH_... or ORT_NODE_...); items may be NULL. */
typedef struct ort_list {
    const void **items;
    size_t n;
} ort_list;
ort_status *list_read(ort_list *list, int slot, const void *of);
void list_free(ort_list *list);

/* ---- graph_serial.c: writes `graph` as a ModelProto; what it takes from outer scopes follows its inputs. */
ort_status *graph_serialize(const ort_graph *graph, wire *out);

/* ---- attributes.c */
ort_status *attr_bytes(const ort_attr *attr, int32_t kind, void **bytes,
                       size_t *size);                    /* malloc'd, NUL after the end */
ort_status *attr_write(const ort_attr *attr, wire *out); /* one AttributeProto field of a node; no graphs */
ort_status *tensor_write(const ort_value *tensor, const char *name, uint32_t field, int copy, wire *out);

/* ---- context.c: EPContext nodes */
int context_is_ours(const ort_node *node);
ort_status *context_compile(asc_ep *ep, const ort_graph *graph, const ort_node *node, const ort_node *fused,
                            ort_compute_info **out);

/* ---- operands.c: where a partition's operands are among those of a fused node. Maps are malloc'd. */
typedef struct operand_map {
    uint32_t *inputs; /* inputs[i]: the fused node's input that feeds the partition's input i */
    uint32_t *outputs;
    uint32_t n_inputs;
    uint32_t n_outputs;
} operand_map;
/* `node`: the EPContext node, whose operands are the partition's in order. */
ort_status *map_by_node(const ort_node *node, const ort_node *fused, operand_map *map);
/* By the names of the partition's edges. */
ort_status *map_by_edges(const asc_model *model, uint32_t partition, const ort_node *fused, operand_map *map);
void operand_map_free(operand_map *map);

/* ---- context_make.c: the context model that a session makes of what it compiles (ep.context_enable). */
/* Where the next bundle goes: NULL where it is embedded; malloc'd. */
ort_status *context_bundle_path(asc_ep *ep, const ort_graph *graph, char **out);
/* The EPContext node of a compiled group. */
ort_status *context_make(const asc_ep_program *program, const operand_map *map, ort_node **out);

/* ---- compute.c: runs partition `partition` of `model` for a fused node; takes over the reference. */
ort_status *compute_create(asc_model *model, const asc_ep *ep, uint32_t partition, const operand_map *map,
                           ort_compute_info **out);
void compute_release(ort_compute_info *info);

/* ---- memory.c: an allocator of the memory that `info`, which outlives it, describes. */
ort_status *memory_create(const ort_memory_info *info, ort_allocator **out);
void memory_release(ort_allocator *allocator);

/* ---- infer.c: shape inference of declared operator `number` through the compiler's callback. */
ort_status *infer_declared(uint32_t number, uint32_t n_out, char *const *attrs, uint32_t n_attrs,
                           ort_infer_context *context);

#endif
