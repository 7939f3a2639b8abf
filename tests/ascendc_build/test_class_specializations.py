"""Specializations inside of classes, which g++ doesn't read, as it does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ascend_ep.opbuild.ascendc.class_specializations import as_aggregates, constrained
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
BODY = """
    Kernel<char, 100> kernel;
    const bool right = kernel({7}) == 93 && kernel.operator()<1>({7}) == 107 && kernel.size(2.0f) == 4;
    const bool inner = Inner<void>::rank == 0 && Inner<int>::rank == 1;
    Derived derived;
    return right && inner && pair_of(&kernel).second == 5 && kernel.size(2.0) == 10 ? 0 : 2;
"""


@pytest.mark.parametrize("standard", ["-std=c++17", "-std=c++20"])
def test_each_is_called_for_its_arguments(tmp_path: Path, standard: str) -> None:
    (tmp_path / "kernel.h").write_text(HEADER)
    text = f'#include "kernel.h"\nint main() {{\n{BODY}\n}}\n'
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
