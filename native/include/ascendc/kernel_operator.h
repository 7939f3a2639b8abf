/* Ascend C on a CPU: the subset of AscendC that ascend-op generates, executed element by element with the checks
 * of the device's rules: what is allocated, written, in range, aligned, queued and separated by barriers.
 *
 * Our own implementation of public names. Everything but Select, Compare and the casts to and from half works on
 * float, half, bfloat16_t and integers alike; half and bfloat16_t arithmetic rounds after each operation.
 *
 * Errors of float, in units in the last place, which proof/arithmetic.py takes for its bounds: Add, Sub, Mul, Div, Sqrt
 * and casts 1/2; Exp and Ln less than 1; the functions of library.h hardly more than 1/2. ReduceSum adds halves to
 * halves; other sums are in the order of the instructions. Max, Min, ReduceMax and ReduceMin give NaN where there is
 * one. Casts to integers saturate, NaN becoming 0. Real chips may be less exact: these numbers are this header's.
 *
 * Blocks run one at a time, each until it ends or waits in SyncAll. Of every four bytes of global memory that a kernel
 * writes it is known which block wrote them and when: reading what is not yet there is an error, and so is a result
 * left unwritten.
 */
#pragma once

#include "cpu/copy.h"
#include "cpu/core.h"
#include "cpu/library.h"
#include "cpu/queue.h"
#include "cpu/tensor.h"
#include "cpu/vector.h"
