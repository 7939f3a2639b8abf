/* dump.h - dumps of what operators read and write: asked for by acl.json or aclmdlSetDump, made while models run. */
#ifndef ASC_ACL_DUMP_H
#define ASC_ACL_DUMP_H

#include "dump_settings.h"
#include "model.h"

/* ---- what is asked for (dump_state.c) ---- */

typedef enum asc_dump_phase {
    ASC_DUMP_OFF,
    ASC_DUMP_BY_INIT,  /* until aclFinalize, as the acl.json of aclInit asked */
    ASC_DUMP_BY_CALLS, /* from aclmdlInitDump to aclmdlFinalizeDump */
    ASC_DUMP_ANY,
} asc_dump_phase;

/* From one phase to another, with its settings (NULL: none), which it takes over. Returns the phase before; when that
 * was not `from`, nothing changed. */
asc_dump_phase asc_dump_move(asc_dump_phase from, asc_dump_phase to, asc_dump_settings *settings);
/* A reference to the settings in force, or NULL. */
asc_dump_settings *asc_dump_settings_now(void);

/* ---- of a model (dump.c) ---- */

typedef struct asc_dump asc_dump;

/* What is to be dumped of a model that is being loaded, by the settings in force; NULL: nothing. `single`: a bundle
 * of a single operator. */
asc_dump *asc_dump_new(const asc_om *om, bool single);
void asc_dump_free(asc_dump *dump);

/* One execution, by this thread, on a device: between the two, calls are written. */
typedef struct asc_dump_run asc_dump_run;
asc_dump_run *asc_dump_run_begin(asc_dump *dump, const asc_om *om, int32_t device);
void asc_dump_run_end(asc_dump_run *run);

#endif
