/* An onnxruntime graph as a ModelProto. Node i of the message is node i of Graph_GetNodes.
 *
 * A name that a node reads and no node of the graph makes is an initializer when it is constant, else an
 * input, wherever onnxruntime keeps it: in the graph or in an outer scope. Bodies
 * of If, Loop and Scan are nested; they refer to outer names as ONNX bodies do. */
#include <stdlib.h>

#include "plugin.h"

enum { MODEL_IR = 1, MODEL_PRODUCER = 2, MODEL_GRAPH = 7, MODEL_OPSET = 8 };
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12, GRAPH_VALUE = 13 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_TYPE = 4, NODE_ATTRIBUTE = 5, NODE_DOMAIN = 7 };
enum { ATTR_NAME = 1, ATTR_GRAPH = 6, ATTR_TYPE = 20, ATTR_TYPE_GRAPH = 5 };
enum { DEEPEST_NESTING = 32 };

static ort_status *write_body(const ort_graph *graph, int depth, wire *out);

/* ---- values -------------------------------------------------------------------------------- */

static ort_status *write_dims(const ort_shape_info *shape, wire *out) {
    size_t rank;
    TRY(ort_get_rank(shape, &rank));
    int64_t *dims = calloc(rank + 1, sizeof *dims);
    const char **names = calloc(rank + 1, sizeof *names);
    ort_status *status = dims && names ? ort_get_dims(shape, dims, rank) : fail_memory();
    if (!status) status = ort_get_symbols(shape, names, rank);
    size_t mark = wire_open(out, 2);
    for (size_t i = 0; !status && i < rank; i++) {
        size_t dim = wire_open(out, 1);
        if (dims[i] >= 0)
            wire_int(out, 1, dims[i]);
        else if (names[i] && *names[i])
            wire_text(out, 2, names[i]);
        wire_close(out, dim);
    }
    wire_close(out, mark);
    free(dims);
    free(names);
    return status;
}

/* The type of a value, or NULL: onnxruntime knows none for what a function that it has written out left without. */
static const ort_type_info *known_type(const ort_value_info *value) {
    const ort_type_info *type = NULL;
    ort_status *unknown = ort_value_type(value, &type);
    if (!unknown) return type;
    ort_release_status(unknown);
    return NULL;
}

/* A ValueInfoProto; without a type when onnxruntime knows none, or it isn't a tensor's. */
static ort_status *write_value(const ort_value_info *value, uint32_t field, wire *out) {
    const char *name;
    const ort_type_info *type = known_type(value);
    const ort_shape_info *shape = NULL;
    int32_t kind = 0, dtype;
    TRY(ort_value_name(value, &name));
    if (type) TRY(ort_type_kind(type, &kind));
    if (kind == ORT_KIND_TENSOR) TRY(ort_tensor_info(type, &shape));
    size_t mark = wire_open(out, field);
    wire_text(out, 1, name);
    if (shape) {
        size_t type_mark = wire_open(out, 2), tensor_mark = wire_open(out, 1);
        TRY(ort_get_dtype(shape, &dtype));
        wire_int(out, 1, dtype);
        if (ort.version < 24 || ort_has_shape(shape)) TRY(write_dims(shape, out));
        wire_close(out, tensor_mark);
        wire_close(out, type_mark);
    }
    wire_close(out, mark);
    return NULL;
}

static ort_status *write_values(const ort_list *values, uint32_t field, name_set *known, wire *out) {
    for (size_t i = 0; i < values->n; i++) {
        const char *name;
        if (!values->items[i]) continue;
        TRY(ort_value_name(values->items[i], &name));
        if (!*name || (known && !name_set_add(known, name))) continue;
        TRY(write_value(values->items[i], field, out));
    }
    return NULL;
}

/* ---- nodes --------------------------------------------------------------------------------- */

static ort_status *write_names(const ort_node *node, int slot, uint32_t field, wire *out) {
    ort_list values;
    ort_status *status = NULL;
    TRY(list_read(&values, slot, node));
    for (size_t i = 0; !status && i < values.n; i++) {
        const char *name = "";
        if (values.items[i]) status = ort_value_name(values.items[i], &name);
        wire_text(out, field, name);
    }
    list_free(&values);
    return status;
}

static ort_status *write_bodies(const ort_node *node, int depth, wire *out) {
    size_t n;
    TRY(ort_node_num_subgraphs(node, &n));
    if (!n) return NULL;
    if (depth >= DEEPEST_NESTING) return fail(ORT_FAIL, "bodies are nested too deeply", NULL);
    const ort_graph **graphs = calloc(n, sizeof *graphs);
    const char **names = calloc(n, sizeof *names);
    ort_status *status = graphs && names ? ort_node_subgraphs(node, graphs, n, names) : fail_memory();
    for (size_t i = 0; !status && i < n; i++) {
        size_t mark = wire_open(out, NODE_ATTRIBUTE);
        wire_text(out, ATTR_NAME, names[i]);
        wire_int(out, ATTR_TYPE, ATTR_TYPE_GRAPH);
        size_t body = wire_open(out, ATTR_GRAPH);
        status = write_body(graphs[i], depth + 1, out);
        wire_close(out, body);
        wire_close(out, mark);
    }
    free(graphs);
    free(names);
    return status;
}

static ort_status *write_node(const ort_node *node, int depth, wire *out) {
    const char *text;
    ort_list attrs;
    size_t mark = wire_open(out, GRAPH_NODE);
    TRY(write_names(node, ORT_NODE_INPUTS, NODE_INPUT, out));
    TRY(write_names(node, ORT_NODE_OUTPUTS, NODE_OUTPUT, out));
    TRY(ort_node_name(node, &text));
    wire_text(out, NODE_NAME, text);
    TRY(ort_node_type(node, &text));
    wire_text(out, NODE_TYPE, text);
    TRY(ort_node_domain(node, &text));
    wire_text(out, NODE_DOMAIN, text);
    TRY(list_read(&attrs, ORT_NODE_ATTRS, node));
    ort_status *status = NULL;
    for (size_t i = 0; !status && i < attrs.n; i++) status = attr_write(attrs.items[i], out);
    list_free(&attrs);
    TRY(status);
    TRY(write_bodies(node, depth, out));
    wire_close(out, mark);
    return NULL;
}

static ort_status *write_nodes(const ort_list *nodes, int depth, wire *out) {
    for (size_t i = 0; i < nodes->n; i++) TRY(write_node(nodes->items[i], depth, out));
    return NULL;
}

static ort_status *write_node_values(const ort_list *nodes, name_set *known, wire *out) {
    for (size_t i = 0; i < nodes->n; i++) {
        ort_list values;
        TRY(list_read(&values, ORT_NODE_OUTPUTS, nodes->items[i]));
        ort_status *status = write_values(&values, GRAPH_VALUE, known, out);
        list_free(&values);
        TRY(status);
    }
    return NULL;
}

/* ---- graphs -------------------------------------------------------------------------------- */

static ort_status *write_initializer(const ort_value_info *value, wire *out) {
    const char *name;
    const ort_value *tensor = NULL;
    TRY(ort_value_name(value, &name));
    TRY(ort_value_initializer(value, &tensor));
    if (!tensor) return fail(ORT_FAIL, "an initializer has no value: ", name);
    return tensor_write(tensor, name, GRAPH_INITIALIZER, 0, out);
}

static ort_status *write_body_parts(const ort_list *parts, int depth, wire *out) {
    name_set known = {0};
    ort_status *status = write_values(&parts[1], GRAPH_INPUT, &known, out);
    if (!status) status = write_values(&parts[2], GRAPH_OUTPUT, &known, out);
    for (size_t i = 0; !status && i < parts[3].n; i++) status = write_initializer(parts[3].items[i], out);
    if (!status) status = write_nodes(&parts[0], depth, out);
    if (!status) status = write_node_values(&parts[0], &known, out);
    name_set_free(&known);
    return status;
}

/* A nested GraphProto, as onnxruntime lists it. */
static ort_status *write_body(const ort_graph *graph, int depth, wire *out) {
    static const int slots[] = {ORT_GRAPH_NODES, ORT_GRAPH_INPUTS, ORT_GRAPH_OUTPUTS, ORT_GRAPH_INITIALIZERS};
    const char *name;
    TRY(ort_graph_name(graph, &name));
    wire_text(out, GRAPH_NAME, name);
    ort_list parts[4] = {{0}};
    ort_status *status = NULL;
    for (int i = 0; !status && i < 4; i++) status = list_read(&parts[i], slots[i], graph);
    if (!status) status = write_body_parts(parts, depth, out);
    for (int i = 0; i < 4; i++) list_free(&parts[i]);
    return status;
}

/* Names the nodes make. */
static ort_status *add_made(const ort_list *nodes, name_set *made) {
    for (size_t i = 0; i < nodes->n; i++) {
        ort_list values;
        ort_status *status = NULL;
        TRY(list_read(&values, ORT_NODE_OUTPUTS, nodes->items[i]));
        for (size_t k = 0; !status && k < values.n; k++) {
            const char *name;
            if (!values.items[k]) continue;
            status = ort_value_name(values.items[k], &name);
            if (!status) name_set_add(made, name);
        }
        list_free(&values);
        TRY(status);
    }
    return NULL;
}

/* Inputs and initializers for whatever `values` take from outside. */
static ort_status *write_taken(const ort_list *values, name_set *known, wire *out) {
    for (size_t i = 0; i < values->n; i++) {
        const char *name;
        bool constant = false;
        if (!values->items[i]) continue;
        TRY(ort_value_name(values->items[i], &name));
        if (!*name || !name_set_add(known, name)) continue;
        TRY(ort_value_is_constant(values->items[i], &constant));
        TRY(constant ? write_initializer(values->items[i], out) : write_value(values->items[i], GRAPH_INPUT, out));
    }
    return NULL;
}

static ort_status *write_sources(const ort_list *nodes, const ort_list *outputs, name_set *known, wire *out) {
    static const int slots[] = {ORT_NODE_INPUTS, ORT_NODE_IMPLICIT_INPUTS};
    TRY(write_taken(outputs, known, out));
    for (size_t i = 0; i < nodes->n; i++)
        for (int k = 0; k < 2; k++) {
            ort_list values;
            TRY(list_read(&values, slots[k], nodes->items[i]));
            ort_status *status = write_taken(&values, known, out);
            list_free(&values);
            TRY(status);
        }
    return NULL;
}

static ort_status *write_graph(const ort_list *nodes, const ort_list *inputs, const ort_list *outputs, wire *out) {
    name_set known = {0}, described = {0};
    ort_status *status = write_taken(inputs, &known, out); /* until IR 4 constants are listed as inputs too */
    if (!status) status = add_made(nodes, &known);
    if (!status) status = write_sources(nodes, outputs, &known, out);
    if (!status) status = write_values(outputs, GRAPH_OUTPUT, &described, out);
    if (!status) status = write_nodes(nodes, 0, out);
    if (!status) status = write_node_values(nodes, &described, out);
    if (!status && (known.failed || described.failed)) status = fail_memory();
    name_set_free(&known);
    name_set_free(&described);
    return status;
}

static ort_status *write_opsets(const ort_graph *graph, wire *out) {
    size_t n;
    TRY(ort_graph_num_opsets(graph, &n));
    const char **domains = calloc(n + 1, sizeof *domains);
    int64_t *versions = calloc(n + 1, sizeof *versions);
    ort_status *status = domains && versions ? ort_graph_opsets(graph, domains, versions, n) : fail_memory();
    for (size_t i = 0; !status && i < n; i++) {
        size_t mark = wire_open(out, MODEL_OPSET);
        wire_text(out, 1, domains[i]);
        wire_int(out, 2, versions[i]);
        wire_close(out, mark);
    }
    free(domains);
    free(versions);
    return status;
}

ort_status *graph_serialize(const ort_graph *graph, wire *out) {
    int64_t ir_version;
    const char *name;
    TRY(ort_graph_ir_version(graph, &ir_version));
    TRY(ort_graph_name(graph, &name));
    wire_int(out, MODEL_IR, ir_version);
    wire_text(out, MODEL_PRODUCER, "onnxruntime");
    TRY(write_opsets(graph, out));
    ort_list nodes = {0}, inputs = {0}, outputs = {0};
    ort_status *status = list_read(&nodes, ORT_GRAPH_NODES, graph);
    if (!status) status = list_read(&inputs, ORT_GRAPH_INPUTS, graph);
    if (!status) status = list_read(&outputs, ORT_GRAPH_OUTPUTS, graph);
    size_t mark = wire_open(out, MODEL_GRAPH);
    wire_text(out, GRAPH_NAME, *name ? name : "graph");
    if (!status) status = write_graph(&nodes, &inputs, &outputs, out);
    wire_close(out, mark);
    list_free(&nodes);
    list_free(&inputs);
    list_free(&outputs);
    if (!status && out->failed) status = fail_memory();
    return status;
}
