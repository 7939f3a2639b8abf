/* What all contexts have in common. Our own implementation of public names. */
#pragma once
#pragma GCC system_header

#include "node.h"

namespace gert {

/* How many tensors stand for one input or output of the definition, and where they begin. */
class AnchorInstanceInfo {
   public:
    AnchorInstanceInfo() = default;
    AnchorInstanceInfo(size_t first, size_t count) : first_(first), count_(count) {}
    size_t GetInstanceNum() const { return count_; }
    size_t GetInstanceStart() const { return first_; }

   private:
    size_t first_ = 0, count_ = 0;
};

class ComputeNodeInfo {
   public:
    explicit ComputeNodeInfo(asc_host::Node *node) : node_(node) {}
    const char *GetNodeName() const { return node_->name.c_str(); }
    const char *GetNodeType() const { return node_->type.c_str(); }
    size_t GetIrInputsNum() const { return node_->input_groups.size(); }
    size_t GetIrOutputsNum() const { return node_->output_groups.size(); }
    size_t GetInputsNum() const { return node_->inputs.size(); }
    size_t GetOutputsNum() const { return node_->outputs.size(); }
    const RuntimeAttrs *GetAttrs() const { return &node_->attributes; }
    const AnchorInstanceInfo *GetInputInstanceInfo(size_t place) const {
        if (place >= node_->input_groups.size()) return nullptr;
        const auto &g = node_->input_groups[place];
        instance_ = AnchorInstanceInfo(g.first, g.absent ? 0 : g.count);
        return &instance_;
    }
    const AnchorInstanceInfo *GetOutputInstanceInfo(size_t place) const {
        if (place >= node_->output_groups.size()) return nullptr;
        const auto &g = node_->output_groups[place];
        instance_ = AnchorInstanceInfo(g.first, g.absent ? 0 : g.count);
        return &instance_;
    }
    const CompileTimeTensorDesc *GetInputTdInfo(size_t i) const { return asc_host::desc_of(node_->input(i)); }
    const CompileTimeTensorDesc *GetOutputTdInfo(size_t i) const { return asc_host::desc_of(node_->output(i)); }

   private:
    asc_host::Node *node_;
    mutable AnchorInstanceInfo instance_;
};

/* Tensors by their number are those of the call; GetOptional..., GetRequired... and GetDynamic... take the place in
 * the definition. Absent ones are null. */
class ExtendedKernelContext {
   public:
    explicit ExtendedKernelContext(asc_host::Node *node) : node_(node), info_(node) {}
    const char *GetNodeName() const { return node_->name.c_str(); }
    const char *GetNodeType() const { return node_->type.c_str(); }
    const char *GetKernelName() const { return node_->name.c_str(); }
    const RuntimeAttrs *GetAttrs() const { return &node_->attributes; }
    const ComputeNodeInfo *GetComputeNodeInfo() const { return &info_; }
    size_t GetComputeNodeInputNum() const { return node_->inputs.size(); }
    size_t GetComputeNodeOutputNum() const { return node_->outputs.size(); }
    const AnchorInstanceInfo *GetIrInputInstanceInfo(size_t place) const { return info_.GetInputInstanceInfo(place); }
    const AnchorInstanceInfo *GetIrOutputInstanceInfo(size_t place) const { return info_.GetOutputInstanceInfo(place); }
    const CompileTimeTensorDesc *GetInputDesc(size_t i) const { return asc_host::desc_of(node_->input(i)); }
    const CompileTimeTensorDesc *GetOptionalInputDesc(size_t place) const { return GetDynamicInputDesc(place, 0); }
    const CompileTimeTensorDesc *GetRequiredInputDesc(size_t place) const { return GetDynamicInputDesc(place, 0); }
    const CompileTimeTensorDesc *GetDynamicInputDesc(size_t place, size_t i) const {
        return asc_host::desc_of(node_->input(place, i));
    }
    const CompileTimeTensorDesc *GetOutputDesc(size_t i) const { return asc_host::desc_of(node_->output(i)); }
    const CompileTimeTensorDesc *GetRequiredOutputDesc(size_t place) const {
        return asc_host::desc_of(node_->output(place, 0));
    }
    asc_host::Node *asc_node() const { return node_; }

   protected:
    asc_host::Node *node_;

   private:
    ComputeNodeInfo info_;
};

using KernelContext = ExtendedKernelContext;

/* The shapes and tensors of inputs, as all contexts of shapes give them. */
class ShapedContext : public ExtendedKernelContext {
   public:
    using ExtendedKernelContext::ExtendedKernelContext;
    const Tensor *GetInputTensor(size_t i) const { return node_->input(i); }
    const Tensor *GetOptionalInputTensor(size_t place) const { return node_->input(place, 0); }
    const Tensor *GetRequiredInputTensor(size_t place) const { return node_->input(place, 0); }
    const Tensor *GetDynamicInputTensor(size_t place, size_t i) const { return node_->input(place, i); }
};

}  // namespace gert
