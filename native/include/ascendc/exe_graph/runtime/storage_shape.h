/* Forwards to shape.h, which has StorageShape. */
#pragma once
#include "shape.h"
