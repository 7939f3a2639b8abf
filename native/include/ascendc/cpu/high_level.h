/* The library's functions of whole tensors. Each is one instruction of the vector pipe here, computed in float64 (of
 * integers in their own type) and rounded once; what it takes of a scratch buffer it overwrites. */
#pragma once

#include "high_level/activation.h"
#include "high_level/confusion_transpose.h"
#include "high_level/dropout.h"
#include "high_level/group_norm.h"
#include "high_level/layer_norm_grad.h"
#include "high_level/logic.h"
#include "high_level/normalize.h"
#include "high_level/powers.h"
#include "high_level/quantize.h"
#include "high_level/shapes.h"
#include "high_level/softmax.h"
#include "high_level/sums.h"
#include "high_level/topk.h"
#include "high_level/welford.h"
