/* Ascend C on a CPU: the subset of AscendC that ascend-op generates, executed element by element with the checks
 * of the device's rules: what is allocated, written, in range, aligned, queued and separated by barriers.
 *
 * Our own implementation of public names. Everything but Select, Compare and the casts to and from half works on
 * float, half, bfloat16_t and integers alike; half and bfloat16_t arithmetic rounds after each operation.
 */
#pragma once

#include "cpu/copy.h"
#include "cpu/core.h"
#include "cpu/library.h"
#include "cpu/queue.h"
#include "cpu/tensor.h"
#include "cpu/vector.h"
