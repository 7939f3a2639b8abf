/* dump_state.c - when dumps are in force: from aclInit to aclFinalize, or between aclmdlSetDump and
 * aclmdlFinalizeDump. Models are dumped as the settings said when they were loaded. */
#include <pthread.h>

#include "dump.h"

static struct {
    pthread_mutex_t lock;
    asc_dump_phase phase;
    asc_dump_settings *settings;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

asc_dump_phase asc_dump_move(asc_dump_phase from, asc_dump_phase to, asc_dump_settings *settings) {
    pthread_mutex_lock(&state.lock);
    asc_dump_phase was = state.phase;
    asc_dump_settings *old = settings;
    if (was == from || from == ASC_DUMP_ANY) {
        old = state.settings;
        state.phase = to;
        state.settings = settings;
    }
    pthread_mutex_unlock(&state.lock);
    asc_dump_settings_release(old);
    return was;
}

asc_dump_settings *asc_dump_settings_now(void) {
    pthread_mutex_lock(&state.lock);
    asc_dump_settings *now = state.settings ? asc_dump_settings_retain(state.settings) : NULL;
    pthread_mutex_unlock(&state.lock);
    return now;
}
