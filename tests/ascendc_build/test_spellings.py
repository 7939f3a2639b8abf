"""Names that only articles write are taken, and said to be none of the device's compiler."""

from __future__ import annotations

from pathlib import Path

from ascend_ep.opbuild.kernels.spellings import unknown_spellings

KERNEL = """#include "kernel_operator.h"
#include "mine.h"
// queue.alloc_tensor<half>() in a comment
extern "C" __global__ __aicore__ void k(GM_ADDR x) {
    GlobalTensor<half> gm;
    gm.set_global_buffer((__gm__ half *)x, 256);
    int first = GET_BLOCK_IDX() * 256;
    LocalTensor<half> t = queue.alloc_tensor<half>();
    t.set_value(0, 0.5h);
    t.set_value(1, half(0x1h));
    box->get_value(first);
    queue.EnQue(t);
    std::deque<int> waiting;
}
"""
MINE = "struct Box {\n    int get_value(int i) const { return i; }\n};\n"


def test_each_is_named_once_with_its_line_and_what_to_write(tmp_path: Path) -> None:
    (tmp_path / "k.cpp").write_text(KERNEL)
    (tmp_path / "mine.h").write_text(MINE)
    assert unknown_spellings(tmp_path / "k.cpp", ()) == [
        "k.cpp:6: the device's compiler doesn't know set_global_buffer; write SetGlobalBuffer",
        "k.cpp:7: the device's compiler doesn't know GET_BLOCK_IDX; write GetBlockIdx",
        "k.cpp:8: the device's compiler doesn't know alloc_tensor; write AllocTensor",
        "k.cpp:9: the device's compiler doesn't know set_value; write SetValue",
        "k.cpp:9: the device's compiler refuses 0.5h; write half(0.5)",
    ]


def test_a_programs_own_names_are_its_own(tmp_path: Path) -> None:
    own = "#define GET_BLOCK_IDX() 0\n__aicore__ inline void __sync_all() {\n}\n"
    (tmp_path / "k.cpp").write_text(own + "void f() { GET_BLOCK_IDX(); __sync_all(); }\n")
    assert unknown_spellings(tmp_path / "k.cpp", ()) == []
