/* dump_settings.h - the section "dump" of acl.json: which values of which operators are written where. */
#ifndef ASC_ACL_DUMP_SETTINGS_H
#define ASC_ACL_DUMP_SETTINGS_H

#include <stdatomic.h>

#include "error.h"

typedef struct asc_dump_settings {
    atomic_uint uses;
    char *folder; /* dump_path as a whole path; of failures: where the program runs, or $ASCEND_WORK_PATH */
    char time[16];
    bool inputs, outputs;
    bool stats;      /* dump_data: numbers about tensors instead of tensors */
    bool operators;  /* dump_op_switch: single operators */
    bool exceptions; /* dump_scene: the operator that failed, and nothing else */
    char *list;      /* dump_list: a JSON array */
    char *steps;     /* dump_step; NULL: every execution */
} asc_dump_settings;

/* Reads the text of acl.json; `path` is named in warnings about what has no effect. *made is NULL where the text asks
 * for no dump. Fails with ACL_ERROR_INVALID_DUMP_CONFIG. */
aclError asc_dump_settings_read(const char *text, const char *path, asc_dump_settings **made);
asc_dump_settings *asc_dump_settings_retain(asc_dump_settings *settings);
/* NULL is allowed. */
void asc_dump_settings_release(asc_dump_settings *settings);

/* Whether execution `step`, from 0, is one of dump_step's. */
bool asc_dump_settings_step(const asc_dump_settings *settings, uint64_t step);

/* Which layers of a model are wanted, by the model's file or its own name. `layers` is the JSON array of their names;
 * NULL: all. Returns the name under which the model was found; NULL: it is not to be dumped. */
const char *asc_dump_settings_model(const asc_dump_settings *settings, const char *file, const char *own,
                                    const char **layers);

#endif
