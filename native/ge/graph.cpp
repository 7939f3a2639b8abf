/* graph.cpp - ge::Graph, and ge::AscendString's functions for programs that look for them in a library. */
#define ASC_GE_EXPORT __attribute__((used, visibility("default")))
#include "graph_impl.h"

namespace ge {

GraphImpl &GraphImpl::made(Graph &graph) {
    if (!graph.impl_) graph.impl_ = std::make_shared<GraphImpl>();
    return *graph.impl_;
}

Graph::Graph(const char *name) {
    GraphImpl::made(*this).name = name ? name : "";
}

bool Graph::IsValid() const {
    return impl_ && !(impl_->onnx.empty() && impl_->path.empty());
}

graphStatus Graph::GetName(AscendString &name) const {
    if (!impl_) return GRAPH_FAILED;
    name = impl_->name.c_str();
    return GRAPH_SUCCESS;
}

}  // namespace ge
