/* profile.c - aclprof's functions: a trace of each kernel of each run, as `msprof` and `ascend-prof` read it. */
#include "profile.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl_prof.h"
#include "asc_trace.h"
#include "context.h"
#include "handle.h"

#define MOST_PATH 4095

static struct {
    pthread_mutex_t lock;
    bool prepared; /* between aclprofInit and aclprofFinalize */
    bool recording;
    uint64_t most_bytes;
    char folder[MOST_PATH + 1];
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* With the lock. */
static aclError begin(const char *output, const asc_trace_options *options) {
    asc_status status;
    if (state.recording) return asc_acl_fail(ACL_ERROR_PROF_ALREADY_RUN, "a trace is being recorded already");
    if (asc_trace_start_inside(output, options, &status) != ASC_OK)
        return asc_acl_fail(ACL_ERROR_PROFILING_FAILURE, "nothing is recorded: %s", status.text);
    state.recording = true;
    return ACL_SUCCESS;
}

static aclError end(void) {
    asc_status status;
    state.recording = false;
    if (asc_trace_stop(&status) == ASC_OK) return ACL_SUCCESS;
    return asc_acl_fail(ACL_ERROR_PROFILING_FAILURE, "the trace is not whole: %s", status.text);
}

aclError asc_profile_begin(const char *output, const asc_trace_options *options) {
    pthread_mutex_lock(&state.lock);
    aclError code = begin(output, options);
    pthread_mutex_unlock(&state.lock);
    return code;
}

aclError asc_profile_end(void) {
    pthread_mutex_lock(&state.lock);
    aclError code = state.recording ? end() : ACL_SUCCESS;
    pthread_mutex_unlock(&state.lock);
    return code;
}

aclError aclprofInit(const char *profilerResultPath, size_t length) {
    ASC_ENTER();
    ASC_NEED(profilerResultPath);
    if (!length || length > MOST_PATH || strnlen(profilerResultPath, length + 1) != length)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "length is %zu; it is that of profilerResultPath, 1 to %d", length,
                            MOST_PATH);
    aclError code = ACL_SUCCESS;
    pthread_mutex_lock(&state.lock);
    if (state.prepared) {
        code = asc_acl_fail(ACL_ERROR_REPEAT_INITIALIZE, "aclprofInit was called before");
    } else {
        state.prepared = true;
        memcpy(state.folder, profilerResultPath, length + 1);
    }
    pthread_mutex_unlock(&state.lock);
    return code;
}

aclError aclprofFinalize(void) {
    ASC_ENTER();
    pthread_mutex_lock(&state.lock);
    bool was = state.prepared;
    state.prepared = false;
    state.most_bytes = 0;
    aclError code = was && state.recording ? end() : ACL_SUCCESS;
    pthread_mutex_unlock(&state.lock);
    return was ? code : asc_acl_fail(ACL_ERROR_PROF_NOT_RUN, "aclprofInit was not called");
}

aclError aclprofSetConfig(aclprofConfigType configType, const char *config, size_t configLength) {
    ASC_ENTER();
    char *rest;
    ASC_NEED(config);
    if (configLength > 256 || strnlen(config, configLength + 1) != configLength)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "configLength is %zu; it is that of config, at most 256",
                            configLength);
    if (configType <= ACL_PROF_ARGS_MIN || configType >= ACL_PROF_ARGS_MAX)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "configType is %d, no aclprofConfigType", (int)configType);
    if (configType != ACL_PROF_STORAGE_LIMIT)
        return asc_acl_fail(ACL_ERROR_FEATURE_UNSUPPORTED,
                            "not supported: configType %d measures what only a chip has; there is %d, the trace's size",
                            (int)configType, (int)ACL_PROF_STORAGE_LIMIT);
    unsigned long long mebibytes = strtoull(config, &rest, 10);
    if (!mebibytes || mebibytes > UINT32_MAX || strcmp(rest, "MB") != 0)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "config is [%s]; a size is written as 200MB", config);
    pthread_mutex_lock(&state.lock);
    state.most_bytes = mebibytes << 20;
    pthread_mutex_unlock(&state.lock);
    return ACL_SUCCESS;
}

/* Devices and kinds of data are checked; every kind is in the trace. */
aclprofConfig *aclprofCreateConfig(uint32_t *deviceIdList, uint32_t deviceNums, aclprofAicoreMetrics aicoreMetrics,
                                   const aclprofAicoreEvents *aicoreEvents, uint64_t dataTypeConfig) {
    ASC_ENTER();
    (void)aicoreMetrics, (void)aicoreEvents;
    if (deviceNums && !deviceIdList) {
        asc_acl_fail(ACL_ERROR_INVALID_PARAM, "deviceIdList must not be NULL");
        return NULL;
    }
    for (uint32_t i = 0; i < deviceNums; i++)
        if (asc_device_check(deviceIdList[i]) != ACL_SUCCESS) return NULL;
    uint64_t *kept = malloc(sizeof *kept);
    void *handle = kept ? asc_handle_new(ASC_KIND_PROFILE, kept) : NULL;
    if (handle) {
        *kept = dataTypeConfig;
    } else {
        free(kept);
        asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    }
    return handle;
}

static aclError check(const aclprofConfig *config) {
    if (asc_handle_get(ASC_KIND_PROFILE, config)) return ACL_SUCCESS;
    return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_PROFILE, config, "profilerConfig");
}

aclError aclprofDestroyConfig(const aclprofConfig *profilerConfig) {
    ASC_ENTER();
    aclError code = check(profilerConfig);
    if (code == ACL_SUCCESS) free(asc_handle_take(ASC_KIND_PROFILE, profilerConfig));
    return code;
}

aclError aclprofStart(const aclprofConfig *profilerConfig) {
    ASC_ENTER();
    aclError code = check(profilerConfig);
    if (code != ACL_SUCCESS) return code;
    pthread_mutex_lock(&state.lock);
    asc_trace_options options = {.struct_bytes = sizeof options, .max_bytes = state.most_bytes};
    code = state.prepared ? begin(state.folder, &options)
                          : asc_acl_fail(ACL_ERROR_PROF_NOT_RUN, "aclprofInit was not called");
    pthread_mutex_unlock(&state.lock);
    return code;
}

aclError aclprofStop(const aclprofConfig *profilerConfig) {
    ASC_ENTER();
    aclError code = check(profilerConfig);
    if (code != ACL_SUCCESS) return code;
    pthread_mutex_lock(&state.lock);
    code = state.recording ? end() : asc_acl_fail(ACL_ERROR_PROF_NOT_RUN, "aclprofStart was not called");
    pthread_mutex_unlock(&state.lock);
    return code;
}
