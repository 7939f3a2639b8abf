/* What is done with an instruction: it is checked, and its work waits for its turn. */
#pragma once

#include "operand.h"

namespace asc_cpu {

/* The instruction that is being checked. */
struct Now {
    uint32_t pipe, id;
    const char *name;
    Clock known;
    bool lanes; /* each element of the result depends on the same element of the operands */
    bool holes = false;
};

/* Checks an instruction and returns what is finished before it. */
ASC_RUNTIME Clock check(pipe_t which, const char *name, Where where, const Operand *operands, size_t n, bool lanes);
/* Does work once its pipe comes to it, which it moves there. */
ASC_RUNTIME void later(pipe_t which, const Clock &needs, ActionRef work);
/* The checks of bytes of a core's memory that an instruction writes. */
ASC_RUNTIME void check_write(const Operand &o, Now &now, uint64_t begin, uint64_t bytes);

}  // namespace asc_cpu
