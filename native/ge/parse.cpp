/* parse.cpp - aclgrphParseONNX: a graph is the model as it came; ascend-atc reads its operators when it is built. */
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "graph_impl.h"
#include "options.h"
#include "parser/onnx_parser.h"

namespace {

constexpr uint32_t GRAPH_FIELD = 7; /* of ModelProto */

bool read_varint(const unsigned char *&at, const unsigned char *end, uint64_t &value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && at < end; shift += 7) {
        const unsigned char byte = *at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

/* Whether the bytes are fields of a protobuf message, one of which is the graph. */
bool holds_graph(const char *buffer, size_t size) {
    const auto *at = reinterpret_cast<const unsigned char *>(buffer), *end = at + size;
    bool found = false;
    while (at < end) {
        uint64_t key, value = 0;
        if (!read_varint(at, end, key)) return false;
        size_t skipped = 0;
        switch (key & 7) {
            case 0:
                if (!read_varint(at, end, value)) return false;
                break;
            case 1: skipped = 8; break;
            case 2:
                if (!read_varint(at, end, value)) return false;
                skipped = (size_t)value;
                break;
            case 5: skipped = 4; break;
            default: return false;
        }
        if (skipped > (size_t)(end - at)) return false;
        at += skipped;
        found = found || (key >> 3 == GRAPH_FIELD && (key & 7) == 2);
    }
    return found;
}

}  // namespace

namespace ge {

graphStatus aclgrphParseONNXFromMem(const char *buffer, size_t size, const asc::Options &parser_params, Graph &graph) {
    const graphStatus status = asc::check_options("aclgrphParseONNXFromMem", asc::Stage::parse, parser_params);
    if (status != GRAPH_SUCCESS) return status;
    if (!buffer || !holds_graph(buffer, size))
        return asc::fail("aclgrphParseONNXFromMem", GRAPH_FAILED, "the bytes are no ONNX model with a graph");
    GraphImpl &impl = GraphImpl::made(graph);
    impl.path.clear();
    impl.onnx.assign(buffer, size);
    impl.flags.clear();
    asc::add_flags(parser_params, impl.flags);
    return GRAPH_SUCCESS;
}

graphStatus aclgrphParseONNX(const char *model_file, const asc::Options &parser_params, Graph &graph) {
    const graphStatus status = asc::check_options("aclgrphParseONNX", asc::Stage::parse, parser_params);
    if (status != GRAPH_SUCCESS) return status;
    if (!model_file) return asc::fail("aclgrphParseONNX", GRAPH_PARAM_INVALID, "model_file must not be NULL");
    struct stat info;
    if (::stat(model_file, &info) == 0 && !S_ISREG(info.st_mode)) /* a pipe would be waited for */
        return asc::fail("aclgrphParseONNX", GRAPH_FAILED, std::string(model_file) + " is no regular file");
    errno = 0;
    std::ifstream file(model_file, std::ios::binary);
    if (!file || file.peek() == std::ifstream::traits_type::eof())
        return asc::fail("aclgrphParseONNX", GRAPH_FAILED,
                         std::string(model_file) + " can't be read: " + (errno ? std::strerror(errno) : "it is empty"));
    GraphImpl &impl = GraphImpl::made(graph);
    impl.onnx.clear();
    impl.path = model_file; /* its weights may lie in files beside it */
    impl.flags.clear();
    asc::add_flags(parser_params, impl.flags);
    return GRAPH_SUCCESS;
}

}  // namespace ge
