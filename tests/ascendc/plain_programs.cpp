/* Programs in one: our headers and their checks, which most of a program's compilation takes, are compiled once for
 * all. The first argument says which. Their launches say on which cores they run. */
#include "faulty_kernel.h"
#include "launch_program.h"
#include "simt_api/asc_simt.h"
#include "tiling/tiling_api.h"

namespace cube_instructions {
#include "cube_instructions.cpp"
}
namespace faulty_advice {
#include "faulty_advice.cpp"
}
namespace faulty_asserts {
#include "faulty_asserts.cpp"
}
namespace faulty_cores {
#include "faulty_cores.cpp"
}
namespace faulty_ends {
#include "faulty_ends.cpp"
}
namespace faulty_launches {
#include "faulty_launches.cpp"
}
namespace faulty_order {
#include "faulty_order.cpp"
}
namespace faulty_queues {
#include "faulty_queues.cpp"
}
namespace faulty_ranges {
#include "faulty_ranges.cpp"
}
namespace high_level {
#include "high_level.cpp"
}
namespace own_addresses {
#include "own_addresses.cpp"
}
namespace registers {
#include "registers.cpp"
}
namespace simt_threads {
#include "simt_threads.cpp"
}
namespace vector_instructions {
#include "vector_instructions.cpp"
}

int main(int, char **arguments) {
    const std::string name = arguments[1];
    if (name == "cube_instructions") return cube_instructions::main();
    if (name == "faulty_advice") return faulty_advice::main();
    if (name == "faulty_asserts") return faulty_asserts::main();
    if (name == "faulty_cores") return faulty_cores::main();
    if (name == "faulty_ends") return faulty_ends::main();
    if (name == "faulty_launches") return faulty_launches::main();
    if (name == "faulty_order") return faulty_order::main();
    if (name == "faulty_queues") return faulty_queues::main();
    if (name == "faulty_ranges") return faulty_ranges::main();
    if (name == "high_level") return high_level::main();
    if (name == "own_addresses") return own_addresses::main();
    if (name == "registers") return registers::main();
    if (name == "simt_threads") return simt_threads::main();
    if (name == "vector_instructions") return vector_instructions::main();
    return 4;
}
