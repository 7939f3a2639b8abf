/* dump_state.c - when dumps are in force: from aclInit to aclFinalize, or between aclmdlSetDump and
 * aclmdlFinalizeDump. Models are dumped as the settings said when they were loaded. */
#include <pthread.h>
#include <stdlib.h>

#include "acl/acl_mdl.h"
#include "config.h"
#include "dump.h"
#include "init.h"

static struct {
    pthread_mutex_t lock;
    bool by_init, begun; /* acl.json of aclInit asked for one; aclmdlInitDump was called */
    asc_dump_settings *settings;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Takes the settings over. */
static void put(asc_dump_settings *settings) {
    asc_dump_settings_release(state.settings);
    state.settings = settings;
}

void asc_dump_begin_with(asc_dump_settings *settings) {
    pthread_mutex_lock(&state.lock);
    state.by_init = settings != NULL;
    put(settings);
    pthread_mutex_unlock(&state.lock);
}

void asc_dump_end(void) {
    pthread_mutex_lock(&state.lock);
    state.by_init = state.begun = false;
    put(NULL);
    pthread_mutex_unlock(&state.lock);
}

asc_dump_settings *asc_dump_settings_now(void) {
    pthread_mutex_lock(&state.lock);
    asc_dump_settings *now = state.settings ? asc_dump_settings_retain(state.settings) : NULL;
    pthread_mutex_unlock(&state.lock);
    return now;
}

aclError aclmdlInitDump(void) {
    ASC_ENTER();
    aclError code = asc_need_init();
    if (code != ACL_SUCCESS) return code;
    pthread_mutex_lock(&state.lock);
    bool by_init = state.by_init, was = state.begun;
    if (!by_init) state.begun = true;
    pthread_mutex_unlock(&state.lock);
    if (by_init) return asc_acl_fail(ACL_ERROR_DUMP_ALREADY_RUN, "the acl.json of aclInit asked for a dump already");
    return was ? asc_acl_fail(ACL_ERROR_DUMP_ALREADY_RUN, "aclmdlInitDump was called before; call aclmdlFinalizeDump")
               : ACL_SUCCESS;
}

static aclError not_run(void) {
    return asc_acl_fail(ACL_ERROR_DUMP_NOT_RUN, "aclmdlInitDump was not called");
}

aclError aclmdlSetDump(const char *dumpCfgPath) {
    ASC_ENTER();
    ASC_NEED(dumpCfgPath);
    aclError code = asc_need_init();
    if (code != ACL_SUCCESS) return code;
    pthread_mutex_lock(&state.lock);
    bool begun = state.begun;
    pthread_mutex_unlock(&state.lock);
    if (!begun) return not_run();
    char *text = NULL;
    asc_dump_settings *settings = NULL;
    code = asc_config_read(dumpCfgPath, &text);
    if (code == ACL_SUCCESS) code = asc_dump_settings_read(text, dumpCfgPath, &settings);
    free(text);
    if (code != ACL_SUCCESS) return code;
    pthread_mutex_lock(&state.lock);
    put(settings);
    pthread_mutex_unlock(&state.lock);
    return ACL_SUCCESS;
}

aclError aclmdlFinalizeDump(void) {
    ASC_ENTER();
    aclError code = asc_need_init();
    if (code != ACL_SUCCESS) return code;
    pthread_mutex_lock(&state.lock);
    bool was = state.begun;
    if (was) {
        state.begun = false;
        put(NULL);
    }
    pthread_mutex_unlock(&state.lock);
    return was ? ACL_SUCCESS : not_run();
}
