/* Forwards to infer_shape_context.h, which has InferDataTypeContext. */
#pragma once
#pragma GCC system_header
#include "infer_shape_context.h"
