#ifndef ASC_CORE_POOL_H
#define ASC_CORE_POOL_H

#include "kernel.h"

#define ASC_MAX_THREADS 256

/* The process-wide pool; started on first use, never torn down, restarted in a forked child. */
asc_pool *asc_pool_shared(void);

#endif
