/* Which operand of a fused node is which operand of the partition that computes it. onnxruntime orders
 * and merges the operands of a node it fuses as it likes, so they are found by name. */
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

static ort_status *find_name(const ort_list *among, const char *name, uint32_t *index) {
    for (uint32_t i = 0; *name && i < among->n; i++) {
        const char *other = "";
        if (among->items[i]) TRY(ort_value_name(among->items[i], &other));
        *index = i;
        if (strcmp(name, other) == 0) return NULL;
    }
    return fail(ORT_INVALID_ARGUMENT, "the node lacks an operand of its partition: ", name);
}

static ort_status *new_map(uint32_t **map, size_t n) {
    *map = calloc(n + 1, sizeof **map);
    return *map ? NULL : fail_memory();
}

/* ---- EPContext nodes ----------------------------------------------------------------------- */

static ort_status *map_values(const ort_list *values, const ort_list *among, uint32_t *map) {
    for (uint32_t i = 0; i < values->n; i++) {
        const char *name = "";
        if (values->items[i]) TRY(ort_value_name(values->items[i], &name));
        TRY(find_name(among, name, &map[i]));
    }
    return NULL;
}

static ort_status *map_slot(const ort_node *node, const ort_node *fused, int slot, uint32_t **map, uint32_t *n) {
    ort_list own = {0}, outer = {0};
    ort_status *status = list_read(&own, slot, node);
    if (!status) status = list_read(&outer, slot, fused);
    if (!status) status = new_map(map, own.n);
    if (!status) status = map_values(&own, &outer, *map);
    *n = (uint32_t)own.n;
    list_free(&own);
    list_free(&outer);
    return status;
}

ort_status *map_by_node(const ort_node *node, const ort_node *fused, operand_map *map) {
    *map = (operand_map){0};
    ort_status *status = map_slot(node, fused, ORT_NODE_INPUTS, &map->inputs, &map->n_inputs);
    if (!status) status = map_slot(node, fused, ORT_NODE_OUTPUTS, &map->outputs, &map->n_outputs);
    if (status) operand_map_free(map);
    return status;
}

/* ---- partitions compiled in this process --------------------------------------------------- */

/* `pairs`: (edge, value) indices, as asc_partition has them. */
static ort_status *map_edges(const asc_model *model, const uint32_t *pairs, uint32_t n, const ort_node *fused, int slot,
                             uint32_t **map) {
    uint64_t count;
    const asc_edge *edges = asc_model_section(model, ASC_SEC_EDGES, &count);
    ort_list among;
    TRY(list_read(&among, slot, fused));
    ort_status *status = new_map(map, n);
    for (uint32_t i = 0; !status && i < n; i++)
        status = find_name(&among, asc_model_string(model, edges[pairs[2 * i]].name), &(*map)[i]);
    list_free(&among);
    return status;
}

ort_status *map_by_edges(const asc_model *model, uint32_t partition, const ort_node *fused, operand_map *map) {
    uint64_t n = 0;
    const asc_partition *partitions = asc_model_section(model, ASC_SEC_PARTITIONS, &n);
    *map = (operand_map){0};
    if (partition >= n) return fail(ORT_FAIL, "the compiled model has no such partition", NULL);
    const asc_partition *p = &partitions[partition];
    const uint32_t *indices = asc_model_section(model, ASC_SEC_INDICES, &n);
    map->n_inputs = p->n_inputs;
    map->n_outputs = p->n_outputs;
    ort_status *status = map_edges(model, indices + p->first_input, p->n_inputs, fused, ORT_NODE_INPUTS, &map->inputs);
    if (!status)
        status = map_edges(model, indices + p->first_output, p->n_outputs, fused, ORT_NODE_OUTPUTS, &map->outputs);
    if (status) operand_map_free(map);
    return status;
}

void operand_map_free(operand_map *map) {
    free(map->inputs);
    free(map->outputs);
    *map = (operand_map){0};
}
