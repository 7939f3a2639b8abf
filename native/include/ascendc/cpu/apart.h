/* Functions of the twin that are the same for all kernels: inline where only headers are used. A unit of kernels that
 * is compiled with ASC_CPU_APART has their declarations alone, and is linked with an object compiled with
 * ASC_CPU_RUNTIME, which has all of them (ascend_ep/opbuild/ascendc/apart.py). */
#pragma once

#if defined(ASC_CPU_APART)
#define ASC_RUNTIME
#elif defined(ASC_CPU_RUNTIME)
#define ASC_RUNTIME [[gnu::used]] inline
#else
#define ASC_RUNTIME inline
#endif
