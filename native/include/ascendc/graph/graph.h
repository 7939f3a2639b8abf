/* ge::Graph: a model that aclgrphParseONNX read and aclgrphBuildModel compiles. Our own implementation of public names,
 * in libascend_ge.so. */
#pragma once
#pragma GCC system_header

#include <memory>

#include "ascend_string.h"
#include "types.h"

#pragma GCC visibility push(default)
namespace ge {

class GraphImpl;

class Graph {
   public:
    Graph() = default;
    explicit Graph(const char *name);
    ~Graph() = default;

    bool IsValid() const;
    graphStatus GetName(AscendString &name) const;

   private:
    friend class GraphImpl;
    std::shared_ptr<GraphImpl> impl_;
};

}  // namespace ge
#pragma GCC visibility pop
