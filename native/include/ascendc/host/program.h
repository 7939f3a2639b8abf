/* A program that makes one call of an operator or kernel: the request on standard input, the answer on standard output.
 * `describe` as argument writes what the program was built of.
 *
 * All numbers are 8 bytes, little-endian; a text is its length, then its bytes.
 *   request: 1 if every synchronisation must be written (cpu/fault.h, strict), 1 if the first fault ends it
 *     the chip: text name; ub, l1, l0a, l0b, l0c, l2, hbm, cube cores, vector cores, extra vector cores, separate
 *     inputs: number of places in the definition; each: number of tensors (-1: absent), 1 if it is a list; each tensor:
 *       type, format, rank, dims, text bytes
 *     outputs: as inputs, of each tensor: type (-1: as the host says), like (input, or -1), rank (-1: as the host
 * says), dims attributes: number; each: kind (0 absent, 1 int, 2 float, 3 bool, 4 string, 5 ints, 6 floats, 7 bools);
 * values of a kernel without host code: blocks, tiling key, bytes of workspace, text tiling data values: number; each a
 * text: arguments that are no addresses answer: status (0: done; 1: refused, nothing ran; 2: ran and broke a rule);
 * number of lines, each a text unless refused: blocks, tiling key, bytes of workspace, text tiling data; number of
 * outputs; each: type, rank, dims, text bytes; the numbers of cpu/work.h
 */
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <deque>

#include "describe.h"
#include "signals.h"

namespace asc_host {

/* Where the answer goes: standard output as it was. What the program itself prints goes to standard error. */
inline FILE *answers() {
    static FILE *const file = [] {
        FILE *kept = fdopen(dup(STDOUT_FILENO), "wb");
        std::fflush(stdout);
        dup2(STDERR_FILENO, STDOUT_FILENO);
        return kept;
    }();
    return file;
}

inline void take(void *to, size_t n) {
    if (n && std::fread(to, 1, n, stdin) != n) std::exit(3);
}
inline int64_t take_number() {
    int64_t value;
    take(&value, sizeof value);
    return value;
}
inline std::vector<uint8_t> take_bytes() {
    std::vector<uint8_t> bytes;
    bytes.resize(size_t(take_number()));
    take(bytes.data(), bytes.size());
    return bytes;
}
inline std::string take_text() {
    const std::vector<uint8_t> bytes = take_bytes();
    return std::string(bytes.begin(), bytes.end());
}
inline void give_number(int64_t value) {
    std::fwrite(&value, 1, sizeof value, answers());
}
inline void give_bytes(const void *from, size_t n) {
    give_number(int64_t(n));
    if (n) std::fwrite(from, 1, n, answers());
}

inline gert::StorageShape take_shape(int64_t rank) {
    gert::Shape shape;
    for (int64_t i = 0; i < rank; i++) shape.AppendDim(take_number());
    return gert::StorageShape(shape);
}

/* The call that a request describes. */
class Request {
   public:
    Node node;
    std::vector<OutputRule> rules;
    std::vector<std::vector<uint8_t>> values;
    uint64_t workspace = 0;
    bool strict = false, stop = true;

    void take() {
        strict = take_number() != 0;
        stop = take_number() != 0;
        take_chip();
        take_inputs();
        take_outputs();
        for (int64_t n = take_number(); n > 0; n--) take_attribute();
        node.blocks = uint32_t(take_number());
        node.key = uint64_t(take_number());
        workspace = uint64_t(take_number());
        const std::vector<uint8_t> tiling = take_bytes();
        if (tiling.size() > node.tiling.GetCapacity()) node.tiling = RawTilingData(tiling.size());
        std::memcpy(node.tiling.GetData(), tiling.data(), tiling.size());
        node.tiling.SetDataSize(tiling.size());
        for (int64_t n = take_number(); n > 0; n--) {
            values.push_back(take_bytes());
            values.back().resize(values.back().size() + 64); /* numbers are read as wide as they are declared */
        }
    }

   private:
    void take_chip() {
        fe::PlatFormInfos &chip = platform_ascendc::asc_chip();
        chip.name = take_text();
        for (uint64_t *bytes : {&chip.ub, &chip.l1, &chip.l0a, &chip.l0b, &chip.l0c, &chip.l2, &chip.hbm})
            *bytes = uint64_t(take_number());
        for (uint32_t *cores : {&chip.cube_cores, &chip.vector_cores, &chip.extra_vector_cores})
            *cores = uint32_t(take_number());
        chip.separate = take_number() != 0;
        node.chip = &chip;
    }
    Node::Group take_group(size_t first) {
        const int64_t count = take_number();
        Node::Group group{first, size_t(count < 0 ? 1 : count), count < 0, false};
        group.dynamic = take_number() != 0;
        return group;
    }
    void take_inputs() {
        for (int64_t n = take_number(); n > 0; n--) {
            node.input_groups.push_back(take_group(node.inputs.size()));
            const Node::Group &group = node.input_groups.back();
            if (group.absent) {
                node.inputs.emplace_back();
                continue;
            }
            for (size_t i = 0; i < group.count; i++) {
                const int64_t type = take_number(), format = take_number(), rank = take_number();
                const gert::StorageShape shape = take_shape(rank);
                bytes_.push_back(take_bytes());
                node.inputs.emplace_back(shape, gert::CompileTimeTensorDesc(ge::DataType(type), ge::Format(format)),
                                         bytes_.back().data());
            }
        }
    }
    void take_outputs() {
        for (int64_t n = take_number(); n > 0; n--) {
            node.output_groups.push_back(take_group(node.outputs.size()));
            for (size_t i = 0; i < node.output_groups.back().count; i++) {
                OutputRule rule;
                rule.type = int32_t(take_number());
                rule.like = int32_t(take_number());
                const int64_t rank = take_number();
                rule.given = rank >= 0;
                for (int64_t d = 0; d < rank; d++) rule.dims.push_back(take_number());
                rules.push_back(rule);
                node.outputs.emplace_back(gert::StorageShape(),
                                          gert::CompileTimeTensorDesc(ge::DT_UNDEFINED, ge::FORMAT_ND), nullptr);
            }
        }
    }
    void take_attribute() {
        gert::RuntimeAttrs &attributes = node.attributes;
        switch (take_number()) {
            case 1: attributes.asc_int(take_number()); break;
            case 2: attributes.asc_float(take_float()); break;
            case 3: attributes.asc_int(take_number() != 0); break;
            case 4: attributes.asc_string(take_text()); break;
            case 5: take_list<int64_t>(); break;
            case 6: take_list<float>(); break;
            case 7: take_list<uint8_t>(); break;
            default: attributes.asc_absent();
        }
    }
    static float take_float() {
        const std::vector<uint8_t> bytes = take_bytes();
        float value = 0;
        std::memcpy(&value, bytes.data(), bytes.size() < sizeof value ? bytes.size() : sizeof value);
        return value;
    }
    template <typename T>
    void take_list() {
        const std::vector<uint8_t> bytes = take_bytes();
        node.attributes.asc_list(bytes.data(), bytes.size() / sizeof(T), sizeof(T));
    }
    std::deque<std::vector<uint8_t>> bytes_;
};

inline int give_refusal(const std::string &text) {
    give_number(1);
    give_number(1);
    give_bytes(text.data(), text.size());
    return 0;
}

inline void give_answer(const Node &node, uint64_t workspace, const Findings &found) {
    give_number(found.failed ? 2 : 0);
    give_number(int64_t(found.lines.size()));
    for (const std::string &line : found.lines) give_bytes(line.data(), line.size());
    give_number(node.blocks);
    give_number(int64_t(node.key));
    give_number(int64_t(workspace));
    give_bytes(node.tiling.GetData(), node.tiling.GetDataSize());
    give_number(int64_t(node.outputs.size()));
    for (const gert::Tensor &t : node.outputs) {
        give_number(t.GetDataType());
        give_number(int64_t(t.GetStorageShape().GetDimNum()));
        for (size_t d = 0; d < t.GetStorageShape().GetDimNum(); d++) give_number(t.GetStorageShape().GetDim(d));
        give_bytes(t.GetAddr(), t.GetSize());
    }
    for (const uint64_t number : found.work) give_number(int64_t(number));
}

/* What a kernel without host code gets: the outputs as the request says. */
inline void place_outputs(Node &node, const std::vector<OutputRule> &rules) {
    for (size_t i = 0; i < node.outputs.size(); i++) {
        gert::StorageShape &shape = *node.outputs[i].asc_shape();
        for (int64_t d : rules[i].dims) shape.MutableOriginShape().AppendDim(d);
        shape.MutableStorageShape() = shape.GetOriginShape();
        node.outputs[i].asc_desc()->SetDataType(ge::DataType(rules[i].type));
    }
}

/* Takes a request and answers it, by the functions of `definition`; null: a kernel without host code. */
inline int answer(const Parts &parts, ops::OpDef *definition) {
    Request request;
    request.take();
    Node &node = request.node;
    try {
        const std::unique_ptr<HostOperator> host = definition ? std::make_unique<HostOperator>(definition) : nullptr;
        if (host) {
            const ExplainedSignals explained(nullptr);
            node.type = node.name = host->definition().name;
            host->infer(node, request.rules);
        } else {
            place_outputs(node, request.rules);
        }
        std::deque<std::vector<uint8_t>> outputs;
        for (gert::Tensor &t : node.outputs) {
            outputs.emplace_back(t.GetSize());
            t = gert::Tensor(t.GetShape(), *t.asc_desc(), outputs.back().data());
        }
        if (host) {
            const ExplainedSignals explained(nullptr);
            host->tile(node);
            host->fill_outputs(node);
            host->mark_computed(node);
            request.workspace = node.workspaces.empty() ? 0 : node.workspaces[0];
        }
        std::vector<uint8_t> workspace(request.workspace, 0xA5);
        Call call(parts, node);
        call.strict = request.strict;
        call.stop = request.stop;
        call.owns_process = true;
        const Findings found = call.run(workspace.data(), workspace.size(), request.values);
        give_answer(node, workspace.size(), found);
    } catch (const Refusal &refusal) {
        return give_refusal(refusal.text);
    }
    return 0;
}

inline int answered(const Parts &parts, ops::OpDef *definition) {
    answers();
    const int status = answer(parts, definition);
    return std::fflush(answers()) ? 3 : status;
}

inline int main(int n_arguments, char **arguments, const Parts &parts) {
    answers();
    if (n_arguments > 1 && std::strcmp(arguments[1], "describe") == 0) {
        const std::string text = parts.n_columns ? description(*parts.columns[0].kernel) : description();
        std::fwrite(text.data(), 1, text.size(), answers());
        return std::fflush(answers());
    }
    ops::OpDef *definition = parts.op[0] ? find_operator(parts.op) : nullptr;
    if (parts.op[0] && !definition) return give_refusal(std::string("no OP_ADD registers ") + parts.op);
    return answered(parts, definition);
}

/* The program of several operators: its argument is the number of one. Status 2 beyond the last one. */
inline int main_of_several(int n_arguments, char **arguments) {
    const Numbered chosen = numbered(n_arguments > 1 ? std::strtoul(arguments[1], nullptr, 10) : 0);
    return chosen.parts ? answered(*chosen.parts, chosen.definition) : 2;
}

}  // namespace asc_host
