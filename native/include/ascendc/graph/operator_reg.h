/* Forwards to the registration of operators. */
#pragma once
#include "../register/op_def_registry.h"
