/* Another place of tiling/template_argument.h. Our own implementation of public names. */
#pragma once
#include "../../../tiling/template_argument.h"
