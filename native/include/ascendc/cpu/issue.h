/* The one function through which every instruction goes: its pipe, what it reads and writes, its place in the kernel's
 * source, and its work.
 *
 *     issue(PIPE_V, "Add", where, {dst.writes(n), a.reads(n), b.reads(n)}, [=] { ... });
 *
 * Checked, at once: alignment, bounds, whether what it reads was written, and whether the pipes that wrote or read
 * those bytes are known to be finished. The work is done when something waits for it (core.h). It may capture
 * addresses and values, no tensors. With ASCENDC_CPU_NO_CHECK only the work is done, at once.
 */
#pragma once

#include <initializer_list>

#include "instruction.h"
#ifndef ASC_CPU_APART
#include "check.h"
#endif

namespace asc_cpu {

/* Whether an instruction is of a core of the other kind, beside this one in a mixed kernel. */
inline bool is_foreign(std::initializer_list<Operand> operands) {
    if (!core().apart) return false;
    for (const Operand &o : operands)
        if (o.space != Space::GM) return (core().kind == CoreKind::Cube) == (o.space == Space::UB);
    return false;
}

ASC_RUNTIME void issue_checked(pipe_t pipe, const char *name, Where where, std::initializer_list<Operand> operands,
                               bool lanes, ActionRef work);
#ifndef ASC_CPU_APART
ASC_RUNTIME void issue_checked(pipe_t pipe, const char *name, Where where, std::initializer_list<Operand> operands,
                               bool lanes, ActionRef work) {
    if (is_foreign(operands)) return;
    later(pipe, check(pipe, name, where, operands.begin(), operands.size(), lanes), work);
}
#endif
/* An instruction whose result takes every element that it reads. */
template <typename F>
inline void issue(pipe_t pipe, const char *name, Where where, std::initializer_list<Operand> operands, F &&work) {
    if constexpr (CHECKED)
        issue_checked(pipe, name, where, operands, false, work);
    else if (!is_foreign(operands))
        work();
}
/* An elementwise instruction. */
template <typename F>
inline void issue_lanes(pipe_t pipe, const char *name, Where where, std::initializer_list<Operand> operands, F &&work) {
    if constexpr (CHECKED)
        issue_checked(pipe, name, where, operands, true, work);
    else if (!is_foreign(operands))
        work();
}

/* The access of one element by the scalar unit. */
[[gnu::noinline]] inline void scalar_issue(const char *name, Where w, const Operand &o) {
    issue(PIPE_S, name, w, {o}, [] {});
    if (!o.write) core().scalar_reads++, core().scalar_read = w;
    if (o.space == Space::GM) return;
    const Memory &m = core().in(o.space);
    const uint32_t id = m.writer[size_t((o.base - m.begun() + o.run.begin) / BLOCK)];
    core().scalar_knows[id % 8] = id;
}
/* Whether nothing needs to be looked at: in range, written, and by an instruction known to be finished. */
inline bool scalar_reads(Where w, const Buffer *buffer, Space space, const uint8_t *base, uint64_t limit,
                         uint64_t offset, uint64_t bytes) {
    Core &c = *the_core;
    const Memory &m = c.memory[size_t(space)];
    if (!base || offset + bytes > limit || (buffer && (buffer->stage == Stage::Free || buffer->stage == Stage::Queued)))
        return false;
    const uint64_t at = uint64_t(base - m.begun()) + offset;
    const uint32_t id = m.writer[size_t(at / BLOCK)];
    if (c.scalar_knows[id % 8] != id || !m.written.element(at, bytes)) return false;
    place().where = w;
    c.scalar_reads++, c.work[WORK_SCALAR]++, c.scalar_read = w;
    return true;
}
/* Whether the last instruction was a scalar write to the same block. */
inline bool scalar_writes(Where w, const Buffer *buffer, Space space, const uint8_t *base, uint64_t limit,
                          uint64_t offset, uint64_t bytes) {
    Core &c = *the_core;
    Memory &m = c.memory[size_t(space)];
    if (!c.scalar_event || !base || offset + bytes > limit ||
        (buffer && (buffer->stage == Stage::Free || buffer->stage == Stage::Queued)))
        return false;
    const uint64_t at = uint64_t(base - m.begun()) + offset;
    if (m.writer[size_t(at / BLOCK)] != c.scalar_event || c.scalar_event != c.log.size() - 1) return false;
    m.written.set(at, bytes);
    c.work[WORK_SCALAR]++;
    place().where = w;
    return true;
}

}  // namespace asc_cpu
