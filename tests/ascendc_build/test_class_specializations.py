"""Specializations inside of classes, which g++ doesn't read, as it does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ascend_ep.opbuild.ascendc.class_specializations import as_aggregates, constrained, has_in_class
from ascend_ep.opbuild.ascendc.cpp import Unit, linked

HEADER = """
template <typename Kind, int base>
struct Kernel {
    struct Given { int x; };
    const char *text = "}{";
    char open = '{';
    template <int CORE = 2>
    inline int operator()(Given const &given);
    template <>
    inline int operator()<1>(Given const &given)
    {
        return base + given.x;
    }
    template <> inline int operator()<2>(Given const &given) { return base - given.x; }

    template <typename T, int n = 1'0>
    int size(T x) { return n; }
    template <>
    int size<float>(float x) { return 4; }

    template <class T, bool is_large = false>
    struct Layout {
        static constexpr int rank = 1;
    };
    template <>
    struct Layout<void, false> {
        static constexpr int rank = 0;
    };
};
template <>
struct Kernel<int, 0> {};
struct Base {
    virtual ~Base() = default;
};
struct Derived : Base {
    ~Derived() override {}
};
struct Pair {
    Kernel<char, 100> *first;
    int second = 0;
    inline __attribute__((always_inline))
    Pair() = default;
};
inline Pair pair_of(Kernel<char, 100> *first) {
    Pair pair;
    pair = {first, 5};
    return pair;
}
template <class T>
using Inner = Kernel<char, 100>::Layout<T>;
"""
#: Each `is_1` and `of<...>` is 1 where the specialization is chosen, and 0 otherwise.
FORMS = """
template <typename T> struct Tile { T x; };
template <int n> struct Size {};
enum class Layout { ROWS, COLUMNS };
namespace lib { using Number = int; }
struct Base1 { int b = 0; };
template <int D> struct alignas(sizeof(int) * 4) Forms : Tile<decltype(1 + 1)>, Base1 {
    template <int N> Tile<int> tile(int x) { return {0}; }
    template <> Tile<int> tile<1>(int x) { return {1}; }
    template <bool> struct Of { static constexpr int is_1 = 0; };
    template <> struct Of<true> { static constexpr int is_1 = 1; };
    template <typename... R> struct Types { static constexpr int is_1 = 0; };
    template <> struct Types<int, Tile<float>> { static constexpr int is_1 = 1; };
    template <> struct Types<> { static constexpr int is_1 = 1; };
    template <typename T, T... v> struct Values final { static constexpr int is_1 = 0; };
    template <> struct Values<int, 2, 1> final : Base1 { static constexpr int is_1 = 1; };
    template <typename T, typename... R> int pack(T x) { return 0; }
    template <> int pack<float, int>(float x) { return 1; }
    template <typename T, typename... R> int deduced(T x, const R &...r) { return 0; }
    template <> int deduced(float, const int &a, const Tile<int> &b) { return 1; }
    template <int... v> int numbers(int x) { return 0; }
    template <> int numbers<1, 2>(int x) { return 1; }
    template <typename T> int plain(const T &x) { return 0; }
    template <> int plain(const unsigned int &) { return 1; }
    template <typename T, int n> static constexpr int nested(Tile<T> x, Size<n>, T *y = nullptr) { return 0; }
    template <> constexpr int nested(Tile<Tile<int>> t, Size<3>, Tile<int> *) { return 1; }
    template <int N = 0, int M = (N > 1 ? 5 : 2)> int computed() { return 0; }
    template <> int computed<1>() { return 1; }
    template <Layout, typename lib::Number n = 4> inline __attribute__((noinline))
    auto mode() -> int { return 0; }
    template <> inline __attribute__((noinline)) auto mode<Layout::COLUMNS>() -> int
    {
        int asc_n = 1, N = asc_n;
        return N;
    }
    template <typename T> int operator+=(T x) { return 0; }
    template <> int operator+=<float>(float x) { return 1; }
    template <typename T> int over(T *x) { return 0; }
    template <typename T> int over(T *x, int y) { return 2; }
    template <> int over<float>(float *x) { return 1; }
    template <> int over(
        int *x,
        int y) { return 3; }
    struct Inner {
        template <typename T> int f(T x) { return x < T(1) && T(2) > x ? 0 : 0; }
        template <> int f(float x) { return 1; }
    };
};
int forms() {
    using K = Forms<0>;
    K k;
    const Tile<int> t{1};
    unsigned u = 1;
    float f = 0;
    int i = 0, line = __LINE__;
    const bool chosen =
        k.tile<1>(2).x && K::Of<true>::is_1 && K::Types<int, Tile<float>>::is_1 && K::Types<>::is_1 &&
        K::Values<int, 2, 1>::is_1 && k.pack<float, int>(1) && k.deduced(1.0f, 3, t) && k.numbers<1, 2>(1) &&
        k.plain(u) && k.nested(Tile<Tile<int>>(), Size<3>()) && k.computed<1>() && k.computed<1, 2>() &&
        k.mode<Layout::COLUMNS>() && k.mode<Layout::COLUMNS, 4>() && (k += f) && k.over(&f) &&
        k.over(&i, 1) == 3 && Forms<1>::Inner().f(1.0f);
    const bool others =
        k.tile<2>(2).x + K::Of<false>::is_1 + K::Types<int>::is_1 + K::Values<int, 2>::is_1 + k.pack(1.0f) +
        k.deduced(1.0f, 3) + k.numbers(1) + k.numbers<1>(1) + k.plain(1) + k.nested(Tile<int>(), Size<3>()) +
        k.computed() + k.computed<1, 3>() + k.mode<Layout::ROWS>() + k.mode<Layout::COLUMNS, 5>() +
        (k += 1) + k.over(&u) + Forms<1>::Inner().f(1.0);
    return chosen && !others ? line : 0;
}
"""
BODY = """
    Kernel<char, 100> kernel;
    const bool right = kernel({7}) == 93 && kernel.operator()<1>({7}) == 107 && kernel.size(2.0f) == 4;
    const bool inner = Inner<void>::rank == 0 && Inner<int>::rank == 1;
    Derived derived;
    if (forms() != FORMS_LINE) return 1;
    return right && inner && pair_of(&kernel).second == 5 && kernel.size(2.0) == 10 ? 0 : 2;
"""


@pytest.mark.parametrize("standard", ["-std=c++17", "-std=c++20"])
def test_each_is_called_for_its_arguments(tmp_path: Path, standard: str) -> None:
    (tmp_path / "kernel.h").write_text(HEADER)
    (tmp_path / "forms.h").write_text(FORMS)
    line = FORMS[: FORMS.index("__LINE__")].count("\n") + 1
    text = f'#include "kernel.h"\n#include "forms.h"\n#define FORMS_LINE {line}\nint main() {{\n{BODY}\n}}\n'
    program = linked([Unit("one", text, folders=(tmp_path,), flags=(standard,))], "run", tmp_path)
    assert subprocess.run([program], check=False).returncode == 0


def test_lines_and_what_is_outside_of_classes_stay() -> None:
    made = constrained(HEADER)
    assert made.count("\n") == HEADER.count("\n")
    assert made.count("template <>") == 1
    plain = "namespace n {\ntemplate <typename T> int f(T);\ntemplate <> int f<int>(int) { return 0; }\n}\n"
    assert constrained(plain) == plain


def test_classes_with_other_constructors_and_of_the_system_stay() -> None:
    other = "struct A {\n    int x;\n    A() = default;\n    A(int y) : x(y) {}\n};\n"
    of_system = '# 1 "/usr/include/tag.h" 1 3 4\nstruct Tag {\n    explicit Tag() = default;\n};\n'
    assert as_aggregates(other + of_system) == other + of_system


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("struct K { template <int> int f(); template <> int f<1>() { return 1; } };", True),
        ("struct K {\ntemplate <>\nint f<1>();\n};", True),
        ("template <> struct K<1> { int x; };\ntemplate <> int f<1>() { return 1; }", False),
        ("struct K { /* template <> */ int x; };", False),
    ],
)
def test_where_a_unit_is_looked_at_for_them(tmp_path: Path, text: str, expected: bool) -> None:
    (tmp_path / "kernel.h").write_text(text)
    assert has_in_class([tmp_path / "kernel.h"]) is expected
