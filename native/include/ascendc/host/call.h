/* One call of an operator or kernel: the column of element types it has, its arguments, and the run. */
#pragma once

#include <deque>

#include "app_log.h"
#include "host_operator.h"
#include "output_shapes.h"
#include "parts.h"

namespace asc_host {

inline const gert::Tensor *first_of(const std::vector<Node::Group> &groups, const std::vector<gert::Tensor> &tensors,
                                    size_t i) {
    return i < groups.size() && groups[i].count && !groups[i].absent ? &tensors[groups[i].first] : nullptr;
}

/* The host functions of a program; null for a kernel without any. Throws Refusal. */
inline std::unique_ptr<HostOperator> host_of(const Parts &parts) {
    if (!parts.op[0]) return nullptr;
    ops::OpDef *definition = find_operator(parts.op);
    if (!definition) throw Refusal{std::string("no OP_ADD registers ") + parts.op};
    return std::make_unique<HostOperator>(definition);
}

/* The column that has these types, and this key where it asks for one. Throws Refusal. */
inline const Column &column_of(const Parts &parts, const Node &node) {
    const size_t n_in = node.input_groups.size();
    for (size_t c = 0; c < parts.n_columns; c++) {
        const Column &column = parts.columns[c];
        bool fits = !column.has_key || column.key == node.key;
        for (size_t i = 0; i < column.n_types && fits; i++) {
            const gert::Tensor *t = i < n_in ? first_of(node.input_groups, node.inputs, i)
                                             : first_of(node.output_groups, node.outputs, i - n_in);
            fits = !t || column.types[i] < 0 || int(t->GetDataType()) == column.types[i];
        }
        if (fits) return column;
    }
    throw Refusal{"no kernel was built for these element types"};
}

/* The memory that a pointer of a dynamic input or output leads to: how far off the addresses are, each tensor's number
 * of dims and place, its dims, then the addresses. */
inline std::vector<uint64_t> tensor_list(const std::vector<gert::Tensor> &tensors, const Node::Group &group) {
    std::vector<uint64_t> words(1);
    for (size_t i = 0; i < group.count; i++) {
        const gert::Shape &shape = tensors[group.first + i].GetStorageShape();
        words.push_back(uint64_t(shape.GetDimNum()) | uint64_t(i) << 32);
        for (size_t d = 0; d < shape.GetDimNum(); d++) words.push_back(uint64_t(shape.GetDim(d)));
    }
    words[0] = words.size() * sizeof words[0];
    for (size_t i = 0; i < group.count; i++)
        words.push_back(reinterpret_cast<uint64_t>(tensors[group.first + i].GetAddr()));
    return words;
}

/* What a launch found: faults and advice, a line each. */
struct Findings {
    bool failed = false;
    std::vector<std::string> lines;
    uint64_t work[WORK_NUMBERS] = {};
};

class Call {
   public:
    Call(const Parts &parts, Node &node) : parts_(parts), node_(node) {}

    /* values: of the arguments that are numbers or structures, in order. `workspace` has the bytes that tiling asked
     * for. Throws Refusal where the call can't be made. */
    Findings run(uint8_t *workspace, uint64_t workspace_bytes, const std::vector<std::vector<uint8_t>> &values) {
        const Column &column = column_of(parts_, node_);
        std::vector<bool> shared_in(parts_.n_inputs), shared_out(parts_.n_outputs);
        for (size_t i = 0; i < parts_.n_outputs; i++) shared_out[i] = overwrite(i, shared_in);
        add_tensors(node_.input_groups, node_.inputs, parts_.input_names, shared_in, Role::INPUT);
        shapes_.assign(SHAPE_WORDS * std::count(node_.computed.begin(), node_.computed.end(), true), NO_SHAPE);
        add_tensors(node_.output_groups, node_.outputs, parts_.output_names, shared_out, Role::OUTPUT);
        if (!shapes_.empty())
            add({"the shapes of outputs", reinterpret_cast<uint8_t *>(shapes_.data()),
                 shapes_.size() * sizeof shapes_[0], Role::SHAPES});
        if (workspace_bytes) add({"the workspace", workspace, workspace_bytes, Role::WORKSPACE});
        uint8_t *tiling = static_cast<uint8_t *>(node_.tiling.GetData());
        if (node_.tiling.GetDataSize()) add({TILING_DATA, tiling, node_.tiling.GetDataSize(), Role::READABLE});
        std::vector<void *> addresses;
        for (size_t i = 0; i < parts_.n_arguments; i++) {
            const ArgumentSpec &a = parts_.arguments[i];
            switch (a.kind) {
                case ArgumentSpec::INPUT:
                    addresses.push_back(pointer(node_.input_groups, node_.inputs, a.index));
                    break;
                case ArgumentSpec::OUTPUT:
                    addresses.push_back(pointer(node_.output_groups, node_.outputs, a.index));
                    break;
                case ArgumentSpec::SHAPES: addresses.push_back(shapes_.data()); break;
                case ArgumentSpec::WORKSPACE: addresses.push_back(workspace); break;
                case ArgumentSpec::TILING: addresses.push_back(tiling); break;
                case ArgumentSpec::VALUE:
                    if (a.index >= values.size()) throw Refusal{"the value of an argument is missing"};
                    addresses.push_back(const_cast<uint8_t *>(values[a.index].data()));
                    break;
            }
        }
        if (addresses.size() < column.kernel->n_arguments) throw Refusal{"the kernel takes more arguments"};
        for (auto &list : lists_)
            add({"the list of tensors", reinterpret_cast<uint8_t *>(list.data()), list.size() * sizeof list[0],
                 Role::READABLE});
        for (size_t i = 0; i < buffers_.size(); i++) buffers_[i].name = names_[i].c_str();
        Findings found;
        column.kernel->launch({node_.blocks, node_.key, node_.chip->name.c_str(), node_.chip->ub, buffers_.data(),
                               buffers_.size(), addresses.data(), strict, stop, tell, &found, found.work,
                               owns_process});
        if (!found.failed) take_shapes();
        return found;
    }
    bool strict = false, stop = true, owns_process = false; /* of LaunchRequest */

   private:
    static void tell(void *to, bool advice, const char *line) {
        Findings &found = *static_cast<Findings *>(to);
        found.failed |= !advice;
        found.lines.push_back((advice ? "advice " : "") + std::string(line));
    }
    void add(const Buffer &buffer, const std::string &name = "") {
        names_.push_back(name.empty() ? buffer.name : name);
        buffers_.push_back(buffer);
    }
    /* An output of an input's name is the input's memory on the device: it begins with what the input has, and both are
     * one buffer of the kernel's. */
    bool overwrite(size_t output, std::vector<bool> &shared_in) {
        for (size_t i = 0; i < parts_.n_inputs && i < node_.input_groups.size(); i++) {
            const Node::Group &from = node_.input_groups[i], &to = node_.output_groups[output];
            if (std::strcmp(parts_.input_names[i], parts_.output_names[output]) != 0 || from.absent) continue;
            for (size_t t = 0; t < from.count && from.count == to.count; t++)
                if (node_.inputs[from.first + t].GetSize() != node_.outputs[to.first + t].GetSize()) return false;
            if (from.count != to.count) return false;
            for (size_t t = 0; t < from.count; t++) {
                gert::Tensor &in = node_.inputs[from.first + t], &out = node_.outputs[to.first + t];
                if (in.GetAddr() != out.GetAddr()) std::memmove(out.GetAddr(), in.GetAddr(), in.GetSize());
                in = gert::Tensor(*in.asc_shape(), *in.asc_desc(), out.GetAddr());
                add({nullptr, static_cast<uint8_t *>(out.GetAddr()), out.GetSize(), Role::BOTH},
                    parts_.output_names[output]);
            }
            return shared_in[i] = true;
        }
        return false;
    }
    /* But for those of `left_out`. */
    void add_tensors(const std::vector<Node::Group> &groups, std::vector<gert::Tensor> &tensors,
                     const char *const *names, std::vector<bool> left_out, Role role) {
        const size_t n_names = left_out.size();
        left_out.resize(groups.size());
        for (size_t g = 0; g < groups.size(); g++) {
            if (groups[g].absent || left_out[g]) continue;
            for (size_t i = 0; i < groups[g].count; i++) {
                gert::Tensor &t = tensors[groups[g].first + i];
                const std::string name = g < n_names ? names[g] : "tensor";
                const uint64_t *shape = role == Role::OUTPUT ? words_of(g) : nullptr;
                const bool filled = role == Role::OUTPUT && g < node_.filled.size() && node_.filled[g];
                add({nullptr, static_cast<uint8_t *>(t.GetAddr()), t.GetSize(), filled ? Role::BOTH : role, shape,
                     uint32_t(ge::GetSizeInBytes(1, t.GetDataType()))},
                    groups[g].count > 1 ? name + "[" + std::to_string(i) + "]" : name);
            }
        }
    }
    /* Where the kernel says the shape of an output; null: it doesn't. */
    const uint64_t *words_of(size_t output) const {
        if (output >= node_.computed.size() || !node_.computed[output]) return nullptr;
        const auto before = std::count(node_.computed.begin(), node_.computed.begin() + int64_t(output), true);
        return &shapes_[SHAPE_WORDS * size_t(before)];
    }
    /* Gives outputs the shapes that the kernel says. Throws Refusal where it says none, or one without room. */
    void take_shapes() {
        for (size_t g = 0; g < node_.output_groups.size(); g++) {
            const uint64_t *words = words_of(g);
            if (!words) continue;
            gert::Tensor &out = node_.outputs[node_.output_groups[g].first];
            const uint64_t most = uint64_t(out.GetShapeSize());
            const std::string name = g < parts_.n_outputs ? parts_.output_names[g] : "an output";
            if (!is_shape(words)) throw Refusal{"the kernel says no shape of " + name};
            if (elements_of(words, most) > most)
                throw Refusal{"the kernel says a shape of " + name + " of more than the " + std::to_string(most) +
                              " elements that there is room for"};
            gert::Shape shape;
            for (uint64_t d = 1; d <= rank_of(words); d++) shape.AppendDim(int64_t(words[d]));
            *out.asc_shape() = gert::StorageShape(shape);
        }
    }
    void *pointer(const std::vector<Node::Group> &groups, std::vector<gert::Tensor> &tensors, size_t i) {
        if (i >= groups.size() || groups[i].absent) return nullptr;
        if (!groups[i].dynamic) return tensors[groups[i].first].GetAddr();
        lists_.push_back(tensor_list(tensors, groups[i]));
        return lists_.back().data();
    }
    const Parts &parts_;
    Node &node_;
    std::vector<Buffer> buffers_;
    std::deque<std::string> names_;
    std::deque<std::vector<uint64_t>> lists_;
    std::vector<uint64_t> shapes_; /* SHAPE_WORDS of each output whose shape the kernel says */
};

}  // namespace asc_host
