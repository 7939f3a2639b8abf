/* Forwards to the tensors' descriptions. */
#pragma once
#include "operator.h"
