/* profile.h - traces of models that programs ask for: by aclprof's functions, or by acl.json. */
#ifndef ASC_ACL_PROFILE_H
#define ASC_ACL_PROFILE_H

#include "asc_trace.h"
#include "error.h"

/* Records all runs from now on, in a new PROF_ folder inside `output`. */
aclError asc_profile_begin(const char *output, const asc_trace_options *options);
/* Ends what asc_profile_begin began; without that nothing happens. */
aclError asc_profile_end(void);

#endif
