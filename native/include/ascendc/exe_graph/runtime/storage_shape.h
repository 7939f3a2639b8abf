/* Forwards to shape.h, which has StorageShape. */
#pragma once
#pragma GCC system_header
#include "shape.h"
