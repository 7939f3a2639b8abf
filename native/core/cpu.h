#ifndef ASC_CORE_CPU_H
#define ASC_CORE_CPU_H

/* Whether this CPU has the SHA instructions; ISA levels are ascend_rt.h's asc_isa_supported. */
int asc_cpu_has_sha_ni(void);

#endif
