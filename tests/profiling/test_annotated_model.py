"""The annotated ONNX model: what Netron shows of each node is what the profile has of it."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from ascend_ep.cli.prof import main
from ascend_ep.compiler.convert import convert
from ascend_ep.profiling.annotated_model import CONSTANT, NAMELESS, PREFIX, annotate
from ascend_ep.profiling.collect import run_command
from ascend_ep.profiling.machine import Machine
from ascend_ep.profiling.profile import Profile, open_profile
from ascend_ep.profiling.source_lines import nodes_of
from ascend_ep.profiling.tables import by_node

MACHINE = Machine(1e11, 1e10, 1e9, 2)
PROGRAM = """
import sys, numpy as np, ascend_ep
session = ascend_ep.InferenceSession(sys.argv[1])
for _ in range(30):
    session.run(None, {"x": np.ones((4, 64), np.float32)})
"""


def named() -> onnx.ModelProto:
    """A product with a sum and an activation, a softmax, a sum with tanh, a constant, a node without name."""
    made = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        named (float[4, 64] x) => (float[4, 64] y, float[4, 64] z) {
            [up] a = MatMul(x, w)  [shift] s = Add(a, b)  [act] r = Relu(s)
            [soft] p = Softmax(r)  [twice] t = Add(b, b)  [sum] q = Add(p, t)  [bend] y = Tanh(q)
            [pass] i = Identity(p)  m = Neg(i)  [scale] z = Mul(m, m) }""")
    rng = np.random.default_rng(0)
    for name, shape in (("w", (64, 64)), ("b", (64,))):
        made.graph.initializer.append(
            onnx.numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)
        )
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model m.onnx, and the profile of a program that ran it."""
    made = tmp_path_factory.mktemp("annotated")
    onnx.save(named(), made / "m.onnx")
    (made / "m.om").write_bytes(convert(named()).to_bytes())
    ran = run_command([sys.executable, "-c", PROGRAM, str(made / "m.om")], made, 0)
    assert ran.status == 0
    return made


def told(model: onnx.ModelProto) -> dict[str, dict[str, str]]:
    return {n.name: of(n.metadata_props) for n in model.graph.node}


def of(props: object) -> dict[str, str]:
    found = [(p.key, p.value) for p in props]  # type: ignore[attr-defined]
    assert len(dict(found)) == len(found)
    return {key.removeprefix(PREFIX): value for key, value in found if key.startswith(PREFIX)}


def test_nodes_have_what_their_calls_took(folder: Path) -> None:
    profile, made = open_profile(folder), named()
    assert annotate(made, profile, MACHINE) == 7
    nodes, rows = told(made), {row.name: row for row in by_node(profile)}
    product = "up+shift+act"
    for name in ("up", "shift", "act"):
        assert nodes[name]["part of"] == product
        assert nodes[name]["kernel"] == rows[product].kernel == "matmul"
        assert nodes[name]["bytes"] == str(rows[product].bytes // 30)
        assert nodes[name]["calls"] == "30"
        assert nodes[name]["time (us)"] == f"{rows[product].usual / 30 * 1e6:.3f}"
        assert "latency bound" in nodes[name]["bound"]
    assert nodes["up"]["schedule"] == rows[product].schedule != ""
    assert nodes["soft"]["part of"] == "soft"
    assert nodes["sum"]["part of"] == nodes["bend"]["part of"] == "sum+bend"
    assert nodes["twice"] == {"note": CONSTANT}
    assert nodes[""] == {"note": NAMELESS}
    assert nodes["pass"]["note"].startswith("no call of its own")
    shares = {said["part of"]: float(said["share"].split()[0]) for said in nodes.values() if "share" in said}
    assert 50 < sum(shares.values()) <= 100.1
    assert of(made.metadata_props)["nodes with a call"] == "7 of 10"


def test_again(folder: Path) -> None:
    """A second profile's numbers take the place of the first's, and what others wrote stays."""
    profile, made = open_profile(folder), named()
    made.graph.node[0].metadata_props.add(key="mine", value="stays")
    made.graph.node[4].metadata_props.add(key=PREFIX + "share", value="99 %")
    annotate(made, profile, MACHINE)
    once = made.SerializeToString(deterministic=True)
    annotate(made, profile, MACHINE)
    assert made.SerializeToString(deterministic=True) == once
    assert [p.value for p in made.graph.node[0].metadata_props if p.key == "mine"] == ["stays"]
    assert told(made)["twice"] == {"note": CONSTANT}


def test_namesakes_are_said(folder: Path) -> None:
    made = named()
    made.graph.node[3].name = "bend"
    annotate(made, open_profile(folder), MACHINE)
    assert "2 nodes have this name" in of(made.graph.node[3].metadata_props)["note"]


def test_the_command(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file is the model and nothing else: it converts to the same bundle."""
    target = tmp_path / "with times.onnx"
    flags = [f"--output={tmp_path / 'p.html'}", f"--model={folder / 'm.onnx'}", f"--annotate={target}"]
    assert main(["report", str(folder), *flags]) == 0
    assert capsys.readouterr().out.splitlines() == [str(tmp_path / "p.html"), str(target)]
    made = onnx.load(target)
    onnx.checker.check_model(made, full_check=True)
    assert "share" in told(made)["up"]
    for node in made.graph.node:
        del node.metadata_props[:]
    del made.metadata_props[:]
    assert made == named()


def test_what_can_not_be_written(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, page = folder / "m.onnx", tmp_path / "p.html"
    (tmp_path / "link.onnx").symlink_to(model)
    before = model.read_bytes()
    for code, flags in (
        ("E10004", [f"--annotate={tmp_path / 'a.onnx'}"]),
        ("E10001", [f"--model={model}", "--annotate="]),
        ("E10001", [f"--model={model}", f"--annotate={tmp_path}"]),
        ("E10001", [f"--model={model}", f"--annotate={tmp_path / 'none' / 'a.onnx'}"]),
        ("E10001", [f"--model={model}", f"--annotate={model}"]),
        ("E10001", [f"--model={model}", f"--annotate={tmp_path / 'link.onnx'}"]),
        ("E10001", [f"--model={model}", f"--annotate={page}"]),
        ("E10001", [f"--model={model}", f"--annotate={folder / 'm.om'}", f"--beside={folder / 'm.om'}"]),
        ("E10410", [f"--model={tmp_path / 'none.onnx'}", f"--annotate={tmp_path / 'a.onnx'}"]),
    ):
        assert main(["report", str(folder), f"--output={page}", *flags]) == 1
        assert code in capsys.readouterr().err, flags
        assert not page.exists()
    assert model.read_bytes() == before


def test_another_model(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        other (float[4] x) => (float[4] y) { [elsewhere] y = Neg(x) }""")
    onnx.save(other, tmp_path / "o.onnx")
    target = tmp_path / "a.onnx"
    flags = [f"--model={tmp_path / 'o.onnx'}", f"--annotate={target}", f"--output={tmp_path / 'p.html'}"]
    assert main(["report", str(folder), *flags]) == 1
    assert "E44013" in capsys.readouterr().err
    assert not target.exists()


def test_weights_in_a_file_beside_it(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    onnx.save(named(), tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    flags = [f"--model={tmp_path / 'm.onnx'}", f"--output={tmp_path / 'p.html'}"]
    assert main(["report", str(folder), *flags, f"--annotate={elsewhere / 'a.onnx'}"]) == 1
    assert "lie in files beside it" in capsys.readouterr().err
    assert main(["report", str(folder), *flags, f"--annotate={tmp_path / 'a.onnx'}"]) == 0
    onnx.checker.check_model(str(tmp_path / "a.onnx"))
    for got, wanted in zip(
        onnx.load(tmp_path / "a.onnx").graph.initializer, named().graph.initializer, strict=True
    ):
        assert (onnx.numpy_helper.to_array(got) == onnx.numpy_helper.to_array(wanted)).all()


def test_of_several_models_the_one_that_is_meant(folder: Path, profile: Profile) -> None:
    """Calls of another model in the same profile are not among the times."""
    alone, both = open_profile(folder), named()
    annotate(both, Profile(folder, [*profile.processes, *alone.processes]), MACHINE)
    made = named()
    annotate(made, alone, MACHINE)
    assert told(both) == told(made)


def test_names_of_calls() -> None:
    rng = random.Random(0)
    for _ in range(200):
        words = ["".join(rng.choices("ab/+:", k=rng.randint(1, 4))) for _ in range(rng.randint(1, 5))]
        known = {word.strip("+") or "n" for word in words}
        part = rng.choice(sorted(known))
        assert nodes_of(part, known) == [part]
    known = {"up", "a+b", "act"}
    assert nodes_of("up+a+b+act", known) == ["up", "a+b", "act"]
    assert nodes_of("up:float+act+...", known) == ["up", "act"]
    assert nodes_of("matmul_0", known) == []
