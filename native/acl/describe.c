/* describe.c - what AscendCL says of a bundle: inputs, outputs, gears, sizes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aipp_image.h"
#include "json.h"
#include "model.h"
#include "run.h"

#define CHOOSER_BYTES_EACH sizeof(int64_t)

/* The layout that the command line names, for tensors of the rank that it is for. */
static aclFormat format_of(const asc_model *model, int32_t rank) {
    const char *line = asc_meta_of(model, "atc_cmdline");
    const char *given = line ? strstr(line, "input_format=") : NULL;
    given = given ? given + strlen("input_format=") : "NCHW";
    if (rank == 4 && !strncmp(given, "NHWC", 4)) return ACL_FORMAT_NHWC;
    if (rank == 4 && !strncmp(given, "NCHW", 4)) return ACL_FORMAT_NCHW;
    if (rank == 5 && !strncmp(given, "NCDHW", 5)) return ACL_FORMAT_NCDHW;
    return ACL_FORMAT_ND;
}

/* Inputs before static AIPP are images, as the converter notes: {"name": {"format": 1, ...}}, 1 being YUV 420. */
static void describe_image(const asc_om *om, asc_io *io) {
    char format[16];
    const char *images = asc_meta_of(om->model, "custom:ascend_ep.aipp");
    const char *image = images && io->rank == 4 ? asc_json_find(images, io->name, NULL, 0) : NULL;
    io->is_image = image != NULL;
    io->is_yuv = image && asc_json_find(image, "format", format, sizeof format) && !strcmp(format, "1");
    if (io->is_image) io->format = ACL_FORMAT_NHWC;
}

static void describe_edge(const asc_om *om, uint32_t number, asc_io *io) {
    uint64_t ignored;
    const asc_edge *edge = (const asc_edge *)asc_model_section(om->model, ASC_SEC_EDGES, &ignored) + number;
    const uint32_t *indices = asc_model_section(om->model, ASC_SEC_INDICES, &ignored);
    const asc_dim *nodes = asc_model_section(om->model, ASC_SEC_DIMS, &ignored);
    const asc_symbol *symbols = asc_model_section(om->model, ASC_SEC_SYMBOLS, &ignored);
    *io = (asc_io){.name = asc_model_string(om->model, edge->name),
                   .dtype = edge->dtype,
                   .rank = edge->rank,
                   .edge = number,
                   .aipp_of = ASC_NONE};
    io->type = asc_acl_type(edge->dtype);
    io->format = format_of(om->model, edge->rank);
    for (int32_t i = 0; i < io->rank; i++) {
        const asc_dim *node = &nodes[indices[edge->first_dim + i]];
        io->symbols[i] = node->op == ASC_DIM_SYMBOL ? node->a : ASC_NONE;
        io->dims[i] = node->op == ASC_DIM_CONST ? node->value : -1;
        io->least[i] = io->dims[i] < 0 ? 0 : io->dims[i];
        io->most[i] = io->dims[i];
        if (node->op != ASC_DIM_SYMBOL) continue;
        io->least[i] = symbols[node->a].min;
        io->most[i] = symbols[node->a].max == INT64_MAX ? -1 : symbols[node->a].max;
    }
}

static aclError describe_edges(asc_om *om) {
    uint64_t n_edges;
    const asc_edge *edges = asc_model_section(om->model, ASC_SEC_EDGES, &n_edges);
    om->inputs = calloc(2 * n_edges + 1, sizeof *om->inputs); /* with those of gears and of AIPP */
    om->outputs = calloc(n_edges + 1, sizeof *om->outputs);
    if (!om->inputs || !om->outputs) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    for (uint32_t i = 0; i < n_edges; i++) {
        if (edges[i].role & ASC_EDGE_INPUT) {
            describe_edge(om, i, &om->inputs[om->n_inputs]);
            describe_image(om, &om->inputs[om->n_inputs++]);
        }
        if (edges[i].role & ASC_EDGE_OUTPUT) describe_edge(om, i, &om->outputs[om->n_outputs++]);
    }
    for (uint32_t i = 0; i < om->n_inputs + om->n_outputs; i++) {
        const asc_io *io = i < om->n_inputs ? &om->inputs[i] : &om->outputs[i - om->n_inputs];
        if (!asc_dtype_bytes(io->dtype))
            return asc_acl_fail(ACL_ERROR_UNSUPPORTED_DATA_TYPE,
                                "[%s] has elements of type %d, which has no fixed size in memory", io->name,
                                (int)io->type);
    }
    return ACL_SUCCESS;
}

/* Which partitions run: all but those that stand in for others. One that needs onnxruntime is refused. */
static aclError list_partitions(asc_om *om) {
    uint64_t count;
    const asc_partition *all = asc_model_section(om->model, ASC_SEC_PARTITIONS, &count);
    om->partitions = calloc(count + 1, sizeof *om->partitions);
    if (!om->partitions) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    for (uint32_t i = 0; i < count; i++) {
        if (all[i].kind == ASC_PARTITION_HOST)
            return asc_acl_fail(
                ACL_ERROR_FEATURE_UNSUPPORTED,
                "the part [%s] of the model needs onnxruntime (%s), which only Python has; run the model with "
                "ascend_ep.InferenceSession, or convert it without what that names",
                asc_model_string(om->model, all[i].name), asc_model_string(om->model, all[i].reason));
        if (all[i].kind == ASC_PARTITION_NATIVE) om->partitions[om->n_partitions++] = i;
    }
    return ACL_SUCCESS;
}

/* ---- gears --------------------------------------------------------------------------------------- */

/* The symbol that a name has; ASC_NONE: none. `length` bytes of text. */
static uint32_t symbol_named(const asc_om *om, const char *name, size_t length) {
    uint64_t ignored;
    const asc_symbol *symbols = asc_model_section(om->model, ASC_SEC_SYMBOLS, &ignored);
    for (uint32_t i = 0; i < om->n_symbols; i++) {
        const char *text = asc_model_string(om->model, symbols[i].name);
        if (strlen(text) == length && !memcmp(text, name, length)) return i;
    }
    return ASC_NONE;
}

/* Reads `["batch", 3, ...]`, the converter's own note: for each number of a gear the name of a symbol, or the number.
 */
static aclError read_columns(asc_om *om, const char *text) {
    uint32_t room = 1;
    for (const char *c = text; *c; c++) room += *c == ',';
    om->columns = calloc((size_t)room * om->n_gears, sizeof *om->columns);
    if (!om->columns) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    int64_t *row = calloc(room, sizeof *row); /* below 0: symbol -(n + 1) */
    if (!row) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    while (*text && om->n_columns < room) {
        if (*text == '"') {
            const char *end = strchr(text + 1, '"');
            if (!end) break;
            row[om->n_columns++] = -(int64_t)symbol_named(om, text + 1, (size_t)(end - text) - 1) - 1;
            text = end + 1;
        } else if (*text >= '0' && *text <= '9') {
            row[om->n_columns++] = strtoll(text, (char **)&text, 10);
        } else
            text++;
    }
    bool known = om->n_columns > 0;
    for (uint32_t c = 0; c < om->n_columns; c++)
        if (row[c] < 0 && -(row[c] + 1) >= om->n_symbols) known = false;
    for (uint32_t g = 0; known && g < om->n_gears; g++)
        for (uint32_t c = 0; c < om->n_columns; c++)
            om->columns[(size_t)g * om->n_columns + c] =
                row[c] < 0 ? om->gears[(size_t)g * om->n_symbols + (uint32_t)-(row[c] + 1)] : row[c];
    free(row);
    return known ? ACL_SUCCESS
                 : asc_acl_fail((aclError)ACL_ERROR_GE_EXEC_LOAD_MODEL_PARTITION_FAILED,
                                "the bundle's note of gears is not valid");
}

static int64_t elements_at(const asc_om *om, const int64_t *sizes) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < om->n_inputs; i++) {
        int64_t product = 1;
        for (int32_t d = 0; d < om->inputs[i].rank; d++) {
            int64_t size =
                om->inputs[i].symbols[d] == ASC_NONE ? om->inputs[i].dims[d] : sizes[om->inputs[i].symbols[d]];
            if (size < 0 || __builtin_mul_overflow(product, size, &product)) return INT64_MAX;
        }
        if (__builtin_add_overflow(sum, product, &sum)) return INT64_MAX;
    }
    return sum;
}

static aclError describe_gears(asc_om *om) {
    uint64_t n, n_symbols;
    const asc_profile_size *sizes = asc_model_section(om->model, ASC_SEC_PROFILES, &n);
    asc_model_section(om->model, ASC_SEC_SYMBOLS, &n_symbols);
    om->n_symbols = (uint32_t)n_symbols;
    om->variety = n_symbols ? ASC_RANGES : ASC_FIXED;
    if (!n) return ACL_SUCCESS;
    om->n_gears = sizes[n - 1].profile + 1;
    om->gears = malloc((size_t)om->n_gears * n_symbols * sizeof *om->gears);
    if (!om->gears) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    for (size_t i = 0; i < (size_t)om->n_gears * n_symbols; i++) om->gears[i] = -1;
    for (uint64_t i = 0; i < n; i++) om->gears[sizes[i].profile * n_symbols + sizes[i].symbol] = sizes[i].size;
    const char *columns = asc_meta_of(om->model, "profile_columns");
    om->variety = asc_meta_of(om->model, "dynamic_batch_size")   ? ASC_BATCHES
                  : asc_meta_of(om->model, "dynamic_image_size") ? ASC_IMAGES
                                                                 : ASC_GEARS;
    aclError code = read_columns(om, columns ? columns : "[]");
    if (code != ACL_SUCCESS) return code;
    for (uint32_t g = 1; g < om->n_gears; g++)
        if (elements_at(om, &om->gears[(size_t)g * n_symbols]) >
            elements_at(om, &om->gears[(size_t)om->largest * n_symbols]))
            om->largest = g;
    atomic_store(&om->gear, om->largest);
    asc_io *chooser = &om->inputs[om->n_inputs++];
    *chooser =
        (asc_io){.name = ACL_DYNAMIC_TENSOR_NAME, .type = ACL_INT64, .format = ACL_FORMAT_ND, .dtype = ASC_INT64};
    chooser->rank = 1;
    chooser->dims[0] = chooser->least[0] = chooser->most[0] = om->n_columns;
    chooser->symbols[0] = ASC_NONE;
    chooser->bytes = om->n_columns * CHOOSER_BYTES_EACH;
    chooser->edge = chooser->aipp_of = ASC_NONE;
    return ACL_SUCCESS;
}

/* ---- dynamic AIPP ------------------------------------------------------------------------------------ */

/* Inputs whose pictures the program describes with each run, as the converter notes: {"name": the most bytes}. Each
 * has one more input beside it, after all others. */
static void describe_aipp(asc_om *om) {
    char most[24];
    const char *noted = asc_meta_of(om->model, "custom:ascend_ep.dynamic_aipp");
    uint32_t count = om->n_inputs;
    bool first = true;
    for (uint32_t i = 0; noted && i < count; i++) {
        asc_io *io = &om->inputs[i];
        if (io->edge == ASC_NONE || !asc_json_find(noted, io->name, most, sizeof most)) continue;
        io->aipp_bytes = io->bytes = strtoull(most, NULL, 10);
        io->type = ACL_UINT8;
        asc_io *beside = &om->inputs[om->n_inputs++];
        *beside = (asc_io){.name = first ? ACL_DYNAMIC_AIPP_NAME : io->name,
                           .type = ACL_UINT8,
                           .format = ACL_FORMAT_ND,
                           .dtype = ASC_UINT8,
                           .rank = 1,
                           .bytes = asc_aipp_parameter_bytes(io->most[0] > 0 ? (uint64_t)io->most[0] : ASC_AIPP_MOST),
                           .edge = ASC_NONE,
                           .aipp_of = i};
        beside->dims[0] = beside->least[0] = beside->most[0] = (int64_t)beside->bytes;
        beside->symbols[0] = ASC_NONE;
        first = false;
    }
}

/* ---- sizes ------------------------------------------------------------------------------------------ */

/* The sizes of the largest inputs; false when some have no limit. */
static bool largest_sizes(const asc_om *om, int64_t *sizes) {
    uint64_t ignored;
    const asc_symbol *symbols = asc_model_section(om->model, ASC_SEC_SYMBOLS, &ignored);
    for (uint32_t s = 0; s < om->n_symbols; s++) {
        sizes[s] = om->n_gears ? om->gears[(size_t)om->largest * om->n_symbols + s] : symbols[s].max;
        if (sizes[s] < 0 || sizes[s] == INT64_MAX) return false;
    }
    return true;
}

/* Binds at fixed sizes, or the largest, which also finds what can't be run before it is. */
static aclError describe_sizes(asc_om *om) {
    int64_t *sizes = calloc(om->n_symbols + 1, sizeof *sizes);
    if (!sizes) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    bool known = largest_sizes(om, sizes);
    asc_chain *chain = NULL;
    aclError code = known ? asc_chain_bind(om, sizes, NULL, &chain) : ACL_SUCCESS;
    free(sizes);
    if (code != ACL_SUCCESS && om->variety == ASC_RANGES) code = ACL_SUCCESS; /* a range may be wider than what runs */
    if (!chain) return code;
    for (uint32_t i = 0; i < om->n_inputs; i++)
        if (om->inputs[i].edge != ASC_NONE) om->inputs[i].bytes = asc_tensor_bytes(&chain->edges[om->inputs[i].edge]);
    for (uint32_t i = 0; i < om->n_outputs; i++) {
        const asc_tensor *t = &chain->edges[om->outputs[i].edge];
        om->outputs[i].bytes = asc_tensor_bytes(t);
        memcpy(om->outputs[i].most, t->dims, sizeof om->outputs[i].most);
    }
    om->work_bytes = chain->work_bytes;
    if (om->variety == ASC_FIXED)
        om->fixed = chain;
    else
        asc_chain_free(om, chain);
    return code;
}

aclError asc_om_describe(asc_model *model, asc_om **made) {
    asc_om *om = calloc(1, sizeof *om);
    if (!om) {
        asc_model_release(model);
        return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left for one more model");
    }
    om->uses = 1;
    om->model = model;
    asc_model_part(model, ASC_PART_WEIGHTS, &om->weight_bytes);
    aclError code = describe_edges(om);
    if (code == ACL_SUCCESS) code = list_partitions(om);
    if (code == ACL_SUCCESS) code = describe_gears(om);
    if (code == ACL_SUCCESS) code = describe_sizes(om);
    if (code == ACL_SUCCESS) describe_aipp(om);
    if (code != ACL_SUCCESS) {
        asc_om_release(om);
        return code;
    }
    *made = om;
    return ACL_SUCCESS;
}
