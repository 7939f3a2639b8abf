/* EPContext nodes: a partition of a bundle that ascend-atc wrote, run without any compiler.
 *
 * Attributes: source "AscendEP"; embed_mode 0: ep_cache_context is the bundle's path relative to the
 * model, 1: its bytes; partition_name; main_context 0: the bundle of the main node before it. */
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

/* A string attribute, malloc'd with a NUL after it; NULL when the node has none. */
static ort_status *read_text(const ort_node *node, const char *name, char **text, size_t *size) {
    const ort_attr *attr = NULL;
    int32_t kind;
    void *bytes = NULL;
    *text = NULL;
    TRY(ort_node_attr(node, name, &attr));
    if (!attr) return NULL;
    TRY(ort_attr_kind(attr, &kind));
    if (kind != ORT_ATTR_STRING) return fail(ORT_INVALID_ARGUMENT, "EPContext: not a string attribute: ", name);
    TRY(attr_bytes(attr, kind, &bytes, size));
    *text = bytes;
    return NULL;
}

static ort_status *read_number(const ort_node *node, const char *name, int64_t otherwise, int64_t *value) {
    const ort_attr *attr = NULL;
    size_t size;
    *value = otherwise;
    TRY(ort_node_attr(node, name, &attr));
    return attr ? ort_attr_read(attr, ORT_ATTR_INT, value, sizeof *value, &size) : NULL;
}

int context_is_ours(const ort_node *node) {
    const char *type = "", *domain = "";
    char *source = NULL;
    size_t size;
    ort_status *status = ort_node_type(node, &type);
    if (!status) status = ort_node_domain(node, &domain);
    if (!status && strcmp(type, "EPContext") == 0 && strcmp(domain, "com.microsoft") == 0)
        status = read_text(node, "source", &source, &size);
    int ours = !status && source && strcmp(source, ASC_EP_NAME) == 0;
    if (status) ort_release_status(status);
    free(source);
    return ours;
}

/* ---- the bundle's path --------------------------------------------------------------------- */

static int is_absolute(const char *path) {
    return path[0] == '/' || path[0] == '\\' || (path[0] && path[1] == ':');
}

static int climbs(const char *path) {
    while (*path) {
        size_t length = strcspn(path, "/\\");
        if (length == 2 && path[0] == '.' && path[1] == '.') return 1;
        path += length;
        path += *path != 0;
    }
    return 0;
}

/* The bundle named by a node lies beside or below its model: a model is data from elsewhere, and must
 * not choose files outside its own folder. */
static ort_status *resolve(const asc_ep *ep, const ort_graph *graph, const char *path, size_t size, char **out) {
    const char *model = NULL;
    if (!size || strlen(path) != size || is_absolute(path) || climbs(path))
        return fail(ORT_INVALID_ARGUMENT,
                    "EPContext: ep_cache_context must be a path below the model's folder: ", path);
    TRY(ort_graph_model_path(graph, &model));
    if (!model || !*model) model = ep->options.context_file;
    if (!model)
        return fail(ORT_INVALID_ARGUMENT,
                    "EPContext: the model was loaded from memory, so the folder of its bundle is unknown; "
                    "set session option ep.context_file_path to the model's path. Bundle: ",
                    path);
    const char *slash = strrchr(model, '/');
    size_t folder = slash ? (size_t)(slash - model) + 1 : 0;
    char *joined = malloc(folder + size + 1);
    if (!joined) return fail_memory();
    memcpy(joined, model, folder);
    memcpy(joined + folder, path, size + 1);
    *out = joined;
    return NULL;
}

/* ---- opening ------------------------------------------------------------------------------- */

/* Nodes of one bundle follow each other, so the session remembers the last one opened. */
static void remember(asc_ep *ep, asc_model *model, char *path) {
    asc_model_release(ep->context);
    free(ep->context_path);
    ep->context = model;
    ep->context_path = path;
}

static ort_status *open_file(asc_ep *ep, const ort_graph *graph, const char *name, size_t size) {
    char *path = NULL;
    asc_model *model = NULL;
    asc_status result = {.code = ASC_OK, .node = -1};
    TRY(resolve(ep, graph, name, size, &path));
    if (ep->context_path && strcmp(ep->context_path, path) == 0) {
        free(path);
        return NULL;
    }
    asc_options options = ep_open_options(ep);
    if (asc_model_open(path, &options, &model, &result) != ASC_OK) {
        ort_status *status = fail_status(&result, path);
        free(path);
        return status;
    }
    remember(ep, model, path);
    return NULL;
}

static ort_status *open_bytes(asc_ep *ep, const void *bytes, size_t size) {
    asc_model *model = NULL;
    asc_status result = {.code = ASC_OK, .node = -1};
    asc_options options = ep_open_options(ep);
    if (asc_model_from_memory(bytes, size, &options, &model, &result) != ASC_OK)
        return fail_status(&result, "embedded bundle");
    remember(ep, model, NULL);
    return NULL;
}

static ort_status *open_context(asc_ep *ep, const ort_graph *graph, const ort_node *node) {
    int64_t embedded, main_context;
    char *text = NULL;
    size_t size = 0;
    TRY(read_number(node, "embed_mode", 1, &embedded));
    TRY(read_number(node, "main_context", 1, &main_context));
    TRY(read_text(node, "ep_cache_context", &text, &size));
    ort_status *status = NULL;
    if (!main_context && !size) {
        if (!ep->context)
            status = fail(ORT_INVALID_ARGUMENT, "EPContext: main_context=0, but no main node is before it", NULL);
    } else if (!text) {
        status = fail(ORT_INVALID_ARGUMENT, "EPContext: attribute ep_cache_context is missing", NULL);
    } else {
        status = embedded ? open_bytes(ep, text, size) : open_file(ep, graph, text, size);
    }
    free(text);
    return status;
}

static ort_status *find_partition(const asc_model *model, const ort_node *node, uint32_t *partition) {
    char *name = NULL;
    size_t size;
    uint64_t n;
    ort_status *status = NULL;
    TRY(read_text(node, "partition_name", &name, &size));
    asc_model_section(model, ASC_SEC_PARTITIONS, &n);
    *partition = name && *name ? asc_model_find_partition(model, name) : 0;
    if (*partition == ASC_NONE)
        status = fail(ORT_INVALID_ARGUMENT, "EPContext: the bundle has no partition ", name);
    else if (!(name && *name) && n != 1)
        status = fail(ORT_INVALID_ARGUMENT, "EPContext: attribute partition_name is missing", NULL);
    free(name);
    return status;
}

ort_status *context_compile(asc_ep *ep, const ort_graph *graph, const ort_node *node, const ort_node *fused,
                            ort_compute_info **out) {
    uint32_t partition;
    operand_map map;
    TRY(open_context(ep, graph, node));
    TRY(find_partition(ep->context, node, &partition));
    TRY(map_by_node(node, fused, &map));
    ort_status *status = compute_create(asc_model_retain(ep->context), ep, partition, &map, out);
    operand_map_free(&map);
    return status;
}
