/* What nodes and compile callbacks ask of the session: its options, its log, and opening bundles for it. */
#include "plugin.h"

const char *asc_ep_option(const asc_ep *ep, const char *name) {
    return options_find(&ep->options, name);
}

uint32_t asc_ep_option_count(const asc_ep *ep) {
    return ep->options.n;
}

const char *asc_ep_option_name(const asc_ep *ep, uint32_t index) {
    return index < ep->options.n ? ep->options.items[index].name : NULL;
}

int32_t asc_ep_makes_context(const asc_ep *ep) {
    return ep->options.makes_context;
}

void asc_ep_log(const asc_ep *ep, int32_t level, const char *text) {
    static const int32_t levels[] = {ORT_LOG_VERBOSE, ORT_LOG_INFO, ORT_LOG_WARNING, ORT_LOG_ERROR};
    int32_t ort_level = levels[level < 0 ? 0 : level > 3 ? 3 : level], least = ORT_LOG_WARNING;
    ort_status *status = ort_log_level(ep->logger, &least);
    if (!status && ort_level >= least) status = ort_log(ep->logger, ort_level, text, "ascend_ep", 0, ASC_EP_NAME);
    if (status) ort_release_status(status);
}

static void log_model(void *user, int32_t level, const char *text) {
    asc_ep_log(user, level, text);
}

asc_options ep_open_options(const asc_ep *ep) {
    asc_options options = {.struct_bytes = sizeof options};
    options.num_threads = ep->options.num_threads;
    options.max_memory = ep->options.max_memory;
    options.trust = options_find(&ep->options, "trust");
    options.log = log_model;
    options.log_user = (void *)(uintptr_t)ep; /* models live in this session's nodes, which go before it */
    return options;
}

int32_t asc_ep_open(const asc_ep *ep, asc_image *image, asc_model **out, asc_status *status) {
    asc_options options = ep_open_options(ep);
    options.trust = "all"; /* its code is what this session's own options and definitions named */
    return asc_image_open(image, &options, out, status);
}
