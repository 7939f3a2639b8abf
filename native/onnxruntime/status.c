#include "plugin.h"

/* Every text the plugin hands to onnxruntime starts with the provider's name, so that a user who
 * reads it inside onnxruntime's own message knows who speaks. */

ort_status *fail(int32_t ort_code, const char *text, const char *detail) {
    char message[1024] = ASC_EP_NAME ": ";
    text_add(message, sizeof message, text);
    if (detail) text_add(message, sizeof message, detail);
    return ort_create_status(ort_code, message);
}

ort_status *fail_memory(void) {
    return fail(ORT_FAIL, "out of memory", NULL);
}

static int32_t ort_code_of(int32_t code) {
    switch (code) {
        case ASC_E_ARGUMENT:
        case ASC_E_SHAPE:
        case ASC_E_RUN: return ORT_INVALID_ARGUMENT;
        case ASC_E_IO: return ORT_NO_SUCH_FILE;
        default: return ORT_FAIL;
    }
}

static ort_status *fail_coded(int32_t ort_code, const asc_status *status, const char *where) {
    char message[1024] = "";
    int coded = status->text[0] == 'E' && status->text[1] >= '0' && status->text[1] <= '9';
    if (!coded) {
        text_add(message, sizeof message, status->code < 10 ? "E4000" : "E400");
        text_add_number(message, sizeof message, status->code);
        text_add(message, sizeof message, " ");
    }
    if (where && *where) {
        text_add(message, sizeof message, where);
        text_add(message, sizeof message, ": ");
    }
    if (status->node_name[0]) {
        text_add(message, sizeof message, "node '");
        text_add(message, sizeof message, status->node_name);
        text_add(message, sizeof message, "': ");
    }
    text_add(message, sizeof message, status->text);
    return fail(ort_code, message, NULL);
}

ort_status *fail_status(const asc_status *status, const char *where) {
    return fail_coded(ort_code_of(status->code), status, where);
}

ort_status *fail_provider(const asc_status *status) {
    return fail_coded(ORT_EP_FAIL, status, NULL);
}
