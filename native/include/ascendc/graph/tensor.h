/* Forwards to the tensors' descriptions. */
#pragma once
#pragma GCC system_header
#include "operator.h"
