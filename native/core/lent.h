#ifndef ASC_CORE_LENT_H
#define ASC_CORE_LENT_H

#include "job.h"

/* Runs a region on threads that the embedder lends to this thread; 0: it lends none. */
int asc_lent_run(asc_job *j);
/* Runs body(arg), and returns how many regions it opened on lent threads. When `regions` says that there will be
 * several, the threads come once and stay until body returns, which then may run on any of them. */
int32_t asc_lent_stay(int32_t threads, int32_t regions, void (*body)(void *arg), void *arg);

#endif
