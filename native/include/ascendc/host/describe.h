/* What a program was built of, as JSON: operators, tiling classes, kernels. */
#pragma once

#include <cstdio>

#include "call.h"

namespace asc_host {

/* Writes JSON with the commas where they belong. */
class Json {
   public:
    void open(char bracket, const char *key = nullptr) {
        begin(key);
        text_ += bracket;
        first_ = true;
    }
    void close(char bracket) {
        text_ += bracket;
        first_ = false;
    }
    void text(const std::string &value, const char *key = nullptr) {
        begin(key);
        quote(value);
    }
    void raw(const std::string &value, const char *key = nullptr) {
        begin(key);
        text_ += value;
    }
    const std::string &str() const { return text_; }

   private:
    void begin(const char *key) {
        if (!first_) text_ += ",";
        first_ = false;
        if (!key) return;
        quote(key);
        text_ += ":";
    }
    void quote(const std::string &value) {
        text_ += '"';
        for (char c : value) {
            if (c == '"' || c == '\\') text_ += '\\';
            text_ += static_cast<unsigned char>(c) < 32 ? ' ' : c;
        }
        text_ += '"';
    }
    std::string text_;
    bool first_ = true;
};

inline void describe_tensor(Json &json, const ops::OpParamDef &spec, bool computed) {
    json.open('{');
    json.text(spec.name, "name");
    json.raw(std::to_string(int(spec.occurrence)), "occurrence");
    json.raw(spec.free_types ? "true" : "false", "free_types");
    json.raw(spec.value_depends ? "true" : "false", "value_depends");
    json.raw(computed ? "true" : "false", "shape_computed");
    json.text(spec.followed, "follows");
    json.open('[', "types");
    for (ge::DataType type : spec.types) json.raw(std::to_string(int(type)));
    json.close(']');
    json.open('[', "formats");
    for (ge::Format format : spec.formats) json.raw(std::to_string(int(format)));
    json.close(']');
    json.close('}');
}

template <typename List>
inline void describe_tensors(Json &json, const List &specs, const char *key, const std::vector<size_t> &computed = {}) {
    json.open('[', key);
    for (size_t i = 0; i < specs.size(); i++)
        describe_tensor(json, specs[i], specs[i].shape_computed || std::count(computed.begin(), computed.end(), i) > 0);
    json.close(']');
}

inline void describe_operator(Json &json, const ops::OpDef &op) {
    json.open('{');
    json.text(op.name, "op");
    const auto &impls = gert::asc_implementations();
    const auto impl = impls.find(op.name);
    const std::vector<size_t> computed = impl != impls.end() ? impl->second.computed : std::vector<size_t>();
    describe_tensors(json, op.inputs, "inputs");
    describe_tensors(json, op.outputs, "outputs", computed);
    json.open('[', "attributes");
    for (const ops::OpAttrDef &a : op.attributes) {
        json.open('{');
        json.text(a.name, "name");
        json.text(a.kind, "type");
        json.raw(a.occurrence == ops::REQUIRED ? "true" : "false", "required");
        if (!a.value.empty()) json.raw(a.value, "default");
        json.close('}');
    }
    json.close(']');
    json.open('[', "chips");
    for (const auto &[chip, config] : op.core.chips) {
        json.open('{');
        json.text(chip, "chip");
        describe_tensors(json, config.inputs, "inputs");
        describe_tensors(json, config.outputs, "outputs", computed);
        json.open('{', "extended");
        for (const auto &[key, value] : config.extended) json.text(value, key.c_str());
        json.close('}');
        json.close('}');
    }
    json.close(']');
    const bool shapes = op.infer_shape || (impl != impls.end() && impl->second.infer_shape);
    const bool tiles = op.core.tiling || (impl != impls.end() && impl->second.tiling);
    json.raw(shapes ? "true" : "false", "infers_shapes");
    json.raw(tiles ? "true" : "false", "tiles");
    json.close('}');
}

inline std::string description() {
    Json json;
    json.open('{');
    json.open('[', "operators");
    for (const auto &op : ops::registered())
        if (op) describe_operator(json, *op);
    json.close(']');
    json.open('[', "tiling");
    for (const TilingClass &c : tiling_classes()) {
        json.open('{');
        json.text(c.name, "name");
        json.raw(std::to_string(c.bytes), "bytes");
        json.open('[', "fields");
        for (const TilingField &f : c.fields) {
            json.open('{');
            json.text(f.type, "type");
            json.text(f.name, "name");
            json.raw(std::to_string(f.count), "count");
            json.close('}');
        }
        json.close(']');
        json.close('}');
    }
    json.close(']');
    json.open('{', "tiling_of");
    for (const auto &[op, name] : tiling_of_operators()) json.text(name, op.c_str());
    json.close('}');
    json.close('}');
    return json.str();
}

inline std::string description(const Kernel &kernel) {
    Json json;
    json.open('{');
    json.open('[', "value_bytes");
    for (size_t i = 0; i < kernel.n_arguments; i++) json.raw(std::to_string(kernel.value_bytes[i]));
    json.close(']');
    json.close('}');
    return json.str();
}

}  // namespace asc_host
