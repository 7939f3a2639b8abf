/* As plain_programs.cpp, of kernels that say themselves on which cores they run: what they say nothing of follows from
 * all that their unit uses. */
#include "launch_program.h"
#include "lib/hccl/hccl.h"
#include "lib/matmul_intf.h"
#include "tiling/matmul_tiling.h"
#include "tiling/tiling_api.h"

namespace kernel_hccl {
#include "kernel_hccl.cpp"
}
namespace linear_add_gelu {
#include "linear_add_gelu.cpp"
}
namespace matmul_object {
#include "matmul_object.cpp"
}

int main(int, char **arguments) {
    const std::string name = arguments[1];
    if (name == "kernel_hccl") return kernel_hccl::main();
    if (name == "linear_add_gelu") return linear_add_gelu::main();
    if (name == "matmul_object") return matmul_object::main();
    return 4;
}
