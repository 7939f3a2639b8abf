/* The context model that a session makes of what it compiles (ep.context_enable): one EPContext node for each
 * group, with its bundle inside or in a file beside the model. context.c reads them. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

enum { N_ATTRS = 6 };

int32_t asc_ep_keep_bundle(asc_ep_program *program, const void *bytes, uint64_t size) {
    free(program->bundle);
    program->bundle_bytes = 0;
    program->bundle = malloc(size + 1);
    if (!program->bundle) return ASC_E_MEMORY;
    memcpy(program->bundle, bytes, size);
    program->bundle_bytes = size;
    return ASC_OK;
}

/* ---- the bundle's file --------------------------------------------------------------------- */

/* The path without ".onnx", and whether it names the context model or the one that is compiled. */
static ort_status *stem_of(const asc_ep *ep, const ort_graph *graph, const char **path, size_t *length,
                           int *is_source) {
    static const char suffix[] = ".onnx";
    *path = ep->options.context_file;
    *is_source = !*path;
    if (!*path) TRY(ort_graph_model_path(graph, path));
    if (!*path || !**path)
        return fail(ORT_INVALID_ARGUMENT,
                    "session option ep.context_enable: the model was loaded from memory, so there is no folder for its "
                    "bundles; name the context model in ep.context_file_path, or set ep.context_embed_mode to 1",
                    NULL);
    *length = strlen(*path);
    size_t tail = sizeof suffix - 1;
    if (*length > tail && strcmp(*path + *length - tail, suffix) == 0) *length -= tail;
    return NULL;
}

ort_status *context_bundle_path(asc_ep *ep, const ort_graph *graph, char **out) {
    const char *stem = "";
    size_t length = 0;
    int is_source = 0;
    char tail[32] = "";
    *out = NULL;
    if (ep->options.embeds) return NULL;
    TRY(stem_of(ep, graph, &stem, &length, &is_source));
    text_add(tail, sizeof tail, is_source ? "_ctx_" : "_");
    text_add_number(tail, sizeof tail, ep->n_bundles++);
    text_add(tail, sizeof tail, ".om");
    char *path = malloc(length + sizeof tail);
    if (!path) return fail_memory();
    memcpy(path, stem, length);
    memcpy(path + length, tail, strlen(tail) + 1);
    *out = path;
    return NULL;
}

/* ---- the node ------------------------------------------------------------------------------ */

typedef struct attr_list {
    ort_attr *items[N_ATTRS];
    size_t n;
} attr_list;

static ort_status *add_bytes(attr_list *list, const char *name, const void *bytes, uint64_t size) {
    if (size > INT_MAX)
        return fail(ORT_INVALID_ARGUMENT,
                    "a bundle of 2 GB or more can't be embedded: leave ep.context_embed_mode at 0", NULL);
    TRY(ort_create_attr(name, bytes, (int)size, ORT_ATTR_STRING, &list->items[list->n]));
    list->n++;
    return NULL;
}

static ort_status *add_text(attr_list *list, const char *name, const char *text) {
    return add_bytes(list, name, text, strlen(text));
}

static ort_status *add_number(attr_list *list, const char *name, int64_t value) {
    TRY(ort_create_attr(name, &value, 1, ORT_ATTR_INT, &list->items[list->n]));
    list->n++;
    return NULL;
}

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static ort_status *add_attributes(attr_list *list, const asc_ep_program *program) {
    uint64_t n;
    const asc_partition *partitions = asc_model_section(program->compiled, ASC_SEC_PARTITIONS, &n);
    const char *path = program->bundle_path;
    if (!path && !program->bundle) return fail(ORT_FAIL, "the compiler gave no bundle", NULL);
    TRY(add_number(list, "main_context", 1));
    TRY(add_number(list, "embed_mode", !path));
    TRY(path ? add_text(list, "ep_cache_context", file_name(path))
             : add_bytes(list, "ep_cache_context", program->bundle, program->bundle_bytes));
    TRY(add_text(list, "ep_sdk_version", asc_version()));
    TRY(add_text(list, "source", ASC_EP_NAME));
    return add_text(list, "partition_name", asc_model_string(program->compiled, partitions[program->partition].name));
}

/* The operands of the partition, in its order. */
static void order_names(const char *const *names, const uint32_t *map, uint32_t n, const char **out) {
    for (uint32_t i = 0; i < n; i++) out[i] = names[map[i]];
}

ort_status *context_make(const asc_ep_program *program, const operand_map *map, ort_node **out) {
    const char **names = malloc(((size_t)map->n_inputs + map->n_outputs + 1) * sizeof *names);
    attr_list list = {0};
    if (!names) return fail_memory();
    order_names(program->inputs, map->inputs, map->n_inputs, names);
    order_names(program->outputs, map->outputs, map->n_outputs, names + map->n_inputs);
    ort_status *status = add_attributes(&list, program);
    if (!status)
        status = ort_create_node("EPContext", "com.microsoft", program->name, names, map->n_inputs,
                                 names + map->n_inputs, map->n_outputs, list.items, list.n, out);
    for (size_t i = 0; i < list.n; i++) ort_release_attr(list.items[i]);
    free(names);
    return status;
}
