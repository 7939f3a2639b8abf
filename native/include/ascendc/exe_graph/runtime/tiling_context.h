/* gert::TilingContext. Our own implementation of public names. */
#pragma once
#pragma GCC system_header

#include "kernel_context.h"

namespace gert {

using TilingData = asc_host::RawTilingData;

class TilingContext : public ShapedContext {
   public:
    using ShapedContext::ShapedContext;
    const StorageShape *GetInputShape(size_t i) const { return asc_host::shape_of(node_->input(i)); }
    const StorageShape *GetOptionalInputShape(size_t place) const { return GetDynamicInputShape(place, 0); }
    const StorageShape *GetRequiredInputShape(size_t place) const { return GetDynamicInputShape(place, 0); }
    const StorageShape *GetDynamicInputShape(size_t place, size_t i) const {
        return asc_host::shape_of(node_->input(place, i));
    }
    /* Inputs have no gaps: an operator's call packs those that have. */
    bool InputIsView(size_t) const { return false; }
    const Stride *GetInputStride(size_t) const { return nullptr; }
    const Stride *GetOptionalInputStride(size_t) const { return nullptr; }
    const Stride *GetRequiredInputStride(size_t) const { return nullptr; }
    const Stride *GetDynamicInputStride(size_t, size_t) const { return nullptr; }
    const StorageShape *GetOutputShape(size_t i) const { return asc_host::shape_of(node_->output(i)); }
    TilingData *GetRawTilingData() { return &node_->tiling; }
    /* The tiling data as a structure, which it then has the size of; null where it has no room. */
    template <typename T>
    T *GetTilingData() {
        if (sizeof(T) > node_->tiling.GetCapacity()) return nullptr;
        node_->tiling.SetDataSize(sizeof(T));
        return static_cast<T *>(node_->tiling.GetData());
    }
    fe::PlatFormInfos *GetPlatformInfo() const { return const_cast<fe::PlatFormInfos *>(node_->chip); }
    const void *GetCompileInfo() const { return node_->compile_info; }
    template <typename T>
    const T *GetCompileInfo() const {
        return static_cast<const T *>(node_->compile_info);
    }
    size_t *GetWorkspaceSizes(size_t n) {
        node_->workspaces.resize(n);
        return node_->workspaces.data();
    }
    size_t GetWorkspaceNum() const { return node_->workspaces.size(); }
    ge::graphStatus SetBlockDim(uint32_t n) { return node_->blocks = n, ge::GRAPH_SUCCESS; }
    uint32_t GetBlockDim() const { return node_->blocks; }
    ge::graphStatus SetAicpuBlockDim(uint32_t) { return ge::GRAPH_SUCCESS; }
    ge::graphStatus SetScheduleMode(uint32_t mode) { return node_->schedule_mode = mode, ge::GRAPH_SUCCESS; }
    uint32_t GetScheduleMode() const { return node_->schedule_mode; }
    ge::graphStatus SetLocalMemorySize(uint32_t n) { return node_->local_memory = n, ge::GRAPH_SUCCESS; }
    uint32_t GetLocalMemorySize() const { return node_->local_memory; }
    ge::graphStatus SetTilingKey(uint64_t key) { return node_->key = key, ge::GRAPH_SUCCESS; }
    uint64_t GetTilingKey() const { return node_->key; }
    ge::graphStatus SetNeedAtomic(bool need) { return node_->need_atomic = need, ge::GRAPH_SUCCESS; }
    ge::graphStatus SetTilingCond(int32_t) { return ge::GRAPH_SUCCESS; }
    int32_t GetDeterministic() const { return node_->deterministic; }
};

/* In front of tiling: what depends on the chip alone. */
class TilingParseContext : public ExtendedKernelContext {
   public:
    using ExtendedKernelContext::ExtendedKernelContext;
    fe::PlatFormInfos *GetPlatformInfo() const { return const_cast<fe::PlatFormInfos *>(node_->chip); }
    template <typename T>
    T *GetCompiledInfo() {
        return static_cast<T *>(const_cast<void *>(node_->compile_info));
    }
    const char *GetCompiledJson() const { return "{}"; }
};

}  // namespace gert
