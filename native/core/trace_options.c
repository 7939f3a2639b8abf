/* What PROFILING_OPTIONS and the profiler of acl.json may ask for, by the keys of CANN. */
#include <stdlib.h>
#include <string.h>

#include "trace.h"

static int is_one_of(const char *text, const char *const *words) {
    for (; *words; words++)
        if (strcmp(text, *words) == 0) return 1;
    return 0;
}

/* What a trace always has. */
static const char *const always[] = {
    "trace",       "task", "training_trace", "task_trace",      "task_time",  "acl", "ascendcl",
    "runtime_api", "hccl", "task_tsfw",      "model_execution", "task_block", NULL};
static const char *const off[] = {"", "0", "off", "false", NULL};

int32_t asc_trace_option(asc_trace_options *options, const char *key, const char *value) {
    if (is_one_of(key, always)) return !*value || !is_one_of(value, off);
    if (strcmp(key, "storage_limit") != 0) return is_one_of(value, off) && *value;
    char *rest;
    unsigned long long mebibytes = strtoull(value, &rest, 10);
    if (!mebibytes || mebibytes > UINT32_MAX || *value == '-' || (*rest && strcmp(rest, "MB") != 0)) return 0;
    options->max_bytes = (uint64_t)mebibytes << 20;
    return 1;
}
