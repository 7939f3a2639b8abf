/* slots.h - the part of onnxruntime's binary interface that the plugin uses.
 *
 * onnxruntime hands out tables of function pointers that only ever grow at the end, so a call is a
 * slot number and a signature. Each row below is the one definition of both; it expands to an inline
 * function `ort_<name>`. Slot numbers are those of released onnxruntime >= 1.23 (table entries never
 * move); rows marked 24 exist since API version 24.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ASC_ORT_SLOTS_H
#define ASC_ORT_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Newest API version these declarations were checked against, and the oldest they work with. */
#define ORT_WRITTEN_AGAINST 28
#define ORT_OLDEST 23

typedef void (*ort_fn)(void);

typedef struct ort_status ort_status; /* NULL is success */
typedef struct ort_logger ort_logger;
typedef struct ort_value ort_value;
typedef struct ort_value_info ort_value_info;
typedef struct ort_type_info ort_type_info;
typedef struct ort_shape_info ort_shape_info; /* element type and dims of a tensor */
typedef struct ort_graph ort_graph;
typedef struct ort_node ort_node;
typedef struct ort_attr ort_attr;
typedef struct ort_pairs ort_pairs; /* key/value strings */
typedef struct ort_session_options ort_session_options;
typedef struct ort_domain ort_domain; /* of custom operators */
typedef struct ort_kernel_context ort_kernel_context;
typedef struct ort_infer_context ort_infer_context;
typedef struct ort_hardware ort_hardware;
typedef struct ort_ep_device ort_ep_device;
typedef struct ort_support_info ort_support_info;
typedef struct ort_compute_context ort_compute_context;
typedef struct ort_custom_op ort_custom_op;
typedef struct ort_ep_factory ort_ep_factory;
typedef struct ort_ep ort_ep;
typedef struct ort_compute_info ort_compute_info;
typedef struct ort_memory_info ort_memory_info;
typedef struct ort_allocator ort_allocator;

/* Values of onnxruntime's enumerations. Element types are those of ONNX. */
enum { ORT_FAIL = 1, ORT_INVALID_ARGUMENT = 2, ORT_NO_SUCH_FILE = 3, ORT_NOT_IMPLEMENTED = 9, ORT_EP_FAIL = 11 };
enum { ORT_LOG_VERBOSE = 0, ORT_LOG_INFO = 1, ORT_LOG_WARNING = 2, ORT_LOG_ERROR = 3 };
enum { ORT_DEVICE_CPU = 0, ORT_DEVICE_NPU = 2 };
enum { ORT_KIND_TENSOR = 1 };
enum { ORT_DEVICE_ALLOCATOR = 0, ORT_MEMORY_DEFAULT = 0 };
enum {
    ORT_ATTR_INT = 1,
    ORT_ATTR_INTS,
    ORT_ATTR_FLOAT,
    ORT_ATTR_FLOATS,
    ORT_ATTR_STRING,
    ORT_ATTR_STRINGS,
    ORT_ATTR_GRAPH,
    ORT_ATTR_TENSOR
};

typedef struct ort_api_base {
    const ort_fn *(*get_api)(uint32_t version); /* the same table for every version up to the runtime's */
    const char *(*version_string)(void);
} ort_api_base;

/* The tables of the onnxruntime that loaded the plugin; set once, before anything else runs. */
typedef struct ort_tables {
    const ort_fn *api;
    const ort_fn *ep;
    const ort_fn *editor; /* makes nodes */
    uint32_t version;     /* min(ORT_WRITTEN_AGAINST, the runtime's) */
} ort_tables;
extern ort_tables ort;

typedef struct ort_fusion_options {
    uint32_t version;
    bool drop_constant_initializers; /* constants become no inputs of the fused node */
} ort_fusion_options;

#define ORT_ROW(table, slot, type, name, params, args) \
    static inline type ort_##name params {             \
        return ((type(*) params)ort.table[slot])args;  \
    }
#define ORT_CALL(slot, name, params, args) ORT_ROW(api, slot, ort_status *, name, params, args)
#define ORT_PLAIN(slot, type, name, params, args) ORT_ROW(api, slot, type, name, params, args)
#define ORT_EDITOR_CALL(slot, name, params, args) ORT_ROW(editor, slot, ort_status *, name, params, args)
#define ORT_EP_CALL(slot, name, params, args) ORT_ROW(ep, slot, ort_status *, name, params, args)

/* clang-format off */
ORT_PLAIN(0, ort_status *, create_status, (int32_t code, const char *text), (code, text))
ORT_PLAIN(2, const char *, status_text, (const ort_status *status), (status))
ORT_PLAIN(93, void, release_status, (ort_status *status), (status))
ORT_PLAIN(317, const ort_fn *, ep_table, (void), ())
ORT_PLAIN(291, const ort_fn *, editor_table, (void), ())
ORT_CALL(247, log, (const ort_logger *logger, int32_t level, const char *text, const char *file, int line, const char *function),
         (logger, level, text, file, line, function))
ORT_CALL(248, log_level, (const ort_logger *logger, int32_t *level), (logger, level))

/* session options and key/value pairs */
ORT_CALL(130, add_config, (ort_session_options *options, const char *key, const char *value), (options, key, value))
ORT_CALL(379, session_config, (const ort_session_options *options, ort_pairs **out), (options, out))
ORT_PLAIN(295, void, create_pairs, (ort_pairs **out), (out))
ORT_PLAIN(296, void, add_pair, (ort_pairs *pairs, const char *key, const char *value), (pairs, key, value))
ORT_PLAIN(298, void, get_pairs, (const ort_pairs *pairs, const char *const **keys, const char *const **values, size_t *n),
          (pairs, keys, values, n))
ORT_PLAIN(300, void, release_pairs, (ort_pairs *pairs), (pairs))

/* tensors and their types */
ORT_CALL(51, tensor_data, (ort_value *value, void **out), (value, out))
ORT_CALL(53, string_bytes, (const ort_value *value, size_t *bytes), (value, bytes))
ORT_CALL(54, string_content, (const ort_value *value, void *bytes, size_t size, size_t *offsets, size_t n),
         (value, bytes, size, offsets, n))
ORT_CALL(65, tensor_shape, (const ort_value *value, ort_shape_info **out), (value, out))
ORT_CALL(318, tensor_bytes, (const ort_value *value, size_t *bytes), (value, bytes))
ORT_CALL(414, tensor_view, (const ort_value *value, int32_t *dtype, const int64_t **dims, size_t *rank), /* 24 */
         (value, dtype, dims, rank))
ORT_PLAIN(96, void, release_value, (ort_value *value), (value))
ORT_CALL(55, tensor_info, (const ort_type_info *type, const ort_shape_info **out), (type, out))
ORT_CALL(56, type_kind, (const ort_type_info *type, int32_t *kind), (type, kind))
ORT_CALL(57, create_shape, (ort_shape_info **out), (out))
ORT_CALL(58, set_dtype, (ort_shape_info *shape, int32_t dtype), (shape, dtype))
ORT_CALL(59, set_dims, (ort_shape_info *shape, const int64_t *dims, size_t rank), (shape, dims, rank))
ORT_CALL(60, get_dtype, (const ort_shape_info *shape, int32_t *dtype), (shape, dtype))
ORT_CALL(61, get_rank, (const ort_shape_info *shape, size_t *rank), (shape, rank))
ORT_CALL(62, get_dims, (const ort_shape_info *shape, int64_t *dims, size_t rank), (shape, dims, rank))
ORT_CALL(63, get_symbols, (const ort_shape_info *shape, const char **names, size_t rank), (shape, names, rank))
ORT_CALL(271, set_symbols, (ort_shape_info *shape, const char **names, size_t rank), (shape, names, rank))
ORT_PLAIN(390, bool, has_shape, (const ort_shape_info *shape), (shape)) /* 24 */
ORT_PLAIN(99, void, release_shape, (ort_shape_info *shape), (shape))

/* graphs */
ORT_CALL(289, value_name, (const ort_value_info *value, const char **name), (value, name))
ORT_CALL(290, value_type, (const ort_value_info *value, const ort_type_info **type), (value, type))
ORT_CALL(326, value_initializer, (const ort_value_info *value, const ort_value **out), (value, out))
ORT_CALL(331, value_is_constant, (const ort_value_info *value, bool *out), (value, out))
ORT_CALL(333, graph_name, (const ort_graph *graph, const char **name), (graph, name))
ORT_CALL(334, graph_model_path, (const ort_graph *graph, const char **path), (graph, path))
ORT_CALL(335, graph_ir_version, (const ort_graph *graph, int64_t *version), (graph, version))
ORT_CALL(336, graph_num_opsets, (const ort_graph *graph, size_t *n), (graph, n))
ORT_CALL(337, graph_opsets, (const ort_graph *graph, const char **domains, int64_t *versions, size_t n), (graph, domains, versions, n))
ORT_CALL(346, graph_parent, (const ort_graph *graph, const ort_node **out), (graph, out))
ORT_CALL(349, node_name, (const ort_node *node, const char **out), (node, out))
ORT_CALL(350, node_type, (const ort_node *node, const char **out), (node, out))
ORT_CALL(351, node_domain, (const ort_node *node, const char **out), (node, out))
ORT_CALL(361, node_attr, (const ort_node *node, const char *name, const ort_attr **out), (node, name, out))
ORT_CALL(365, node_num_subgraphs, (const ort_node *node, size_t *n), (node, n))
ORT_CALL(366, node_subgraphs, (const ort_node *node, const ort_graph **out, size_t n, const char **names), (node, out, n, names))
ORT_CALL(368, node_ep, (const ort_node *node, const char **name), (node, name))
ORT_CALL(272, attr_read, (const ort_attr *attr, int32_t kind, void *data, size_t size, size_t *out), (attr, kind, data, size, out))
ORT_CALL(362, attr_tensor, (const ort_attr *attr, ort_value **out), (attr, out))
ORT_CALL(363, attr_kind, (const ort_attr *attr, int32_t *kind), (attr, kind))
ORT_CALL(364, attr_name, (const ort_attr *attr, const char **name), (attr, name))
ORT_CALL(211, create_attr, (const char *name, const void *data, int size, int32_t kind, ort_attr **out), (name, data, size, kind, out)) /* copies */
ORT_PLAIN(212, void, release_attr, (ort_attr *attr), (attr))
ORT_EDITOR_CALL(6, create_node, (const char *type, const char *domain, const char *name, const char *const *inputs, size_t n_inputs,
                const char *const *outputs, size_t n_outputs, ort_attr **attrs, size_t n_attrs, ort_node **out),
                (type, domain, name, inputs, n_inputs, outputs, n_outputs, attrs, n_attrs, out)) /* copies attrs */

/* Lists: the count is at the slot, the items are at the next one. */
enum {
    ORT_GRAPH_INPUTS = 338, ORT_GRAPH_OUTPUTS = 340, ORT_GRAPH_INITIALIZERS = 342, ORT_GRAPH_NODES = 344,
    ORT_NODE_INPUTS = 353, ORT_NODE_OUTPUTS = 355, ORT_NODE_IMPLICIT_INPUTS = 357, ORT_NODE_ATTRS = 359
};
static inline ort_status *ort_list_count(int slot, const void *of, size_t *n) {
    return ((ort_status * (*)(const void *, size_t *)) ort.api[slot])(of, n);
}
static inline ort_status *ort_list_items(int slot, const void *of, const void **out, size_t n) {
    return ((ort_status * (*)(const void *, const void **, size_t)) ort.api[slot + 1])(of, out, n);
}

/* running */
ORT_CALL(90, context_input, (const ort_kernel_context *context, size_t index, const ort_value **out), (context, index, out))
ORT_CALL(91, context_output, (ort_kernel_context *context, size_t index, const int64_t *dims, size_t rank, ort_value **out),
         (context, index, dims, rank, out))
ORT_CALL(274, parallel_for, (const ort_kernel_context *context, void (*work)(void *arg, size_t i), size_t n, size_t batches, void *arg),
         (context, work, n, batches, arg))

/* custom operators */
ORT_CALL(26, create_domain, (const char *name, ort_domain **out), (name, out))
ORT_CALL(27, add_op, (ort_domain *domain, const ort_custom_op *op), (domain, op))
ORT_CALL(28, add_domain, (ort_session_options *options, ort_domain *domain), (options, domain))
ORT_CALL(267, infer_num_inputs, (const ort_infer_context *context, size_t *n), (context, n))
ORT_CALL(268, infer_input, (const ort_infer_context *context, size_t index, ort_shape_info **out), (context, index, out))
ORT_CALL(269, infer_attr, (const ort_infer_context *context, const char *name, const ort_attr **out), (context, name, out))
ORT_CALL(270, infer_output, (ort_infer_context *context, size_t index, const ort_shape_info *shape), (context, index, shape))

/* the table of execution providers */
ORT_EP_CALL(0, create_ep_device, (ort_ep_factory *factory, const ort_hardware *device, const ort_pairs *metadata, const ort_pairs *options, ort_ep_device **out),
            (factory, device, metadata, options, out))
ORT_EP_CALL(2, fuse_nodes, (ort_support_info *support, const ort_node *const *nodes, size_t n, const ort_fusion_options *options),
            (support, nodes, n, options))
ORT_EP_CALL(16, create_hardware, (int32_t type, uint32_t vendor_id, uint32_t device_id, const char *vendor, const ort_pairs *metadata, ort_hardware **out),
            (type, vendor_id, device_id, vendor, metadata, out)) /* 24 */
ORT_ROW(ep, 17, void, release_hardware, (ort_hardware *device), (device)) /* 24 */
ORT_EP_CALL(5, add_allocator_info, (ort_ep_device *device, const ort_memory_info *info), (device, info)) /* keeps info */
ORT_CALL(69, create_cpu_memory_info, (int32_t allocator_type, int32_t memory_type, ort_memory_info **out), (allocator_type, memory_type, out))
ORT_PLAIN(94, void, release_memory_info, (ort_memory_info *info), (info))
ORT_PLAIN(307, int32_t, hardware_type, (const ort_hardware *device), (device))
/* clang-format on */

/* ---- structures the plugin fills: a version, then function pointers; NULL = not offered. onnxruntime
 * reads the entries its version and ours have in common; `later` keeps a newer reader inside the object. */

struct ort_ep_factory {
    uint32_t version;
    const char *(*name)(const ort_ep_factory *);
    const char *(*vendor)(const ort_ep_factory *);
    ort_status *(*supported_devices)(ort_ep_factory *, const ort_hardware *const *devices, size_t n_devices,
                                     ort_ep_device **out, size_t max, size_t *n);
    ort_status *(*create_ep)(ort_ep_factory *, const ort_hardware *const *devices, const ort_pairs *const *metadata,
                             size_t n_devices, const ort_session_options *options, const ort_logger *logger,
                             ort_ep **out);
    void (*release_ep)(ort_ep_factory *, ort_ep *);
    uint32_t (*vendor_id)(const ort_ep_factory *);
    const char *(*version_text)(const ort_ep_factory *);
    ort_fn validate_compatibility;
    ort_status *(*create_allocator)(ort_ep_factory *, const ort_memory_info *info, const ort_pairs *options,
                                    ort_allocator **out);
    void (*release_allocator)(ort_ep_factory *, ort_allocator *allocator);
    ort_status *(*create_data_transfer)(ort_ep_factory *, void **out); /* called unchecked: must not be NULL */
    bool (*is_stream_aware)(const ort_ep_factory *);
    ort_fn later[19];
};

struct ort_ep {
    uint32_t version;
    const char *(*name)(const ort_ep *);
    ort_status *(*get_capability)(ort_ep *, const ort_graph *graph, ort_support_info *support);
    ort_status *(*compile)(ort_ep *, const ort_graph **graphs, const ort_node **fused, size_t n, ort_compute_info **out,
                           ort_node **context_nodes);
    void (*release_compute_infos)(ort_ep *, ort_compute_info **infos, size_t n);
    ort_fn layout_streams_and_options[8];
    ort_fn kernel_registry;
    ort_status *(*concurrent_runs)(ort_ep *, bool *supported); /* 24 */
    ort_fn later[18];
};

struct ort_compute_info {
    uint32_t version;
    ort_status *(*create_state)(ort_compute_info *, ort_compute_context *context, void **state);
    ort_status *(*compute)(ort_compute_info *, void *state, ort_kernel_context *context);
    void (*release_state)(ort_compute_info *, void *state);
};

struct ort_allocator {
    uint32_t version;
    void *(*alloc)(ort_allocator *, size_t bytes);
    void (*free)(ort_allocator *, void *memory);
    const ort_memory_info *(*info)(const ort_allocator *);
    void *(*reserve)(ort_allocator *, size_t bytes); /* 18 */
    ort_fn stats_and_streams[2];                     /* 23 */
    ort_status *(*shrink)(ort_allocator *);          /* 25 */
    ort_fn later[8];
};

enum { ORT_REQUIRED = 0, ORT_OPTIONAL = 1, ORT_VARIADIC = 2 };
#define ORT_CUSTOM_OP_VERSION 18 /* the layout below */
struct ort_custom_op {
    uint32_t version;
    void *(*create_kernel)(const ort_custom_op *, const ort_fn *api, const void *info);
    const char *(*name)(const ort_custom_op *);
    const char *(*provider)(const ort_custom_op *);
    int32_t (*input_type)(const ort_custom_op *, size_t index);
    size_t (*n_inputs)(const ort_custom_op *);
    int32_t (*output_type)(const ort_custom_op *, size_t index);
    size_t (*n_outputs)(const ort_custom_op *);
    void (*compute)(void *kernel, ort_kernel_context *context);
    void (*destroy)(void *kernel);
    int32_t (*input_mode)(const ort_custom_op *, size_t index);
    int32_t (*output_mode)(const ort_custom_op *, size_t index);
    int32_t (*input_memory)(const ort_custom_op *, size_t index);
    int (*variadic_input_arity)(const ort_custom_op *);
    int (*variadic_input_homogeneous)(const ort_custom_op *);
    int (*variadic_output_arity)(const ort_custom_op *);
    int (*variadic_output_homogeneous)(const ort_custom_op *);
    ort_status *(*create_kernel_v2)(const ort_custom_op *, const ort_fn *api, const void *info, void **kernel);
    ort_status *(*compute_v2)(void *kernel, ort_kernel_context *context);
    ort_status *(*infer)(const ort_custom_op *, ort_infer_context *context);
    int (*start_version)(const ort_custom_op *);
    int (*end_version)(const ort_custom_op *);
    ort_fn inplace_and_alias[4];
};

#endif
