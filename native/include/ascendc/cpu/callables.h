/* Callables that functions take without being templates. Of each lambda the compiler makes one function here, where
 * std::function has seven, and a template all that it calls: those were a third of the functions of generated kernels.
 */
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace asc_cpu {

/* What a caller holds, for as long as it does. */
class ActionRef {
   public:
    template <typename F, typename = std::enable_if_t<!std::is_same_v<std::decay_t<F>, ActionRef>>>
    ActionRef(F &&callable)
        : state_(const_cast<void *>(static_cast<const void *>(std::addressof(callable)))),
          act_(&act<std::remove_reference_t<F>>) {}
    void operator()() const { act_(state_, Deed::Run); }

   private:
    friend class Action;
    enum class Deed : uint8_t { Run, Move, Forget };
    template <typename F>
    static void *act(void *state, Deed deed) {
        F *callable = static_cast<F *>(state);
        if (deed == Deed::Run) (*callable)();
        if (deed == Deed::Move) return new std::remove_const_t<F>(std::move(*callable));
        if (deed == Deed::Forget) delete callable;
        return nullptr;
    }
    void *state_;
    void *(*act_)(void *, Deed);
};

/* The callable itself, moved to where it outlives its caller. */
class Action {
   public:
    explicit Action(ActionRef given) : held_(given) { held_.state_ = given.act_(given.state_, ActionRef::Deed::Move); }
    Action(Action &&from) noexcept : held_(from.held_) { from.held_.state_ = nullptr; }
    Action(const Action &) = delete;
    Action &operator=(const Action &) = delete;
    ~Action() {
        if (held_.state_) held_.act_(held_.state_, ActionRef::Deed::Forget);
    }
    void operator()() const { held_(); }

   private:
    ActionRef held_;
};

/* Whether something holds, asked of what a caller holds; null: there is nothing to ask. */
class ConditionRef {
   public:
    ConditionRef(std::nullptr_t = nullptr) {}
    template <typename F, typename = std::enable_if_t<!std::is_same_v<std::decay_t<F>, ConditionRef>>>
    ConditionRef(const F &callable)
        : state_(&callable), holds_([](const void *state) { return bool((*static_cast<const F *>(state))()); }) {}
    explicit operator bool() const { return holds_; }
    bool operator()() const { return holds_(state_); }

   private:
    const void *state_ = nullptr;
    bool (*holds_)(const void *) = nullptr;
};

}  // namespace asc_cpu
