/* The provider of one session: which nodes it takes, and how they are compiled. */
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

struct asc_ep_claims {
    const ort_node **nodes;
    uint8_t *taken;
    uint32_t n_nodes;
    ort_support_info *support;
    ort_status *status; /* of onnxruntime's own refusal */
};

static const char *get_name(const ort_ep *self) {
    (void)self;
    return ASC_EP_NAME;
}

static ort_status *concurrent_runs(ort_ep *self, bool *supported) {
    (void)self;
    *supported = true;
    return NULL;
}

/* ---- GetCapability ------------------------------------------------------------------------- */

int32_t asc_ep_claim(asc_ep_claims *claims, const uint32_t *nodes, uint32_t n) {
    if (!n || claims->status) return ASC_E_ARGUMENT;
    for (uint32_t i = 0; i < n; i++)
        if (nodes[i] >= claims->n_nodes || claims->taken[nodes[i]]) return ASC_E_ARGUMENT;
    const ort_node **group = malloc(n * sizeof *group);
    if (!group) return ASC_E_MEMORY;
    for (uint32_t i = 0; i < n; i++) {
        group[i] = claims->nodes[nodes[i]];
        claims->taken[nodes[i]] = 1;
    }
    ort_fusion_options options = {.version = ort.version, .drop_constant_initializers = true};
    claims->status = ort_fuse_nodes(claims->support, group, n, &options);
    free(group);
    return claims->status ? ASC_E_INTERNAL : ASC_OK;
}

static ort_status *claim_contexts(asc_ep_claims *claims, uint32_t *n_claimed) {
    ort_fusion_options options = {.version = ort.version};
    for (uint32_t i = 0; i < claims->n_nodes; i++) {
        if (claims->taken[i] || !context_is_ours(claims->nodes[i])) continue;
        TRY(ort_fuse_nodes(claims->support, &claims->nodes[i], 1, &options));
        ++*n_claimed;
    }
    return NULL;
}

/* Whether a body belongs to a call of a function (SequenceMap). onnxruntime inlines it after asking, and then refuses
 * groups that it made within: the new body doesn't import the provider's domain. It asks again for that body. */
static ort_status *is_function_body(const ort_node *parent, bool *found) {
    const char *type = "";
    *found = false;
    if (!parent) return NULL;
    TRY(ort_node_type(parent, &type));
    *found = strcmp(type, "If") != 0 && strcmp(type, "Loop") != 0 && strcmp(type, "Scan") != 0;
    return NULL;
}

static ort_status *ask_compiler(asc_ep *ep, const ort_graph *graph, asc_ep_claims *claims) {
    const asc_ep_callbacks *callbacks = plugin_callbacks();
    if (!callbacks || !callbacks->partition) {
        asc_ep_log(ep, 2,
                   ASC_EP_NAME
                   ": no compiler in this process (import ascend_ep in Python, or convert with "
                   "ascend-atc and load the _ctx.onnx); every node goes to the next provider");
        return NULL;
    }
    const ort_node *parent = NULL;
    bool inlined;
    TRY(ort_graph_parent(graph, &parent));
    TRY(is_function_body(parent, &inlined));
    if (inlined || (parent && ep->options.makes_context)) return NULL; /* a context model's bodies stay as they are */
    wire model = {0};
    ort_status *status = graph_serialize(graph, &model);
    if (!status) {
        asc_status result = {.code = ASC_OK, .node = -1};
        asc_ep_graph view = {model.bytes, model.size, claims->taken, claims->n_nodes, parent != NULL};
        int32_t code = callbacks->partition(ep, &view, claims, &result);
        if (code != ASC_OK && !claims->status) status = fail_status(&result, "while partitioning");
    }
    wire_free(&model);
    if (claims->status) {
        if (status) ort_release_status(status);
        return claims->status;
    }
    return status;
}

static ort_status *find_taken(asc_ep_claims *claims) {
    for (uint32_t i = 0; i < claims->n_nodes; i++) {
        const char *provider = NULL;
        TRY(ort_node_ep(claims->nodes[i], &provider));
        claims->taken[i] = provider && *provider;
    }
    return NULL;
}

static ort_status *get_capability(ort_ep *self, const ort_graph *graph, ort_support_info *support) {
    uint32_t n_contexts = 0;
    ort_list nodes;
    TRY(list_read(&nodes, ORT_GRAPH_NODES, graph));
    asc_ep_claims claims = {(const ort_node **)nodes.items, calloc(nodes.n + 1, 1), (uint32_t)nodes.n, support, NULL};
    ort_status *status = claims.taken ? find_taken(&claims) : fail_memory();
    if (!status) status = claim_contexts(&claims, &n_contexts);
    /* The rest of a compiled model was left to other providers when it was compiled. */
    if (!status && !n_contexts && nodes.n) status = ask_compiler((asc_ep *)self, graph, &claims);
    free(claims.taken);
    list_free(&nodes);
    return status;
}

/* ---- Compile ------------------------------------------------------------------------------- */

static ort_status *context_node(const ort_graph *graph, const ort_node **out) {
    ort_list nodes;
    TRY(list_read(&nodes, ORT_GRAPH_NODES, graph));
    *out = nodes.n == 1 && context_is_ours(nodes.items[0]) ? nodes.items[0] : NULL;
    list_free(&nodes);
    return NULL;
}

/* The names of a fused node's operands; `names` is malloc'd. */
static ort_status *read_names(const ort_node *fused, int slot, const char ***names, uint32_t *n) {
    ort_list values;
    TRY(list_read(&values, slot, fused));
    *names = calloc(values.n + 1, sizeof **names);
    *n = (uint32_t)values.n;
    ort_status *status = *names ? NULL : fail_memory();
    for (size_t i = 0; !status && i < values.n; i++)
        if (values.items[i]) status = ort_value_name(values.items[i], &(*names)[i]);
    list_free(&values);
    return status;
}

static ort_status *call_compiler(asc_ep *ep, asc_ep_program *program) {
    const asc_ep_callbacks *callbacks = plugin_callbacks();
    asc_status result = {.code = ASC_OK, .node = -1};
    if (!callbacks || !callbacks->compile)
        return fail(ORT_FAIL, "the compiler has gone: the interpreter is exiting", NULL);
    if (callbacks->compile(ep, program, &result) != ASC_OK) return fail_status(&result, "while compiling");
    return program->compiled ? NULL : fail(ORT_FAIL, "the compiler returned no model", NULL);
}

/* What runs the group that `program` has, and its node in the context model that the session makes, if it does. */
static ort_status *use_compiled(asc_ep *ep, const asc_ep_program *program, const ort_node *fused,
                                ort_compute_info **out, ort_node **context) {
    operand_map map;
    ort_status *status = map_by_edges(program->compiled, program->partition, fused, &map);
    if (!status && map.n_outputs != program->n_outputs)
        status = fail(ORT_FAIL, "the compiled group lacks an output of its node", NULL);
    if (!status && ep->options.makes_context) status = context_make(program, &map, context);
    if (!status) status = compute_create(asc_model_retain(program->compiled), ep, program->partition, &map, out);
    operand_map_free(&map);
    return status;
}

static ort_status *compile_one(asc_ep *ep, const ort_graph *graph, const ort_node *fused, ort_compute_info **out,
                               ort_node **context) {
    asc_ep_program program = {0};
    const char **inputs = NULL, **outputs = NULL;
    char *path = NULL;
    ort_status *status = ort_node_name(fused, &program.name);
    if (!status) status = read_names(fused, ORT_NODE_INPUTS, &inputs, &program.n_inputs);
    if (!status) status = read_names(fused, ORT_NODE_OUTPUTS, &outputs, &program.n_outputs);
    if (!status && ep->options.makes_context) status = context_bundle_path(ep, graph, &path);
    program.inputs = inputs;
    program.outputs = outputs;
    program.bundle_path = path;
    if (!status) status = call_compiler(ep, &program);
    if (!status) status = use_compiled(ep, &program, fused, out, context);
    asc_model_release(program.compiled);
    free(program.bundle);
    free(path);
    free(inputs);
    free(outputs);
    return status;
}

static ort_status *compile(ort_ep *self, const ort_graph **graphs, const ort_node **fused, size_t n,
                           ort_compute_info **out, ort_node **context_nodes) {
    asc_ep *ep = (asc_ep *)self;
    for (size_t i = 0; i < n; i++) {
        const ort_node *node;
        TRY(context_node(graphs[i], &node));
        if (node && ep->options.makes_context)
            return fail(ORT_INVALID_ARGUMENT, "session option ep.context_enable: the model is compiled already", NULL);
        TRY(node ? context_compile(ep, graphs[i], node, fused[i], &out[i])
                 : compile_one(ep, graphs[i], fused[i], &out[i], &context_nodes[i]));
    }
    return NULL;
}

static void release_compute_infos(ort_ep *self, ort_compute_info **infos, size_t n) {
    (void)self;
    for (size_t i = 0; i < n; i++)
        if (infos[i]) compute_release(infos[i]);
}

/* ---- life ---------------------------------------------------------------------------------- */

ort_status *ep_create(const ort_session_options *session, const ort_logger *logger, ort_ep **out) {
    asc_ep *ep = calloc(1, sizeof *ep);
    if (!ep) return fail_memory();
    ep->base = (ort_ep){
        .version = ort.version,
        .name = get_name,
        .get_capability = get_capability,
        .compile = compile,
        .release_compute_infos = release_compute_infos,
        .concurrent_runs = concurrent_runs,
    };
    ep->logger = logger;
    ort_status *status = options_read(&ep->options, session, logger);
    if (status) {
        ep_release(&ep->base);
        return status;
    }
    *out = &ep->base;
    return NULL;
}

void ep_release(ort_ep *self) {
    asc_ep *ep = (asc_ep *)self;
    asc_model_release(ep->context);
    free(ep->context_path);
    options_free(&ep->options);
    free(ep);
}
