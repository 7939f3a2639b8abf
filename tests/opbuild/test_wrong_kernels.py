"""Kernels that are wrong on purpose: each is caught, and by the layer that is there for its kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ascend_ep.cann.soc import find_soc
from ascend_ep.codegen import symbols
from ascend_ep.codegen.c_source import Source
from ascend_ep.codegen.library_session import TensorSpec
from ascend_ep.frontends.description import describe
from ascend_ep.opbuild.proof import harness
from ascend_ep.opbuild.proof.prove import prove
from ascend_ep.opbuild.proof.subject import Subject, generate
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.proof_report import Report

pytestmark = pytest.mark.usefixtures("compiler")

SOC = find_soc("Ascend910B1")
ROW = "        item0_0(&f, &f, at, n, 0);"
STORE = "    EVERY store_f32(f->q0 + at + u * LANES, v3[u], n, full);"
HALF = "    EVERY store_bf16(f->q0 + at + u * LANES, v3[u], n, full);"


def scaled() -> Subject:
    """y = x * w + 1.5 with a row w, float32."""
    opdef = describe("Scaled(x, w) = x * w + 1.5").opdef
    return Subject(opdef, (TensorSpec(1, (4, 33)), TensorSpec(1, (33,))), {})


def planted(old: str, new: str, dtype: int = dtypes.FLOAT32) -> Callable[[Subject], Source]:
    """The generator, with a piece of the C of one element type replaced."""

    def make(subject: Subject) -> Source:
        source = generate(subject)
        if subject.dtype != dtype:
            return source
        assert old in source.text, "the generated code has changed: plant the mistake elsewhere"
        return replace(source, text=source.text.replace(old, new, 1))

    return make


def proof_of(old: str, new: str, dtype: int = dtypes.FLOAT32) -> Report:
    return prove(scaled(), SOC, planted(old, new, dtype))


def layers(report: Report) -> set[str]:
    return {check.layer for check in report.failures()}


def said(report: Report) -> str:
    return "\n".join(check.detail for check in report.failures())


@pytest.mark.whole_proof
def test_the_right_kernel_passes() -> None:
    report = prove(scaled(), SOC)
    assert report.passed, report.lines()
    assert {c.layer for c in report.checks} == {"static", "numerical", "execution"}
    names = {c.name for c in report.checks}
    assert {"float32", "float16", "bfloat16", "AddressSanitizer", "ThreadSanitizer"} <= names
    assert Report.from_json(report.to_json()) == report


def test_wrong_tail() -> None:
    report = proof_of("pass0_0(f, next, i, end - i, 0, 1);", "pass0_0(f, next, i, end - i - 1, 0, 1);")
    assert "numerical" in layers(report)
    assert "execution" in layers(report), "the element left out holds what was in memory"


def test_off_by_one() -> None:
    report = proof_of("load_f32(f->p0 + at +", "load_f32(f->p0 + at - (at > 0) +")
    assert layers(report) == {"numerical", "execution"}
    assert any(c.name == "compiled against interpreted" for c in report.failures())


def test_missing_nan() -> None:
    lost = "    V v4[TURN];\n"
    lost += "    EVERY for (int k = 0; k < LANES; k++) v4[u][k] = v3[u][k] != v3[u][k] ? 0 : v3[u][k];\n"
    report = proof_of(STORE, lost + STORE.replace("v3", "v4"))
    assert layers(report) == {"numerical", "execution"}
    assert "the reference nan" in said(report)


def test_wrong_broadcast_stride() -> None:
    old = "f->p0 = (const e_f32 *)j->call->in[0].data + f->c0 * j->n1;"
    assert "numerical" in layers(proof_of(old, old.replace("* j->n1", "")))


def test_read_out_of_bounds() -> None:
    peek = "    volatile float peek = ((const volatile float *)f->p1)[at + n]; (void)peek;\n"
    report = proof_of(STORE, peek + STORE)
    assert "execution" in layers(report)
    assert "read 0 bytes after input 1" in said(report)


def test_read_before_the_beginning() -> None:
    peek = "    volatile float peek = ((const volatile float *)f->p1)[at - 1]; (void)peek;\n"
    report = proof_of(STORE, peek + STORE)
    assert "read 4 bytes before input 1" in said(report)


@pytest.mark.whole_proof
def test_read_beyond_memory_on_the_stack() -> None:
    """Only AddressSanitizer sees this one: nothing lies beyond a buffer, and no result changes."""
    peek = "    float room[4]; volatile int past = 4; room[0] = 0;\n"
    peek += "    volatile float seen = room[past]; (void)seen;\n"
    report = proof_of(STORE, peek + STORE)
    assert [c.name for c in report.failures()] == ["AddressSanitizer"]
    assert "stack-buffer" in said(report)


def test_write_out_of_bounds() -> None:
    report = proof_of(ROW, ROW + " if (item + 1 == j->items) ((volatile float *)f.q0)[j->n1] = 0;")
    assert "write 0 bytes after output 0" in said(report)


def test_write_into_an_input() -> None:
    report = proof_of(ROW, ROW + " if (n > 0) ((volatile float *)f.p0)[0] = 0;")
    assert "inside input 0" in said(report)


def test_infinite_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "CPU_SECONDS", 1)
    report = proof_of(ROW, "        volatile int spin = 1; while (spin) {}\n" + ROW)
    assert "execution" in layers(report)
    assert "more than 1 s of processor time" in said(report)


def allow(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Lets kernels call it: what isn't allowed is never run, and what running finds couldn't be seen."""
    monkeypatch.setattr(symbols, "ALLOWED_IMPORTS", symbols.ALLOWED_IMPORTS | {name})


def test_waiting_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "WALL_SECONDS", 1)
    allow(monkeypatch, "pause")
    wait = "    { extern int pause(void); pause(); }\n"
    report = proof_of(ROW, wait + ROW)
    assert layers(report) == {"execution", "numerical"}
    assert "didn't end within 1 s" in said(report)


def test_abort(monkeypatch: pytest.MonkeyPatch) -> None:
    abort = "        { extern void abort(void); abort(); }\n"
    report = proof_of(ROW, abort + ROW)
    assert layers(report) == {"static"}
    assert "it calls abort" in said(report)
    allow(monkeypatch, "abort")
    report = proof_of(ROW, abort + ROW)
    assert "execution" in layers(report)
    assert "SIGABRT" in said(report)


def test_end_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    allow(monkeypatch, "_exit")
    report = proof_of(ROW, "        { extern void _exit(int); _exit(0); }\n" + ROW)
    assert "it ended the process" in said(report)


def test_wrong_rounding() -> None:
    """bfloat16 by cutting the lower half off: half a unit more than rounding, in one element type only."""
    cut = "    V v4[TURN];\n"
    cut += "    EVERY for (int k = 0; k < LANES; k++) { union { float f; uint32_t u; } c = { v3[u][k] };"
    cut += " if (c.f == c.f) c.u &= 0xffff0000u; v4[u][k] = c.f; }\n"
    report = proof_of(HALF, cut + HALF.replace("v3", "v4"), dtypes.BFLOAT16)
    assert [(c.layer, c.name) for c in report.failures()] == [("numerical", "bfloat16")]


def test_uninitialised_output() -> None:
    report = proof_of(ROW, "        if (n == 7) continue;\n" + ROW)
    assert "execution" in layers(report)
    assert "other bits than in the first run" in said(report)


@pytest.mark.whole_proof
def test_thread_race() -> None:
    """A scratch variable that all threads share; one thread alone gets everything right."""
    shared = "    static volatile float shared; V v4[TURN];\n"
    shared += "    EVERY for (int k = 0; k < LANES; k++) { shared = v3[u][k]; v4[u][k] = shared; }\n"
    report = proof_of(STORE, shared + STORE.replace("v3", "v4"))
    assert layers(report) == {"execution"}
    assert "data race" in said(report) or "chunks on threads" in said(report)


def test_chunks_that_need_an_order() -> None:
    old = "static void chunk0(void *arg, int64_t chunk) {\n    const job0 *j = arg;\n"
    new = "static int64_t next_chunk;\n" + old
    new += "    int late = chunk && chunk != next_chunk; next_chunk = chunk + 1;\n"
    make = planted(old, new)

    def ordered(subject: Subject) -> Source:
        source = make(subject)
        wrong = " if (late && n > 0) ((float *)f.q0)[0] = 0;"
        return replace(source, text=source.text.replace(ROW, ROW + wrong, subject.dtype == 1))

    report = prove(scaled(), SOC, ordered)
    assert layers(report) == {"execution"}
    assert "chunks in reverse order" in said(report)


def test_wrong_constant() -> None:
    report = proof_of("0x1.8000000000000p+0", "0x1.8000020000000p+0")
    assert "numerical" in layers(report)


def test_wrong_shape() -> None:
    report = proof_of(
        "call->out[0].dims[1] = call->in[0].dims[1];", "call->out[0].dims[1] = call->in[0].dims[1] + 1;"
    )
    assert "numerical" in layers(report)


def test_a_file_opened() -> None:
    opened = '        { extern int open(const char *, int, ...); open("/dev/null", 0); }\n'
    report = proof_of(ROW, opened + ROW)
    assert layers(report) == {"static"}
    assert "it calls open" in said(report)


def test_too_large_for_the_chip() -> None:
    tiny = replace(SOC, name="Ascend000", ub=1024)
    report = prove(scaled(), tiny)
    assert [c.name for c in report.failures()] == ["unified buffer"]
