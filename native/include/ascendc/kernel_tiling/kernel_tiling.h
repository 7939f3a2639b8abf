/* The tiling structures of the libraries as kernels see them. Our own implementation of public names. */
#pragma once

#include <cstdint>

#include "fields.h"

namespace AscendC::tiling {

#define ASC_LIBRARY_FIELD(type, name) type name = 0;
struct TCubeTiling {
    ASC_CUBE_TILING_FIELDS(ASC_LIBRARY_FIELD)
};
struct SoftMaxTiling {
    ASC_SOFTMAX_TILING_FIELDS(ASC_LIBRARY_FIELD)
};
struct LayerNormTiling {
    ASC_LAYER_NORM_TILING_FIELDS(ASC_LIBRARY_FIELD)
};
struct LayerNormGradTiling {
    ASC_LAYER_NORM_GRAD_TILING_FIELDS(ASC_LIBRARY_FIELD)
};
struct LayerNormGradBetaTiling {
    ASC_LAYER_NORM_GRAD_BETA_TILING_FIELDS(ASC_LIBRARY_FIELD)
};
struct RmsNormTiling {
    ASC_RMS_NORM_TILING_FIELDS(ASC_LIBRARY_FIELD)
};
struct CopyTransposeTiling {
    ASC_COPY_TRANSPOSE_TILING_FIELDS(ASC_LIBRARY_FIELD)
};
struct TopkTiling {
    ASC_TOPK_TILING_FIELDS(ASC_LIBRARY_FIELD)
};
struct PadTiling {
    ASC_PAD_TILING_FIELDS(ASC_LIBRARY_FIELD)
};
struct UnPadTiling {
    ASC_UNPAD_TILING_FIELDS(ASC_LIBRARY_FIELD)
};
struct BatchNormTiling {
    ASC_BATCH_NORM_TILING_FIELDS(ASC_LIBRARY_FIELD)
};
struct GroupNormTiling {
    ASC_GROUP_NORM_TILING_FIELDS(ASC_LIBRARY_FIELD)
};
struct ConfusionTransposeTiling {
    ASC_CONFUSION_TRANSPOSE_TILING_FIELDS(ASC_LIBRARY_FIELD)
};
struct LayerNormSeparateTiling {
    ASC_LAYER_NORM_SEPARATE_TILING_FIELDS(ASC_LIBRARY_FIELD)
};
struct DeepNormTiling {
    ASC_LAYER_NORM_TILING_FIELDS(ASC_LIBRARY_FIELD)
};
/* What the host tells Hccl. */
struct Mc2InitTiling {
    uint8_t reserved[64] = {};
};
struct Mc2CcTiling {
    uint8_t reserved[280] = {};
};
#undef ASC_LIBRARY_FIELD
using LogSoftMaxTiling = SoftMaxTiling;

}  // namespace AscendC::tiling

namespace AscendC {
using tiling::BatchNormTiling;
using tiling::ConfusionTransposeTiling;
using tiling::CopyTransposeTiling;
using tiling::DeepNormTiling;
using tiling::GroupNormTiling;
using tiling::LayerNormGradBetaTiling;
using tiling::LayerNormGradTiling;
using tiling::LayerNormSeparateTiling;
using tiling::LayerNormTiling;
using tiling::LogSoftMaxTiling;
using tiling::Mc2CcTiling;
using tiling::Mc2InitTiling;
using tiling::PadTiling;
using tiling::RmsNormTiling;
using tiling::SoftMaxTiling;
using tiling::TCubeTiling;
using tiling::TopkTiling;
using tiling::UnPadTiling;
}  // namespace AscendC

using AscendC::tiling::BatchNormTiling;
using AscendC::tiling::ConfusionTransposeTiling;
using AscendC::tiling::CopyTransposeTiling;
using AscendC::tiling::DeepNormTiling;
using AscendC::tiling::GroupNormTiling;
using AscendC::tiling::LayerNormGradBetaTiling;
using AscendC::tiling::LayerNormGradTiling;
using AscendC::tiling::LayerNormSeparateTiling;
using AscendC::tiling::LayerNormTiling;
using AscendC::tiling::LogSoftMaxTiling;
using AscendC::tiling::Mc2CcTiling;
using AscendC::tiling::Mc2InitTiling;
using AscendC::tiling::PadTiling;
using AscendC::tiling::RmsNormTiling;
using AscendC::tiling::SoftMaxTiling;
using AscendC::tiling::TCubeTiling;
using AscendC::tiling::TopkTiling;
using AscendC::tiling::UnPadTiling;
