/* Forwards to infer_shape_context.h, which has InferDataTypeContext. */
#pragma once
#include "infer_shape_context.h"
