/* What a launch asks of a chip: counted by the checked cores, weighed by ascend_ep/cann/chip_rates.py. */
#pragma once

#include <cstddef>
#include <cstdint>

namespace asc_cpu {

/* Accesses of the scalar unit to tensors; repeats of vector instructions (256 bytes); instructions of the matrix unit;
 * bytes that copies read from global memory and write to it. */
enum WorkKind : size_t { WORK_SCALAR, WORK_VECTOR, WORK_CUBE, WORK_READ, WORK_WRITTEN, WORK_KINDS };

/* Of all cores, and of the one that does most of a kind. */
struct Work {
    uint64_t cores = 0;
    uint64_t all[WORK_KINDS] = {}, most[WORK_KINDS] = {};

    void add(const uint64_t (&of_core)[WORK_KINDS]) {
        cores++;
        for (size_t k = 0; k < WORK_KINDS; k++) {
            all[k] += of_core[k];
            if (of_core[k] > most[k]) most[k] = of_core[k];
        }
    }
};
/* Of the last launch. */
inline Work &launch_work() {
    static Work the_work;
    return the_work;
}

}  // namespace asc_cpu
