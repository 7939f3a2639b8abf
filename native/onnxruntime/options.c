/* Provider options. They arrive as session configuration entries "ep.ascendep.<name>"; the names are
 * those of onnxruntime's CANN provider where they mean something here, and our own. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

enum { TEXT, NUMBER, SIZE, FLAG, CHOICE };

typedef struct known_option {
    const char *name;
    const char *choices;   /* of a CHOICE, separated by '|' */
    const char *no_effect; /* why it changes nothing here; NULL when it does */
    int32_t kind;
} known_option;

static const known_option known[] = {
    {"num_threads", NULL, NULL, NUMBER},
    {"session_threads", NULL, NULL, NUMBER},
    {"npu_mem_limit", NULL, NULL, SIZE},
    {"trust", NULL, NULL, TEXT},
    {"custom_op_info", NULL, NULL, TEXT},
    {"custom_op", NULL, NULL, TEXT},
    {"precision_mode",
     "force_fp16|force_fp32|cube_fp16in_fp32out|must_keep_origin_dtype|allow_fp32_to_fp16|allow_mix_precision|"
     "allow_mix_precision_fp16|allow_mix_precision_bf16",
     NULL, CHOICE},
    {"precision_mode_v2", "fp16|origin|cube_fp16in_fp32out|mixed_float16|mixed_bfloat16", NULL, CHOICE},
    {"dump_graphs", NULL, NULL, FLAG},
    {"dump_om_model", NULL, NULL, FLAG},
    {"device_id", NULL, NULL, NUMBER},
    {"enable_cann_graph", NULL, "graphs are always compiled whole", FLAG},
    {"enable_cann_subgraph", NULL, "unsupported nodes always go to the next provider", FLAG},
    {"arena_extend_strategy", "kNextPowerOfTwo|kSameAsRequested", "arenas are planned, they don't grow", CHOICE},
    {"op_select_impl_mode", "high_precision|high_performance", "there is one implementation, the precise one", CHOICE},
    {"optypelist_for_implmode", NULL, "there is one implementation, the precise one", TEXT},
    {"input_format", NULL, "tensors keep the layout of the model", TEXT},
    {"dynamic_batch_size", NULL, "any shape the model allows runs", TEXT},
    {"dynamic_image_size", NULL, "any shape the model allows runs", TEXT},
    {"dynamic_dims", NULL, "any shape the model allows runs", TEXT},
};
enum { N_KNOWN = sizeof known / sizeof *known };

static const known_option *find_known(const char *name) {
    for (size_t i = 0; i < N_KNOWN; i++)
        if (strcmp(known[i].name, name) == 0) return &known[i];
    return NULL;
}

/* ---- checking ------------------------------------------------------------------------------ */

static int32_t refuse(asc_status *status, const char *const *parts) {
    status->code = ASC_E_ARGUMENT;
    status->text[0] = 0;
    for (; *parts; parts++) text_add(status->text, sizeof status->text, *parts);
    return status->code;
}

static int32_t refuse_value(asc_status *status, const char *name, const char *value, const char *reason) {
    const char *parts[] = {"value '", value, "' for provider option '", name, "' is invalid: ", reason, NULL};
    return refuse(status, parts);
}

static int32_t refuse_name(asc_status *status, const char *name) {
    const char *nearest = known[0].name;
    for (size_t i = 1; i < N_KNOWN; i++)
        if (text_distance(name, known[i].name) < text_distance(name, nearest)) nearest = known[i].name;
    const char *parts[] = {"unknown provider option '", name, "'; did you mean '", nearest, "'?", NULL};
    return refuse(status, parts);
}

static int is_choice(const char *choices, const char *value) {
    size_t length = strlen(value);
    for (const char *at = choices; at; at = strchr(at, '|')) {
        at += *at == '|';
        if (length && strncmp(at, value, length) == 0 && (at[length] == '|' || !at[length])) return 1;
    }
    return 0;
}

static int is_flag(const char *value) {
    return is_choice("0|1|true|false|True|False", value);
}

int32_t asc_ep_check_option(const char *name, const char *value, asc_status *status) {
    const known_option *option = find_known(name);
    int64_t number;
    uint64_t size;
    if (!option) return refuse_name(status, name);
    switch (option->kind) {
        case NUMBER:
            if (!text_to_int(value, &number) || number < 0 || number > INT32_MAX)
                return refuse_value(status, name, value, "a whole number, 0 or more, is expected");
            if (strcmp(name, "device_id") == 0 && number != 0)
                return refuse_value(status, name, value, "there is one simulated device, 0");
            return ASC_OK;
        case SIZE:
            return text_to_size(value, &size) ? ASC_OK
                                              : refuse_value(status, name, value, "a number of bytes is expected");
        case FLAG: return is_flag(value) ? ASC_OK : refuse_value(status, name, value, "1 or 0 is expected");
        case CHOICE:
            return is_choice(option->choices, value) ? ASC_OK : refuse_value(status, name, value, option->choices);
        default: return ASC_OK;
    }
}

/* ---- reading ------------------------------------------------------------------------------- */

/* Once per process and option, so that a server creating sessions isn't flooded. */
static void say_no_effect(const known_option *option, const ort_logger *logger) {
    static _Atomic uint32_t said;
    uint32_t bit = 1u << (option - known);
    if (atomic_fetch_or(&said, bit) & bit) return;
    char text[256] = ASC_EP_NAME ": provider option '";
    text_add(text, sizeof text, option->name);
    text_add(text, sizeof text, "' has no effect: ");
    text_add(text, sizeof text, option->no_effect);
    ort_status *status = ort_log(logger, ORT_LOG_WARNING, text, "options.c", 0, "options");
    if (status) ort_release_status(status);
}

static ort_status *add_option(ep_options *options, const char *name, const char *value, const ort_logger *logger) {
    asc_status refused = {.node = -1};
    if (asc_ep_check_option(name, value, &refused) != ASC_OK) return fail_status(&refused, NULL);
    const known_option *option = find_known(name);
    if (option->no_effect) say_no_effect(option, logger);
    ep_option *items = realloc(options->items, (options->n + 1) * sizeof *items);
    if (!items) return fail_memory();
    options->items = items;
    ep_option *item = &items[options->n++];
    item->name = text_copy(name);
    item->value = text_copy(value);
    return item->name && item->value ? NULL : fail_memory();
}

static ort_status *read_pairs(ep_options *options, const ort_pairs *pairs, const ort_logger *logger) {
    const char *const *keys, *const *values;
    size_t n, prefix = strlen(ASC_EP_OPTION_PREFIX);
    ort_get_pairs(pairs, &keys, &values, &n);
    for (size_t i = 0; i < n; i++) {
        if (strncmp(keys[i], ASC_EP_OPTION_PREFIX, prefix) == 0) {
            TRY(add_option(options, keys[i] + prefix, values[i], logger));
        } else if (strcmp(keys[i], "ep.context_file_path") == 0 && *values[i]) {
            options->context_file = text_copy(values[i]);
            if (!options->context_file) return fail_memory();
        } else if (strcmp(keys[i], "ep.context_enable") == 0) {
            options->makes_context = strcmp(values[i], "1") == 0;
        } else if (strcmp(keys[i], "ep.context_embed_mode") == 0) {
            options->embeds = strcmp(values[i], "1") == 0;
        }
    }
    return NULL;
}

static int32_t threads_of(const ep_options *options, const char *name) {
    const char *text = options_find(options, name);
    int64_t number = 0;
    return text && text_to_int(text, &number) ? (int32_t)number : 0;
}

/* Partitions run on the session's own threads, unless a number is named that these may not reach. */
static void read_threads(ep_options *options) {
    int32_t named = threads_of(options, "num_threads"), session = threads_of(options, "session_threads");
    const char *environment = getenv("ASCEND_EP_THREADS");
    if (!named && (!environment || !*environment)) {
        options->num_threads = session;
        options->on_session_threads = 1;
        return;
    }
    options->num_threads = named;
    options->on_session_threads = (named ? named : asc_threads_default()) <= session;
}

ort_status *options_read(ep_options *options, const ort_session_options *session, const ort_logger *logger) {
    ort_pairs *pairs = NULL;
    TRY(ort_session_config(session, &pairs));
    ort_status *status = read_pairs(options, pairs, logger);
    ort_release_pairs(pairs);
    TRY(status);
    read_threads(options);
    const char *memory = options_find(options, "npu_mem_limit");
    if (memory) text_to_size(memory, &options->max_memory);
    return NULL;
}

const char *options_find(const ep_options *options, const char *name) {
    for (uint32_t i = 0; i < options->n; i++)
        if (strcmp(options->items[i].name, name) == 0) return options->items[i].value;
    return NULL;
}

void options_free(ep_options *options) {
    for (uint32_t i = 0; i < options->n; i++) {
        free(options->items[i].name);
        free(options->items[i].value);
    }
    free(options->items);
    free(options->context_file);
}
