/* init.c - aclInit and aclFinalize, counted; versions. */
#include "init.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"
#include "ascend_rt.h"
#include "config.h"
#include "context.h"
#include "dump.h"
#include "handle.h"
#include "memory.h"
#include "model.h"
#include "profile.h"

typedef struct registered {
    aclRegisterCallbackType type;
    aclInitCallbackFunc begin;
    aclFinalizeCallbackFunc end;
    void *data;
} registered;

static struct {
    pthread_mutex_t lock;
    uint32_t count;
    bool ended; /* once */
    registered callbacks[64];
    uint32_t n_callbacks;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

uint32_t asc_init_count(void) {
    pthread_mutex_lock(&state.lock);
    uint32_t count = state.count;
    pthread_mutex_unlock(&state.lock);
    return count;
}

aclError asc_need_init(void) {
    if (asc_init_count()) return ACL_SUCCESS;
    return asc_acl_fail(ACL_ERROR_UNINITIALIZE, "aclInit was not called");
}

/* Calls what was registered, without the lock. */
static void call_back(bool begin, const char *config) {
    registered copy[64];
    pthread_mutex_lock(&state.lock);
    uint32_t n = state.n_callbacks;
    memcpy(copy, state.callbacks, n * sizeof *copy);
    pthread_mutex_unlock(&state.lock);
    for (uint32_t i = 0; i < n; i++) {
        if (begin && copy[i].begin) copy[i].begin(config, config ? strlen(config) : 0, copy[i].data);
        if (!begin && copy[i].end) copy[i].end(copy[i].data);
    }
}

aclError aclInit(const char *configPath) {
    ASC_ENTER();
    char *config = NULL;
    asc_dump_settings *dump = NULL;
    if (configPath && *configPath) {
        aclError code = asc_config_read(configPath, &config);
        if (code == ACL_SUCCESS && !asc_init_count()) code = asc_dump_settings_read(config, configPath, &dump);
        if (code != ACL_SUCCESS) {
            free(config);
            return code;
        }
    }
    pthread_mutex_lock(&state.lock);
    bool again = state.count++ > 0;
    pthread_mutex_unlock(&state.lock);
    if (again)
        asc_dump_settings_release(dump);
    else {
        if (dump) asc_dump_move(ASC_DUMP_OFF, ASC_DUMP_BY_INIT, dump);
        asc_config_apply(config, configPath);
        call_back(true, config);
    }
    free(config);
    if (!again) return ACL_SUCCESS;
    return asc_acl_fail(ACL_ERROR_REPEAT_INITIALIZE,
                        "aclInit was called before; this call counts, and needs an aclFinalize too");
}

static aclError finalize(uint64_t *left) {
    pthread_mutex_lock(&state.lock);
    bool was = state.count > 0;
    if (was) state.count--;
    if (left) *left = state.count;
    bool last = was && state.count == 0;
    bool before = state.ended;
    if (last) state.ended = true;
    pthread_mutex_unlock(&state.lock);
    if (!was && before) return asc_acl_fail(ACL_ERROR_REPEAT_FINALIZE, "aclFinalize was called before");
    if (!was) return asc_acl_fail(ACL_ERROR_UNINITIALIZE, "aclInit was not called");
    if (!last) return ACL_SUCCESS;
    call_back(false, NULL);
    asc_profile_end();
    asc_om_unload_all();
    asc_dump_move(ASC_DUMP_ANY, ASC_DUMP_OFF, NULL);
    asc_devices_close();
    asc_handle_report_left();
    asc_memory_report_left();
    return ACL_SUCCESS;
}

aclError aclFinalize(void) {
    ASC_ENTER();
    return finalize(NULL);
}

aclError aclFinalizeReference(uint64_t *refCount) {
    ASC_ENTER();
    ASC_NEED(refCount);
    return finalize(refCount);
}

/* ---- callbacks ------------------------------------------------------------------------------------- */

static aclError add(registered one) {
    pthread_mutex_lock(&state.lock);
    bool room = state.n_callbacks < sizeof state.callbacks / sizeof *state.callbacks;
    if (room) state.callbacks[state.n_callbacks++] = one;
    pthread_mutex_unlock(&state.lock);
    return room ? ACL_SUCCESS
                : asc_acl_fail(ACL_ERROR_STORAGE_OVER_LIMIT, "no more than 64 callbacks can be registered");
}

static aclError drop(registered one) {
    pthread_mutex_lock(&state.lock);
    uint32_t i = 0;
    while (i < state.n_callbacks && (state.callbacks[i].type != one.type || state.callbacks[i].begin != one.begin ||
                                     state.callbacks[i].end != one.end))
        i++;
    bool found = i < state.n_callbacks;
    if (found) {
        memmove(&state.callbacks[i], &state.callbacks[i + 1], (state.n_callbacks - i - 1) * sizeof *state.callbacks);
        state.n_callbacks--;
    }
    pthread_mutex_unlock(&state.lock);
    return found ? ACL_SUCCESS : asc_acl_fail(ACL_ERROR_INVALID_PARAM, "cbFunc was not registered for this type");
}

aclError aclInitCallbackRegister(aclRegisterCallbackType type, aclInitCallbackFunc cbFunc, void *userData) {
    ASC_ENTER();
    ASC_NEED(cbFunc);
    return add((registered){.type = type, .begin = cbFunc, .data = userData});
}

aclError aclInitCallbackUnRegister(aclRegisterCallbackType type, aclInitCallbackFunc cbFunc) {
    ASC_ENTER();
    ASC_NEED(cbFunc);
    return drop((registered){.type = type, .begin = cbFunc});
}

aclError aclFinalizeCallbackRegister(aclRegisterCallbackType type, aclFinalizeCallbackFunc cbFunc, void *userData) {
    ASC_ENTER();
    ASC_NEED(cbFunc);
    return add((registered){.type = type, .end = cbFunc, .data = userData});
}

aclError aclFinalizeCallbackUnRegister(aclRegisterCallbackType type, aclFinalizeCallbackFunc cbFunc) {
    ASC_ENTER();
    ASC_NEED(cbFunc);
    return drop((registered){.type = type, .end = cbFunc});
}

/* ---- versions ------------------------------------------------------------------------------------------ */

/* The version of CANN whose interface this is. */
#define VERSION "8.5.0"

aclError aclrtGetVersion(int32_t *majorVersion, int32_t *minorVersion, int32_t *patchVersion) {
    ASC_ENTER();
    ASC_NEED(majorVersion);
    ASC_NEED(minorVersion);
    ASC_NEED(patchVersion);
    *majorVersion = ACL_MAJOR_VERSION;
    *minorVersion = ACL_MINOR_VERSION;
    *patchVersion = ACL_PATCH_VERSION;
    return ACL_SUCCESS;
}

aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion *version) {
    ASC_ENTER();
    ASC_NEED(version);
    if (name < ACL_PKG_NAME_CANN || name > ACL_PKG_NAME_DRIVER)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "name is %d, no aclCANNPackageName", (int)name);
    *version =
        (aclCANNPackageVersion){.version = VERSION, .majorVersion = "8", .minorVersion = "5", .releaseVersion = "0"};
    return ACL_SUCCESS;
}

aclError aclsysGetVersionStr(char *pkgName, char *versionStr) {
    ASC_ENTER();
    ASC_NEED(pkgName);
    ASC_NEED(versionStr);
    snprintf(versionStr, ACL_PKG_VERSION_MAX_SIZE, "%s", VERSION);
    return ACL_SUCCESS;
}

aclError aclsysGetVersionNum(char *pkgName, int32_t *versionNum) {
    ASC_ENTER();
    ASC_NEED(pkgName);
    ASC_NEED(versionNum);
    *versionNum = 8 * 10000000 + 5 * 100000;
    return ACL_SUCCESS;
}
