/* graph_impl.h - what a ge::Graph holds. */
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace ge {

class GraphImpl {
   public:
    static GraphImpl *of(const Graph &graph) { return graph.impl_.get(); }
    /* Made where the graph has none. */
    static GraphImpl &made(Graph &graph);

    std::string name;
    std::string onnx;               /* the model's bytes, or */
    std::string path;               /* the file that holds them */
    std::vector<std::string> flags; /* of ascend-atc, that the parser was given */
};

}  // namespace ge
