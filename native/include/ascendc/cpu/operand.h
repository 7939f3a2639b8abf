/* The operands of an instruction: which bytes of which tensor it reads or writes. */
#pragma once

#include "core.h"

namespace asc_cpu {

/* Where a buffer of a queue is in its cycle; buffers of TBuf are always free to use. */
enum class Stage : uint8_t { Calc, Free, Allocated, Queued, Taken };

/* What InitBuffer made: bytes of one memory. `input`: of a queue that copies fill. */
struct Buffer {
    Stage stage = Stage::Calc;
    Space space = Space::UB;
    bool input = false;
    uint32_t begin = 0, bytes = 0, owner = 0, part = 0;
    Clock ready{};                  /* at EnQue, or at FreeTensor */
    Where where = Where::nowhere(); /* of the last AllocTensor */
    uint32_t user = 0;              /* bytes of GetUserTag */
};

/* A buffer that is there as long as the core, whose tensors may outlive the TBuf or TQue that it is of. */
ASC_RUNTIME std::shared_ptr<Buffer> made(Buffer buffer);
#ifndef ASC_CPU_APART
ASC_RUNTIME std::shared_ptr<Buffer> made(Buffer buffer) {
    auto kept = std::make_shared<Buffer>(buffer);
    core().kept.push_back(kept);
    return kept;
}
#endif

/* `repeats` runs of bytes, each `stride` after the one before, from an operand's first element. */
struct Run {
    int64_t begin = 0;
    uint64_t bytes = 0;
    uint32_t repeats = 1;
    int64_t stride = 0;
};

/* One operand of an instruction: the tensor it lies in, and which bytes. More runs than one live with the caller. */
struct Operand {
    Space space;
    bool write;
    uint32_t bits; /* of an element */
    uint32_t align;
    const Buffer *buffer;
    uint8_t *base;
    uint64_t limit; /* bytes of the tensor */
    Run run;
    const Run *more = nullptr;
    uint32_t n_more = 0;
    bool loose = false;          /* not all of it is read: what is unwritten may be among it */
    const void *value = nullptr; /* what a scalar store writes */

    Operand loosely() const {
        Operand other = *this;
        other.loose = true;
        return other;
    }
    Operand storing(const void *what) const {
        Operand other = *this;
        other.value = what;
        return other;
    }
    Operand aligned(uint32_t bytes) const {
        Operand other = *this;
        other.align = bytes;
        return other;
    }
    template <typename F>
    void each_run(F f) const {
        f(run);
        for (uint32_t i = 0; i < n_more; i++) f(more[i]);
    }
};

/* A description of an operand for texts. */
struct Name {
    char text[128];
    explicit Name(const Operand &o) {
        if (o.space == Space::GM) {
            const Global *g = global_at(o.base);
            std::snprintf(text, sizeof text, "tensor %s", g ? g->name : "(none)");
        } else if (o.buffer) {
            const uint32_t at = uint32_t(o.base - core().in(o.space).data());
            std::snprintf(text, sizeof text, "buffer %u (part %u) at byte %u of %u (%s %u)", o.buffer->owner,
                          o.buffer->part, at - o.buffer->begin, o.buffer->bytes, name_of(o.space),
                          core().in(o.space).size());
        } else {
            const Memory &m = core().in(o.space);
            std::snprintf(text, sizeof text, "%s at byte %lld", name_of(o.space),
                          m.holds(o.base) ? (long long)(o.base - core().in(o.space).data()) : -1LL);
        }
    }
};

}  // namespace asc_cpu
