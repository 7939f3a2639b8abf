/* How threads of a SIMT function take turns. Included by threads.h, behind the class. */
#pragma once

#include <algorithm>

namespace asc_cpu::simt {

ASC_RUNTIME Threads::~Threads() {
    for (auto &c : contexts_) ::munmap(c->stack, STACK);
}
ASC_RUNTIME void Threads::run(const Dim3 &dims, ActionRef body) {
    body_ = &body, dims_ = dims;
    next_ = ended_ = 0, total_ = uint32_t(dims.size());
    the_threads = dims;
    error_ = nullptr, ready_.clear(), waiting_.clear(), free_.clear();
    for (auto &c : contexts_) free_.push_back(c.get());
    running_ = true;
    while (ended_ < total_ && !error_) {
        if (Context *c = next_context())
            resume(*c);
        else
            release();
    }
    running_ = false;
    if (error_) std::rethrow_exception(error_);
}
ASC_RUNTIME void Threads::wait(Waits what, uint64_t brings, Where w, const char *name) {
    if (!running_)
        fail_with("ErrorParam", "call it in a function that VF_CALL starts", "%s without SIMT threads", name);
    Context &c = *current_;
    c.waits = what, c.brings = brings, c.where = w;
    waiting_.push_back(&c);
    ::swapcontext(&c.registers, &scheduler_);
}
ASC_RUNTIME Context *Threads::next_context() {
    if (!ready_.empty()) {
        Context *c = ready_.front();
        ready_.pop_front();
        return c;
    }
    if (next_ == total_) return nullptr;
    if (free_.empty()) {
        contexts_.push_back(std::make_unique<Context>());
        void *at = ::mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED) throw std::bad_alloc();
        contexts_.back()->stack = at;
        free_.push_back(contexts_.back().get());
    }
    Context *c = free_.back();
    free_.pop_back();
    ::getcontext(&c->registers);
    c->registers.uc_stack.ss_sp = c->stack, c->registers.uc_stack.ss_size = STACK;
    c->registers.uc_link = &scheduler_;
    starting_ = this;
    ::makecontext(&c->registers, &Threads::enter, 0);
    c->thread = next_;
    return c;
}
ASC_RUNTIME void Threads::resume(Context &c) {
    c.waits = Waits::No;
    current_ = &c;
    become(c.thread);
    ::swapcontext(&scheduler_, &c.registers);
    current_ = nullptr;
}
ASC_RUNTIME void Threads::become(uint32_t thread) {
    the_thread = {thread % dims_.x, thread / dims_.x % dims_.y, thread / dims_.x / dims_.y};
}
ASC_RUNTIME void Threads::enter() {
    starting_->run_threads(*starting_->current_);
}
ASC_RUNTIME void Threads::run_threads(Context &c) {
    while (next_ < total_ && !error_) {
        c.thread = next_++;
        become(c.thread);
        try {
            (*body_)();
        } catch (...) {
            error_ = std::current_exception();
        }
        ended_++;
    }
    free_.push_back(&c);
    ::swapcontext(&c.registers, &scheduler_);
}
inline bool together(const Context &a, const Context &b) {
    return a.where.line == b.where.line;
}
inline void order(std::vector<Context *> &all) {
    std::sort(all.begin(), all.end(), [](const Context *a, const Context *b) { return a->thread < b->thread; });
}
ASC_RUNTIME void Threads::release() {
    if (release_warps()) return;
    if (ended_) {
        const Where where = waiting_.front()->where;
        place().where = where;
        running_ = false;
        fail_with("ErrorSync6", "let every thread of the block reach it, outside of branches",
                  "asc_syncthreads, which %u of %u threads never reach", ended_, total_);
    }
    std::vector<Context *> all(waiting_.begin(), waiting_.end());
    waiting_.clear();
    order(all);
    ready_.insert(ready_.end(), all.begin(), all.end());
}
ASC_RUNTIME bool Threads::release_warps() {
    std::vector<Context *> all;
    for (Context *c : waiting_)
        if (c->waits == Waits::ForWarp) all.push_back(c);
    if (all.empty()) return false;
    order(all);
    for (size_t begin = 0, end; begin < all.size(); begin = end) {
        WarpValues values;
        for (end = begin; end < all.size() && all[end]->thread / WARP == all[begin]->thread / WARP; end++)
            if (together(*all[end], *all[begin])) {
                values.value[all[end]->thread % WARP] = all[end]->brings;
                values.active |= 1u << all[end]->thread % WARP;
            }
        for (size_t i = begin; i < end; i++)
            if (together(*all[i], *all[begin])) {
                all[i]->gets = values;
                ready_.push_back(all[i]);
                waiting_.erase(std::find(waiting_.begin(), waiting_.end(), all[i]));
            }
    }
    return true;
}
ASC_RUNTIME Threads &threads() {
    static Threads all;
    return all;
}

}  // namespace asc_cpu::simt
