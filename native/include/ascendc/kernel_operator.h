/* Ascend C on a CPU: AscendC's public names, executed with the checks of the device's rules: what is allocated,
 * written, in range, aligned, queued, and which pipe has waited for which.
 *
 * Our own implementation. half and bfloat16_t arithmetic is done in float and rounds after each instruction.
 *
 * Errors of float, in units in the last place, which proof/arithmetic.py takes for its bounds: Add, Sub, Mul, Div, Sqrt
 * and casts 1/2; Exp and Ln less than 1; the functions of library.h hardly more than 1/2. ReduceSum adds halves to
 * halves; other sums are in the order of the instructions. Max, Min, ReduceMax and ReduceMin give NaN where there is
 * one. Casts to integers saturate, NaN becoming 0. Real chips may be less exact: these numbers are this header's.
 *
 * Blocks run one at a time, each until it ends or waits for another. Within a block each pipe has a queue of its own
 * (cpu/core.h), so that what does not wait for another pipe reads what was there before. Of every four bytes of global
 * memory that a kernel writes it is known which block wrote them and when.
 *
 * ASCENDC_CPU_NO_CHECK: values only, at once.
 */
#pragma once

/* The simulated device is one where a unit is compiled once for each kind of core. */
#ifdef ASC_CORES_JOINED
#pragma GCC visibility push(default)
#endif

#include "cpu/control.h"
#include "cpu/copy.h"
#include "cpu/copy_slices.h"
#include "cpu/cross_core.h"
#include "cpu/cube.h"
#include "cpu/cube_intrinsics.h"
#include "cpu/debug.h"
#include "cpu/gather.h"
#include "cpu/group_barrier.h"
#include "cpu/hccl.h"
#include "cpu/high_level.h"
#include "cpu/intrinsics.h"
#include "cpu/kernel.h"
#include "cpu/layout.h"
#include "cpu/library.h"
#include "cpu/registers/compute.h"
#include "cpu/scalar.h"
#include "cpu/simt/math.h"
#include "cpu/simt/vectors.h"
#include "cpu/simt/warp.h"
#include "cpu/sizes.h"
#include "cpu/sort.h"
#include "cpu/type_choice.h"
#include "cpu/vector_binary.h"
#include "cpu/workspace.h"

#ifdef ASC_CORES_JOINED
#pragma GCC visibility pop
#endif

#ifdef __CCE_KT_TEST__
#include <iostream> /* kernels print so in the CPU mode */
#endif

/* The name of 2023. */
namespace tik2 {
using namespace AscendC;
}
