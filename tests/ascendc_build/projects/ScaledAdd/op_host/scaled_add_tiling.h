#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(ScaledAddTilingData)
TILING_DATA_FIELD_DEF(uint64_t, length);
TILING_DATA_FIELD_DEF(uint64_t, perBlock);
TILING_DATA_FIELD_DEF(uint32_t, tile);
TILING_DATA_FIELD_DEF(float, alpha);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(ScaledAdd, ScaledAddTilingData)
}  // namespace optiling
