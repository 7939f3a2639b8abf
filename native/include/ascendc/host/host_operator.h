/* An operator's host functions, run: shapes and types of outputs, then tiling. */
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "../register/op_def_registry.h"

namespace asc_host {

/* Where outputs' shapes come from when no InferShape is registered. */
struct OutputRule {
    int32_t like = -1;         /* the shape and type of this input */
    int32_t type = -1;         /* ge::DataType; -1: as InferDataType or `like` says */
    std::vector<int64_t> dims; /* where like < 0 */
    bool given = false;
};

/* A fault of the host side, in one sentence. */
struct Refusal {
    std::string text;
};

inline ops::OpDef *find_operator(const std::string &type) {
    for (auto &op : ops::registered())
        if (op && (type.empty() || op->name == type)) return op.get();
    return nullptr;
}

/* The functions of one operator: its definition's, else what IMPL_OP... registered for its type. */
class HostOperator {
   public:
    explicit HostOperator(ops::OpDef *definition) : definition_(definition) {
        const auto &all = gert::asc_implementations();
        const auto found = all.find(definition->name);
        if (found != all.end()) impl_ = found->second;
        if (definition->infer_shape) impl_.infer_shape = definition->infer_shape;
        if (definition->infer_range) impl_.infer_range = definition->infer_range;
        if (definition->infer_type) impl_.infer_type = definition->infer_type;
        if (definition->core.tiling) impl_.tiling = definition->core.tiling;
        if (definition->core.parse) {
            impl_.parse = definition->core.parse;
            impl_.compile_info = definition->compile_info;
        }
    }
    const ops::OpDef &definition() const { return *definition_; }
    bool infers_shapes() const { return impl_.infer_shape != nullptr; }
    /* Whether the kernel says the shape of an output. */
    bool computes_shape(size_t output) const {
        const bool known = output < definition_->outputs.size() && definition_->outputs[output].shape_computed;
        return known || std::count(impl_.computed.begin(), impl_.computed.end(), output) > 0;
    }
    /* Which outputs of a call may come out smaller than they are. */
    void mark_computed(Node &node) const {
        node.computed.clear();
        for (size_t g = 0; g < node.output_groups.size(); g++) node.computed.push_back(computes_shape(g));
    }

    /* The outputs' shapes and types of a call whose inputs are there. Throws Refusal. */
    void infer(Node &node, const std::vector<OutputRule> &rules) const {
        if (impl_.infer_shape) {
            gert::InferShapeContext context(&node);
            if (impl_.infer_shape(&context) != ge::GRAPH_SUCCESS)
                throw Refusal{"InferShape refuses these shapes: " + text_of_shapes(node)};
        }
        if (impl_.infer_type) {
            gert::InferDataTypeContext context(&node);
            if (impl_.infer_type(&context) != ge::GRAPH_SUCCESS)
                throw Refusal{"InferDataType refuses these types of " + text_of_shapes(node)};
        }
        if (computes_any(node)) set_largest(node, rules);
        for (size_t i = 0; i < node.outputs.size(); i++) complete(node, i, i < rules.size() ? rules[i] : OutputRule());
    }

    /* Decides blocks, key, tiling data and workspace. Throws Refusal. */
    void tile(Node &node) const {
        std::shared_ptr<void> compiled;
        if (impl_.parse && impl_.compile_info) {
            compiled = impl_.compile_info();
            node.compile_info = compiled.get();
            gert::TilingParseContext context(&node);
            if (impl_.parse(&context) != ge::GRAPH_SUCCESS) throw Refusal{"TilingParse fails"};
        }
        if (!impl_.tiling) throw Refusal{"no tiling function is registered for " + definition_->name};
        gert::TilingContext context(&node);
        bound_tilings().clear();
        const ge::graphStatus status = impl_.tiling(&context);
        node.compile_info = nullptr;
        if (status != ge::GRAPH_SUCCESS) throw Refusal{"TilingFunc refuses these shapes: " + text_of_shapes(node)};
        if (node.blocks == 0) throw Refusal{"TilingFunc sets a block dim of 0"};
        if (node.tiling.GetDataSize() > node.tiling.GetCapacity())
            throw Refusal{"TilingFunc writes too much tiling data"};
    }

    /* Gives outputs what their definition's InitValue says, where tiling asked for it. Throws Refusal. */
    void fill_outputs(Node &node) const {
        node.filled.assign(node.output_groups.size(), false);
        if (!node.need_atomic) return;
        for (size_t g = 0; g < node.output_groups.size() && g < definition_->outputs.size(); g++) {
            const ops::OpParamDef &spec = definition_->outputs[g];
            if (spec.initial.empty()) continue;
            if (spec.initial.size() > 1 && !spec.types.empty() && spec.initial.size() != spec.types.size())
                throw Refusal{"InitValue of " + spec.name + " has not one value for each of its data types"};
            check_initial(spec);
            const Node::Group &group = node.output_groups[g];
            for (size_t i = 0; i < group.count; i++) fill(node.outputs[group.first + i], spec);
            node.filled[g] = true;
        }
    }

   private:
    /* Columns of one type begin with one value, and what is no ScalarVar is 0. Throws Refusal. */
    static void check_initial(const ops::OpParamDef &spec) {
        if (spec.initial_is_number && !(spec.initial[0] == ops::ScalarVar()))
            throw Refusal{"InitValue of " + spec.name + " is a number other than 0; write {ScalarType::..., value}"};
        for (size_t i = 1; i < spec.initial.size() && i < spec.types.size(); i++)
            for (size_t j = 0; j < i; j++)
                if (spec.types[i] == spec.types[j] && !(spec.initial[i] == spec.initial[j]))
                    throw Refusal{"InitValue of " + spec.name + " has two values for one data type"};
    }

    /* The value lies one after the other in the output's memory, whatever type its elements have. */
    static void fill(gert::Tensor &out, const ops::OpParamDef &spec) {
        size_t column = 0;
        while (column + 1 < spec.initial.size() && column < spec.types.size() &&
               spec.types[column] != out.GetDataType())
            column++;
        const ops::ScalarVar &value = spec.initial[column];
        const size_t bytes = ops::asc_bytes_of(value.scalar_type);
        uint64_t bits = value.scalar_num.value_u64;
        if (!bytes) throw Refusal{"InitValue of " + spec.name + " has no type that memory is set to"};
        if (value.scalar_type == ops::ScalarType::FLOAT16 && bits) {
#ifdef __FLT16_MANT_DIG__
            const auto narrow = _Float16(value.scalar_num.value_f32);
            bits = 0;
            std::memcpy(&bits, &narrow, sizeof narrow);
#else
            throw Refusal{"InitValue of a half that isn't 0: this compiler has no _Float16"};
#endif
        }
        auto *const to = static_cast<uint8_t *>(out.GetAddr());
        for (size_t at = 0; at < out.GetSize(); at += bytes)
            std::memcpy(to + at, &bits, std::min(bytes, out.GetSize() - at));
    }

    bool computes_any(const Node &node) const {
        for (size_t i = 0; i < node.outputs.size(); i++)
            if (computes_shape(i)) return true;
        return false;
    }

    /* The room for outputs whose shapes the kernel says. */
    void set_largest(Node &node, const std::vector<OutputRule> &rules) const {
        gert::InferShapeRangeContext ranges(&node);
        if (impl_.infer_range && impl_.infer_range(&ranges) != ge::GRAPH_SUCCESS)
            throw Refusal{"InferShapeRange refuses these shapes: " + text_of_shapes(node)};
        for (size_t i = 0; i < node.outputs.size(); i++)
            if (computes_shape(i))
                set_largest(node, i, i < rules.size() ? rules[i] : OutputRule(),
                            impl_.infer_range ? ranges.GetOutputShapeRange(i)->GetMax() : nullptr);
    }

    /* The larger of what the call gives an output and of the end of its range. */
    void set_largest(Node &node, size_t i, const OutputRule &rule, const gert::Shape *most) const {
        gert::Shape &shape = node.outputs[i].asc_shape()->MutableOriginShape(), given;
        for (int64_t d : rule.dims) given.AppendDim(d);
        if (most) shape = *most;
        bool known = most || impl_.infer_shape;
        for (size_t d = 0; d < shape.GetDimNum(); d++) known &= shape.GetDim(d) >= 0;
        if (rule.given && (!known || given.GetShapeSize() > shape.GetShapeSize())) shape = given;
        if (!known && !rule.given)
            throw Refusal{"the kernel says the shape of " + definition_->outputs[i].name +
                          ", and no InferShapeRange how large it may be (--output_shape gives it room)"};
    }

    /* What neither InferShape nor InferDataType said of an output. */
    void complete(Node &node, size_t i, const OutputRule &rule) const {
        gert::Tensor &out = node.outputs[i];
        gert::StorageShape &shape = *out.asc_shape();
        const gert::Tensor *like = rule.like >= 0 ? node.input(size_t(rule.like)) : nullptr;
        if ((!impl_.infer_shape || definition_->outputs.empty()) && !computes_shape(i)) {
            if (like)
                shape.MutableOriginShape() = like->GetOriginShape();
            else if (rule.given) {
                shape.MutableOriginShape() = gert::Shape();
                for (int64_t d : rule.dims) shape.MutableOriginShape().AppendDim(d);
            } else {
                throw Refusal{"no InferShape is registered, and nothing else says the shape of output " +
                              std::to_string(i)};
            }
        }
        shape.MutableStorageShape() = shape.GetOriginShape();
        ge::DataType type = out.GetDataType();
        if (rule.type >= 0) {
            if (impl_.infer_type && type != ge::DT_UNDEFINED && type != ge::DataType(rule.type))
                throw Refusal{"InferDataType gives an output another type"};
            type = ge::DataType(rule.type);
        }
        if (type == ge::DT_UNDEFINED) type = declared(node, i);
        if (type == ge::DT_UNDEFINED && like) type = like->GetDataType();
        if (type == ge::DT_UNDEFINED && node.input(0)) type = node.input(0)->GetDataType();
        out.asc_desc()->SetDataType(type);
        for (size_t d = 0; d < shape.GetOriginShape().GetDimNum(); d++)
            if (shape.GetOriginShape().GetDim(d) < 0)
                throw Refusal{"InferShape leaves a size of output " + std::to_string(i) + " unknown"};
    }

    /* The type that the definition's column of the inputs' types gives an output. */
    ge::DataType declared(const Node &node, size_t output) const {
        if (output >= definition_->outputs.size()) return ge::DT_UNDEFINED;
        const ops::OpParamDef &spec = definition_->outputs[output];
        for (size_t column = 0; column < spec.types.size(); column++) {
            bool fits = true;
            for (size_t i = 0; i < definition_->inputs.size() && i < node.input_groups.size(); i++) {
                const auto &types = definition_->inputs[i].types;
                const Node::Group &g = node.input_groups[i];
                if (g.absent || g.count == 0 || types.empty()) continue;
                fits &= types[std::min(column, types.size() - 1)] == node.inputs[g.first].GetDataType();
            }
            if (fits) return spec.types[column];
        }
        return spec.types.size() == 1 ? spec.types[0] : ge::DT_UNDEFINED;
    }

    static std::string text_of_shapes(const Node &node) {
        std::string text;
        for (size_t i = 0; i < node.inputs.size(); i++) {
            text += i ? ", [" : "[";
            const gert::Shape &shape = node.inputs[i].GetOriginShape();
            for (size_t d = 0; d < shape.GetDimNum(); d++) text += (d ? "," : "") + std::to_string(shape.GetDim(d));
            text += "]";
        }
        return text;
    }

    ops::OpDef *definition_;
    gert::OpImpl impl_;
};

}  // namespace asc_host
