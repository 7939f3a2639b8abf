/* What is no error and slow: said of block 0 when it has ended, and of global memory at the end of the launch. */
#pragma once

#include "events.h"

namespace asc_cpu {

inline void advise_on_block(uint32_t ub) {
    const Core &c = core();
    place().where = c.short_copy;
    if (c.short_copies >= 16 && c.short_copies * 2 > c.copies)
        advise("AdviceCopy", "move 512 bytes or more at a time", "%llu of %llu copies move less than 512 bytes",
               (unsigned long long)c.short_copies, (unsigned long long)c.copies);
    place().where = c.bank_wait;
    if (c.bank_waits >= 1024)
        advise(
            "AdviceBank", "leave 256 bytes between the tensors, or take another stride",
            "%llu repeats of vector instructions have sources in one bank of the unified buffer, or all blocks of one",
            (unsigned long long)c.bank_waits);
    place().where = c.scalar_read;
    if (c.scalar_reads >= 1024)
        advise("AdviceScalar", "write vector instructions instead of a loop over GetValue",
               "the scalar unit reads %llu elements of tensors one by one", (unsigned long long)c.scalar_reads);
    place().where = c.last_buffer;
    if (c.ub_most && c.copies >= 16 && uint64_t(c.ub_most) * 2 < ub)
        advise("AdviceBuffer", "make tiles larger", "%u of %u bytes of the unified buffer are used", c.ub_most, ub);
    place().where = c.atomic_from;
    if (c.atomic != Atomic::None)
        advise("AdviceAtomic", "call SetAtomicNone behind the last copy that is to add",
               "copies to global memory are still atomic when the kernel ends");
    place().where = Where::nowhere();
}

inline void advise_on_globals() {
    for (const Global &g : globals()) {
        place().where = g.reader;
        if (g.bytes >= 4096 && g.read >= 3 * g.bytes)
            advise("AdviceRead", "keep what several tiles need in the unified buffer",
                   "tensor %s: %llu bytes are read of its %llu, each %.1f times", g.name, (unsigned long long)g.read,
                   (unsigned long long)g.bytes, double(g.read) / double(g.bytes));
    }
    place().where = Where::nowhere();
}

}  // namespace asc_cpu
