/* An operator as a library of ascend_rt.h's custom operators: the host's functions in infer, the kernel in compute. */
#pragma once

#include <mutex>

#include "asc_tiled_op.h"
#include "call.h"

namespace asc_host {

struct TypeRow {
    int ge, asc;
};

/* A library's operator; its functions are those of asc_custom_op. */
class Library {
   public:
    static Library &the() {
        static Library library;
        return library;
    }
    const Parts &parts = the_parts;
    std::unique_ptr<HostOperator> host; /* null: a kernel without host code */
    std::vector<OutputRule> rules;
    fe::PlatFormInfos chip;
    std::vector<TypeRow> types;          /* element types: ge's and ascend_rt.h's numbers */
    std::vector<bool> dynamic;           /* of every input of the definition: whether it stands for several */
    std::vector<std::string> attributes; /* names, in the definition's order */
    std::vector<const char *> kinds;     /* of attributes */
    std::vector<std::string> defaults;   /* of attributes: bytes, as RuntimeAttrs has them */
    /* Of a kernel without host code. */
    uint32_t blocks = 1;
    uint64_t key = 0, workspace = 0;
    std::string tiling;
    std::vector<std::vector<int64_t>> input_shapes; /* the only ones it takes; -1: any size */
    std::vector<std::vector<uint8_t>> values;

    int32_t infer(asc_custom_call *call) {
        return guarded(call, [&] {
            Node node = described(*call);
            if (host)
                host->infer(node, rules);
            else
                infer_plain(node);
            for (uint32_t i = 0; i < call->n_out; i++) {
                const gert::Shape &shape = node.outputs[i].GetOriginShape();
                if (shape.GetDimNum() > ASC_MAX_RANK) throw Refusal{"an output has too many dimensions"};
                call->out[i].dtype = asc_type(node.outputs[i].GetDataType());
                call->out[i].rank = decltype(call->out[i].rank)(shape.GetDimNum());
                for (size_t d = 0; d < shape.GetDimNum(); d++) call->out[i].dims[d] = shape.GetDim(d);
            }
        });
    }

    /* asc_tiled_op's. */
    int32_t tile(asc_custom_call *call) {
        return guarded(call, [&] {
            Node node = described(*call);
            place_outputs(node, *call);
            call->workspace_bytes = decide(node);
        });
    }

    int32_t compute(const asc_custom_call *call) {
        return guarded(call, [&] {
            Node node = described(*call);
            place_outputs(node, *call);
            const uint64_t bytes = decide(node);
            if (host) host->fill_outputs(node);
            if (host) host->mark_computed(node);
            const bool given = call->workspace && call->workspace_bytes >= bytes;
            std::vector<uint8_t> room(given ? 0 : bytes);
            uint8_t *workspace = given ? static_cast<uint8_t *>(call->workspace) : room.data();
            const Findings found = Call(parts, node).run(workspace, bytes, values);
            if (found.failed) throw Refusal{found.lines.empty() ? "the kernel fails" : found.lines[0]};
            for (uint32_t i = 0; i < call->n_out; i++)
                if (i < node.computed.size() && node.computed[i])
                    resize(call->out[i], node.outputs[i].GetOriginShape());
        });
    }

   private:
    /* Blocks, key and tiling data of a launch. Returns the bytes of workspace. */
    uint64_t decide(Node &node) const {
        if (host) {
            host->tile(node);
            return node.workspaces.empty() ? 0 : node.workspaces[0];
        }
        node.blocks = blocks;
        node.key = key;
        std::memcpy(node.tiling.GetData(), tiling.data(), tiling.size());
        node.tiling.SetDataSize(tiling.size());
        return workspace;
    }

    /* Contexts, chip and cores are shared by all calls of a library: one runs at a time. */
    template <typename F>
    int32_t guarded(const asc_custom_call *call, F f) {
        std::lock_guard<std::mutex> lock(mutex_);
        platform_ascendc::asc_chip() = chip;
        std::string text;
        try {
            f();
            return 0;
        } catch (const Refusal &refusal) {
            text = refusal.text;
        } catch (const std::exception &error) {
            text = error.what();
        } catch (...) {
            text = "the host code throws";
        }
        if (call->error && call->error_bytes) std::snprintf(call->error, call->error_bytes, "%s", text.c_str());
        return 1;
    }

    ge::DataType ge_type(int asc) const {
        for (const TypeRow &row : types)
            if (row.asc == asc) return ge::DataType(row.ge);
        return ge::DT_UNDEFINED;
    }
    uint8_t asc_type(ge::DataType type) const {
        for (const TypeRow &row : types)
            if (row.ge == int(type)) return uint8_t(row.asc);
        throw Refusal{"an output has an element type that the runtime doesn't know"};
    }

    Node described(const asc_custom_call &call) const {
        Node node;
        node.chip = &platform_ascendc::asc_chip();
        if (host) node.type = node.name = host->definition().name;
        uint32_t at = 0;
        for (size_t place = 0; place < dynamic.size(); place++) {
            const bool last = place + 1 == dynamic.size();
            const uint32_t left = call.n_in > at ? call.n_in - at : 0;
            const size_t count = dynamic[place] ? (last ? left : std::min<uint32_t>(left, 1)) : 1;
            const bool absent = left == 0 || call.in[at].dtype == ASC_UNDEFINED;
            node.input_groups.push_back({node.inputs.size(), count, absent, bool(dynamic[place])});
            for (size_t i = 0; i < count; i++) {
                node.inputs.push_back(absent ? gert::Tensor() : tensor(call.in[at]));
                if (at < call.n_in) at++;
            }
        }
        for (size_t i = 0; i < parts.n_outputs; i++) {
            node.output_groups.push_back({i, 1, false, false});
            node.outputs.emplace_back(gert::StorageShape(),
                                      gert::CompileTimeTensorDesc(ge::DT_UNDEFINED, ge::FORMAT_ND), nullptr);
        }
        for (size_t i = 0; i < attributes.size(); i++) add_attribute(node, call, i);
        return node;
    }
    gert::Tensor tensor(const asc_tensor &t) const {
        gert::Shape shape;
        for (int d = 0; d < t.rank; d++) shape.AppendDim(t.dims[d]);
        return gert::Tensor(gert::StorageShape(shape), gert::CompileTimeTensorDesc(ge_type(t.dtype), ge::FORMAT_ND),
                            t.data);
    }
    static void resize(asc_tensor &t, const gert::Shape &shape) {
        t.rank = decltype(t.rank)(shape.GetDimNum());
        int64_t step = 1;
        for (size_t d = shape.GetDimNum(); d-- > 0; step *= std::max<int64_t>(shape.GetDim(d), 1)) {
            t.dims[d] = shape.GetDim(d);
            t.strides[d] = step;
        }
    }
    void place_outputs(Node &node, const asc_custom_call &call) const {
        for (uint32_t i = 0; i < call.n_out; i++) node.outputs[i] = tensor(call.out[i]);
    }
    /* A kernel without host code takes the shapes it was built for. */
    void infer_plain(Node &node) const {
        for (size_t i = 0; i < input_shapes.size() && i < node.inputs.size(); i++) {
            const gert::Shape &shape = node.inputs[i].GetOriginShape();
            bool same = shape.GetDimNum() == input_shapes[i].size();
            for (size_t d = 0; d < input_shapes[i].size() && same; d++)
                same = input_shapes[i][d] < 0 || input_shapes[i][d] == shape.GetDim(d);
            if (!same) throw Refusal{std::string("it was built for another shape of ") + parts.input_names[i]};
        }
        for (size_t i = 0; i < node.outputs.size(); i++) {
            gert::Shape shape;
            for (int64_t d : rules[i].dims) shape.AppendDim(d);
            node.outputs[i] =
                gert::Tensor(gert::StorageShape(shape),
                             gert::CompileTimeTensorDesc(ge::DataType(rules[i].type), ge::FORMAT_ND), nullptr);
        }
        column_of(parts, node);
    }
    void add_attribute(Node &node, const asc_custom_call &call, size_t i) const {
        const asc_attr *given = nullptr;
        for (uint32_t a = 0; a < call.n_attrs; a++)
            if (attributes[i] == call.attrs[a].name) given = &call.attrs[a];
        const std::string kind = kinds[i];
        gert::RuntimeAttrs &to = node.attributes;
        if (!given) return add_default(to, kind, defaults[i]);
        const bool whole = given->kind == ASC_ATTR_INTS;
        const auto at = [&](int32_t k) { return whole ? double(given->ints[k]) : given->floats[k]; };
        if (kind == "string") return to.asc_string(given->string ? given->string : "");
        if (kind == "int" || kind == "bool")
            return to.asc_int(given->count ? (whole ? given->ints[0] : int64_t(at(0))) : 0);
        if (kind == "float") return to.asc_float(given->count ? float(at(0)) : 0);
        if (kind == "floats") {
            std::vector<float> values;
            for (int32_t k = 0; k < given->count; k++) values.push_back(float(at(k)));
            return to.asc_list(values.data(), values.size(), sizeof(float));
        }
        std::vector<int64_t> values;
        for (int32_t k = 0; k < given->count; k++) values.push_back(whole ? given->ints[k] : int64_t(at(k)));
        if (kind == "ints") return to.asc_list(values.data(), values.size(), sizeof(int64_t));
        const std::vector<uint8_t> bools(values.begin(), values.end());
        to.asc_list(bools.data(), bools.size(), 1);
    }
    static void add_default(gert::RuntimeAttrs &to, const std::string &kind, const std::string &bytes) {
        if (kind == "absent") return to.asc_absent();
        if (kind == "string") return to.asc_string(bytes);
        if (kind == "ints") return to.asc_list(bytes.data(), bytes.size() / 8, 8);
        if (kind == "floats") return to.asc_list(bytes.data(), bytes.size() / 4, 4);
        if (kind == "bools") return to.asc_list(bytes.data(), bytes.size(), 1);
        float number = 0;
        int64_t whole = 0;
        if (bytes.size() < (kind == "float" ? sizeof number : sizeof whole)) return to.asc_absent();
        std::memcpy(&number, bytes.data(), sizeof number);
        if (kind == "float") return to.asc_float(number);
        std::memcpy(&whole, bytes.data(), sizeof whole);
        to.asc_int(whole);
    }
    std::mutex mutex_;
};

}  // namespace asc_host
