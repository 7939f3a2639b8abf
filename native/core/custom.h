/* custom.h - custom-operator libraries: trusting, loading and calling them. */
#ifndef ASC_CORE_CUSTOM_H
#define ASC_CORE_CUSTOM_H

#include "plan.h"

typedef struct asc_library {
    void *handle; /* NULL when it is not loaded; then `why` says the code and the reason */
    asc_status why;
} asc_library;

/* Checks the digest of each library of the plan and loads those that are trusted. A library that is
 * not loaded only fails the partitions that call it. */
int32_t asc_libraries_open(asc_library **out, const asc_plan *plan, const uint8_t *native_part,
                           const asc_options *options, asc_status *status);
void asc_libraries_close(asc_library *libraries, uint32_t count);

/* The operator of this type in an open library; checks its structure. */
int32_t asc_custom_op_find(void *handle, const char *library, const char *op_type, const asc_custom_op **out,
                           asc_status *status);

/* prepare and run of an instruction whose call->native is an asc_custom_op. */
int32_t asc_custom_prepare(asc_call *call);
int32_t asc_custom_run(const asc_call *call);

/* What an open library says of its loops: asc_op_schedule (ascend_rt.h), cut to the room; "" when it says nothing. */
void asc_custom_schedule(const asc_library *library, char *text, size_t room);

/* Whether this digest is trusted: by `option` ("sha256:<hex>[,...]", "all" or NULL), else by the
 * user's trust store. */
int asc_is_trusted(const uint8_t digest[32], const char *option);
/* Whether `option` is well-formed. */
int asc_trust_option_ok(const char *option);

#endif
