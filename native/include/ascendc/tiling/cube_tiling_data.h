/* The matrix product's tiling structure as hosts see it. Our own implementation of public names. */
#pragma once

#include <cstdint>

#include "../kernel_tiling/fields.h"
#include "../register/tilingdata_base.h"

namespace optiling {

#define ASC_TILING_FIELD(type, name) TILING_DATA_FIELD_DEF(type, name);
BEGIN_TILING_DATA_DEF(TCubeTiling)
ASC_CUBE_TILING_FIELDS(ASC_TILING_FIELD)
END_TILING_DATA_DEF;
#undef ASC_TILING_FIELD

}  // namespace optiling
