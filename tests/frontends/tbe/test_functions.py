"""Each function of the DSL against NumPy: all of one kind in one operator, an output for each."""

from __future__ import annotations

import numpy as np
import pytest
from tbe_files import computed, describe_file

F, G, H = (np.random.default_rng(s).uniform(-3, 3, (4, 6)) for s in (1, 2, 3))
P = np.abs(F) + 0.25
C = np.sign(np.round(G)) == 1

FLOATING = {
    "dsl.vadd(x, y)": F + G,
    "dsl.vsub(x, y)": F - G,
    "dsl.vmul(x, y)": F * G,
    "dsl.vdiv(x, p)": F / P,
    "dsl.vmax(x, y)": np.maximum(F, G),
    "dsl.vmin(x, y)": np.minimum(F, G),
    "dsl.vmod(x, p)": np.mod(F, P),
    "dsl.vadds(x, 2.5)": F + 2.5,
    "dsl.vadds(x, tvm.const(-2.5, 'float32'))": F - 2.5,
    "dsl.vsubs(x, 0.5)": F - 0.5,
    "dsl.vmuls(x, tvm.const(-1.0, x.dtype))": -F,
    "dsl.vmuls(x, 3)": F * 3,
    "dsl.vmaxs(x, 0.5)": np.maximum(F, 0.5),
    "dsl.vmins(x, 0.5)": np.minimum(F, 0.5),
    "dsl.vexp(x)": np.exp(F),
    "dsl.vabs(x)": np.abs(F),
    "dsl.vlog(p)": np.log(P),
    "dsl.vlog(p, impl_mode='high_precision')": np.log(P),
    "dsl.vrec(p)": 1 / P,
    "dsl.vsqrt(p)": np.sqrt(P),
    "dsl.vrsqrt(p)": 1 / np.sqrt(P),
    "dsl.vrelu(x)": np.maximum(F, 0),
    "dsl.vlrelu(x, 0.125)": np.where(F >= 0, F, 0.125 * F),
    "dsl.vlrelu(x, alpha=tvm.const(2, 'float32'))": np.where(F >= 0, F, 2 * F),
    "dsl.vaxpy(x, y, 0.5)": 0.5 * F + G,
    "dsl.vmla(x, y, p)": F * G + P,
    "dsl.vmadd(x, y, p)": F * P + G,
    "dsl.vmaddrelu(x, y, p)": np.maximum(F * P + G, 0),
    "dsl.clip(x, 1.5, -0.5)": np.clip(F, -0.5, 1.5),
    "dsl.round_to(x, 1.5, -0.5)": np.clip(F, -0.5, 1.5),
    "dsl.cast_to(dsl.floor(x), 'float32')": np.floor(F),
    "dsl.cast_to(dsl.ceil(x), 'float32')": np.ceil(F),
    "dsl.cast_to(dsl.round(dsl.vmuls(x, 2.0)), 'float32')": np.rint(F * 2),
    "dsl.cast_to(dsl.trunc(x), 'float32')": np.trunc(F),
    "dsl.cast_to(dsl.round_half_up(x), 'float32')": np.floor(F + 0.5),
    "dsl.cast_to(dsl.cast_to(x, 'int32'), 'float32')": np.trunc(F),
    "dsl.cast_to(dsl.cast_to(dsl.vmuls(x, 100.0), 'int8'), 'float32')": np.clip(np.trunc(F * 100), -128, 127),
    "dsl.cast_to(dsl.vcmp(x, y, 'lt'), 'float32')": (F < G).astype(float),
    "dsl.cast_to(dsl.vcmp(x, 0.5, 'ge', 'bool'), 'float32')": (F >= 0.5).astype(float),
    "dsl.vsel(dsl.vcmp(x, y, 'gt'), x, p)": np.where(F > G, F, P),
    "dsl.vsel(dsl.vcmp(x, y, 'le'), 1.5, tvm.const(0.5, 'float32'))": np.where(F <= G, 1.5, 0.5),
    "dsl.vcmpsel(x, y, 'gt', p, 0.0)": np.where(F > G, P, 0),
    "dsl.vcmpsel(x)": np.where(F < 2, F, 0),
    "dsl.vcmpsel(x, y, 'ne')": np.where(F != G, F, G),
    "dsl.vcmpsel(x, 1.0, 'lt')": np.where(F < 1, F, 0),
    "dsl.cast_to(dsl.vlogic(more(x), more(y), 'logic_and'), 'float32')": ((F > 0) & (G > 0)).astype(float),
    "dsl.cast_to(dsl.vlogic(more(x), more(y), 'logic_or'), 'float32')": ((F > 0) | (G > 0)).astype(float),
    "dsl.cast_to(dsl.vlogic(more(x), operation='logic_not'), 'float32')": (F <= 0).astype(float),
    "dsl.cast_to(dsl.vor(more(x), more(y)), 'float32')": ((F > 0) | (G > 0)).astype(float),
    "dsl.cast_to(dsl.vand(more(x), more(y)), 'float32')": ((F > 0) & (G > 0)).astype(float),
    "dsl.cast_to(dsl.vnot(more(x)), 'float32')": (F <= 0).astype(float),
    "dsl.set_value(x, lambda i, j: x[i, j] < 0, 7.0)": np.where(F < 0, 7, F),
    "dsl.set_value(x, lambda i, j: y[i, j] < 0, lambda i, j: p[i, j])": np.where(G < 0, P, F),
    "dsl.vmul(x, dsl.broadcast(tvm.const(2.0, 'float32'), x.shape))": 2 * F,
    "dsl.broadcast(tvm.const(2.0, 'float32'), x.shape)": np.full_like(F, 2),
    "dsl.sum(x, axis=1, keepdims=True)": F.sum(1, keepdims=True),
    "dsl.sum(x, -1)": F.sum(-1),
    "dsl.reduce_sum(x, [0, 1], True)": F.sum(keepdims=True),
    "dsl.reduce_sum(x, axis=0)": F.sum(0),
    "dsl.reduce_max(x, axis=[1], keepdims=True)": F.max(1, keepdims=True),
    "dsl.reduce_min(x, axis=(0,), keepdims=True)": F.min(0, keepdims=True),
    "dsl.reduce_prod(x, axis=-1, keepdims=True)": F.prod(-1, keepdims=True),
    "dsl.reduce_mean(x, axis=-1, keepdims=True)": F.mean(-1, keepdims=True),
    "dsl.tuple_sum([x, y], 1, True)[1]": G.sum(1, keepdims=True),
    "dsl.vsub(x, dsl.broadcast(dsl.reduce_max(x, 1, True), x.shape))": F - F.max(1, keepdims=True),
    "dsl.reduce_sum(dsl.broadcast(tvm.const(1.0, 'float32'), x.shape), 1)": np.full(4, 6.0),
    "dsl.reduce_sum(dsl.broadcast(dsl.reduce_max(x, 1, True), x.shape), 1, True)": 6
    * F.max(1, keepdims=True),
}
COMPUTED = {
    "tvm.compute(x.shape, lambda *i: x(*i) * y(*i))": F * G,
    "tvm.compute(x.shape, lambda i, j: x[i, j] - 2 * y[i, j] / p[i, j])": F - 2 * G / P,
    "tvm.compute(x.shape, lambda *i: tvm.select(x(*i) > 0, x(*i), 0.1 * x(*i)))": np.where(F > 0, F, 0.1 * F),
    "tvm.compute(x.shape, lambda *i: tvm.exp(-x(*i)) + tvm.sqrt(p(*i)))": np.exp(-F) + np.sqrt(P),
    "tvm.compute(x.shape, lambda *i: tvm.max(x(*i), 0.5))": np.maximum(F, 0.5),
    "tvm.compute(x.shape, lambda *i: tvm.if_then_else(tvm.all(x(*i) > 0, y(*i) > 0), 1.0, 2.0))": np.where(
        (F > 0) & (G > 0), 1, 2
    ),
    "tvm.compute(x.shape, lambda *i: x(*i).astype('int32').astype('float32'))": np.trunc(F),
    "tvm.compute((4,), lambda i: tvm.sum(x[i, k], axis=k))": F.sum(1),
    "tvm.compute((6,), lambda j: tvm.max(x[r, j], axis=r))": F.max(0),
    "tvm.compute((4, 4), lambda i, j: tvm.sum(x[i, k] * y[j, k], axis=k))": F @ G.T,
    "tvm.compute((1,), lambda i: tvm.sum(x[r, k], axis=[r, k]))": F.sum().reshape(1),
    "tvm.compute(x.shape, lambda i, j: x[i, j] + row[j])": F + G[0],
    "tvm.compute(x.shape, lambda i, j: x[i, j] * column[i, 0])": F * G[:, :1],
    "tvm.compute(x.shape, lambda i, j: x[i, j] * j.astype('float32'))": F * np.arange(6),
}


def operator(expressions: list[str], inputs: str) -> str:
    outputs = "\n        ".join(f"results.append({e})" for e in expressions)
    return f"""
    import te.lang.cce as dsl
    from te import tvm

    def more(t):
        return dsl.vcmp(t, 0.0, "gt")

    def every_compute({inputs}):
        results = []
        k, r = tvm.reduce_axis((0, x.shape[1]), "k"), tvm.reduce_axis((0, x.shape[0]), "r")
        {outputs}
        return results
    """


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    folder = tmp_path_factory.mktemp("functions")
    shape = (4, 6)
    dsl = describe_file(folder, operator(list(FLOATING), "x, y, p"), shape, shape, shape)
    tvm = describe_file(
        folder, operator(list(COMPUTED), "x, y, p, row, column"), shape, shape, shape, (6,), (4, 1)
    )
    assert not dsl.warnings
    results = dict(zip(FLOATING, computed(dsl, F, G, P), strict=True))
    return results | dict(zip(COMPUTED, computed(tvm, F, G, P, G[0], G[:, :1]), strict=True))


@pytest.mark.parametrize("call", [*FLOATING, *COMPUTED])
def test_function(outputs: dict[str, np.ndarray], call: str) -> None:
    wanted = (FLOATING | COMPUTED)[call]
    assert outputs[call].shape == wanted.shape
    np.testing.assert_allclose(outputs[call], wanted, rtol=1e-12, atol=1e-14)


def test_bits_of_integers(tmp_path) -> None:
    text = """
    import tbe.dsl as dsl

    def bits_compute(a, b):
        return [dsl.vand(a, b), dsl.vor(a, b), dsl.vnot(a)]
    """
    rng = np.random.default_rng(4)
    for kind in ("int16", "uint16"):
        a, b = (rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, (5, 7), dtype=kind) for _ in range(2))
        described = describe_file(tmp_path, text, (5, 7), (5, 7), types=f"{kind} {kind}")
        for got, wanted in zip(computed(described, a, b), (a & b, a | b, ~a), strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_masks_of_bits(tmp_path) -> None:
    text = """
    import te.lang.cce as dsl

    def masked_compute(x, y):
        mask = dsl.vcmp(x, y, "gt", "bit")
        assert list(mask.shape) == [4, 2] and mask.dtype == "uint8"
        return dsl.vsel(mask, x, y)
    """
    described = describe_file(tmp_path, text, (4, 16), (4, 16))
    x, y = np.random.default_rng(5).normal(size=(2, 4, 16))
    np.testing.assert_array_equal(computed(described, x, y), np.maximum(x, y))


def test_integer_tensors(tmp_path) -> None:
    text = """
    import tbe.dsl as dsl

    def steps_compute(x):
        return dsl.vadds(dsl.vmuls(x, 3), -1)
    """
    described = describe_file(tmp_path, text, (9,), types="int32")
    np.testing.assert_array_equal(computed(described, np.arange(9, dtype=np.int32)), np.arange(9) * 3 - 1)
    assert [t.types for t in (*described.opdef.inputs, *described.opdef.outputs)] == [(6,), (6,)]
