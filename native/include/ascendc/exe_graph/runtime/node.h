/* The operator call behind the contexts: its tensors, attributes, and what tiling decides. */
#pragma once
#pragma GCC system_header

#include <string>
#include <vector>

#include "../../platform/platform_infos_def.h"
#include "runtime_attrs.h"
#include "tensor.h"

namespace asc_host {

/* The buffer that tiling data is written to. */
class RawTilingData {
   public:
    explicit RawTilingData(size_t bytes = 1 << 16) : words_((bytes + 7) / 8) {}
    void *GetData() { return words_.data(); }
    const void *GetData() const { return words_.data(); }
    size_t GetCapacity() const { return words_.size() * sizeof words_[0]; }
    size_t GetDataSize() const { return used_; }
    void SetDataSize(size_t n) { used_ = n; }
    template <typename T>
    uint32_t Append(const T &value) {
        if (used_ + sizeof value > GetCapacity()) return ge::GRAPH_FAILED;
        std::memcpy(reinterpret_cast<uint8_t *>(words_.data()) + used_, &value, sizeof value);
        used_ += sizeof value;
        return ge::GRAPH_SUCCESS;
    }

   private:
    std::vector<uint64_t> words_;
    size_t used_ = 0;
};

/* One call. Tensors stand in the order of the definition, those of a dynamic input one after another; an absent
 * optional one has its place. */
struct Node {
    struct Group {
        size_t first = 0, count = 0;
        bool absent = false, dynamic = false;
    };
    std::string type, name;
    std::vector<gert::Tensor> inputs, outputs;
    std::vector<Group> input_groups, output_groups; /* by place in the definition */
    gert::RuntimeAttrs attributes;
    const fe::PlatFormInfos *chip = nullptr;
    const void *compile_info = nullptr;
    bool deterministic = false;
    std::vector<bool>
        computed;             /* of output_groups: whether the kernel says its shape, and the one here is the largest */
    std::vector<bool> filled; /* of output_groups: whether the host has given it a value before the launch */

    /* What tiling decides. */
    RawTilingData tiling;
    std::vector<size_t> workspaces;
    uint32_t blocks = 1, schedule_mode = 0, local_memory = 0;
    uint64_t key = 0;
    bool need_atomic = false; /* whether outputs begin with what their definition says */

    bool is_absent(size_t input) const {
        for (const Group &g : input_groups)
            if (input >= g.first && input < g.first + g.count) return g.absent;
        return input >= inputs.size();
    }
    gert::Tensor *input(size_t i) { return is_absent(i) ? nullptr : &inputs[i]; }
    gert::Tensor *input(size_t group, size_t i) {
        if (group >= input_groups.size() || i >= input_groups[group].count) return nullptr;
        return input(input_groups[group].first + i);
    }
    gert::Tensor *output(size_t i) { return i < outputs.size() ? &outputs[i] : nullptr; }
    gert::Tensor *output(size_t group, size_t i) {
        if (group >= output_groups.size() || i >= output_groups[group].count) return nullptr;
        return output(output_groups[group].first + i);
    }
};

inline const gert::StorageShape *shape_of(const gert::Tensor *tensor) {
    return tensor ? tensor->asc_shape() : nullptr;
}
inline gert::StorageShape *shape_of(gert::Tensor *tensor) {
    return tensor ? tensor->asc_shape() : nullptr;
}
inline const gert::CompileTimeTensorDesc *desc_of(gert::Tensor *tensor) {
    return tensor ? tensor->asc_desc() : nullptr;
}

}  // namespace asc_host
