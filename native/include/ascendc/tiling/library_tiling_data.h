/* The tiling structures of the libraries as hosts see them. Our own implementation of public names. */
#pragma once
#pragma GCC system_header

#include <cstdint>

#include "../kernel_tiling/fields.h"
#include "../register/tilingdata_base.h"

namespace optiling {

#define ASC_LIBRARY_FIELD(type, name) TILING_DATA_FIELD_DEF(type, name);
#define ASC_LIBRARY_TILING(name, FIELDS) \
    BEGIN_TILING_DATA_DEF(name)          \
    FIELDS(ASC_LIBRARY_FIELD)            \
    END_TILING_DATA_DEF;
ASC_LIBRARY_TILING(TCubeTiling, ASC_CUBE_TILING_FIELDS)
ASC_LIBRARY_TILING(SoftMaxTiling, ASC_SOFTMAX_TILING_FIELDS)
ASC_LIBRARY_TILING(LogSoftMaxTiling, ASC_SOFTMAX_TILING_FIELDS)
ASC_LIBRARY_TILING(LayerNormTiling, ASC_LAYER_NORM_TILING_FIELDS)
ASC_LIBRARY_TILING(LayerNormGradTiling, ASC_LAYER_NORM_GRAD_TILING_FIELDS)
ASC_LIBRARY_TILING(LayerNormGradBetaTiling, ASC_LAYER_NORM_GRAD_BETA_TILING_FIELDS)
ASC_LIBRARY_TILING(RmsNormTiling, ASC_RMS_NORM_TILING_FIELDS)
ASC_LIBRARY_TILING(TopkTiling, ASC_TOPK_TILING_FIELDS)
ASC_LIBRARY_TILING(PadTiling, ASC_PAD_TILING_FIELDS)
ASC_LIBRARY_TILING(UnPadTiling, ASC_UNPAD_TILING_FIELDS)
#undef ASC_LIBRARY_TILING
#undef ASC_LIBRARY_FIELD

}  // namespace optiling
