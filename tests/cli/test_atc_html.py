"""--html: one page that says what became of every node, and that loads nothing."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import onnx
import pytest

from ascend_ep.cli.arena_slots import arenas
from ascend_ep.cli.atc import main
from ascend_ep.cli.html_graph import HEIGHT, WIDTH, Node, drawing

MODEL = """<ir_version: 8, opset_import: ["": 17]>
  layer (float[4, 8] x) => (float[4, 8] y, string[4] s)
    <float[8, 8] w = {%s}, float[8] b = {1, 2, 3, 4, 5, 6, 7, 8}> {
    a = MatMul(x, w)  c = Add(a, b)  r = Relu(c)  i = Identity(r)  e = Exp(i)
    t = Transpose(e)  u = Transpose(t)  m = ReduceSum<keepdims = 0>(u, axes)
    s = Cast<to = 8>(m)  y = MatMul(u, w) }"""


class _Tags(HTMLParser):
    """Every tag is closed, and nothing names an address."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not {"src", "href"} & {name for name, _ in attrs}
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("html")
    weights = ", ".join(str(i / 61) for i in range(64))
    model = onnx.parser.parse_model(MODEL.replace("%s", weights))
    model.graph.initializer.append(onnx.helper.make_tensor("axes", 7, [1], [1]))
    onnx.save(model, folder / "m.onnx")
    flags = [f"--model={folder / 'm.onnx'}", f"--output={folder / 'm'}", f"--html={folder / 'r.html'}"]
    assert main([*flags, "--framework=5", "--soc_version=Ascend910B3", "--precision_mode_v2=origin"]) == 0
    return (folder / "r.html").read_text(), folder / "m.om"


def test_it_is_whole_and_alone(made: tuple[str, Path]) -> None:
    text, _ = made
    tags = _Tags()
    tags.feed(text)
    assert tags.open == []
    assert not re.search(r"https?://|url\(|@import|<script", text)
    assert "prefers-color-scheme: dark" in text
    for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        ET.fromstring(svg)


def test_it_says_what_became_of_the_nodes(made: tuple[str, Path]) -> None:
    text, _ = made
    pattern = r'<svg role="img" aria-label="(?:the model|the instructions).*?</svg>'
    before, after = re.findall(pattern, text, re.DOTALL)
    assert before.count("<g ") == 10
    assert len(re.findall(r'<g class="fused"><title>Transpose', before)) == 2
    assert len(re.findall(r'<g class="host"><title>Cast', before)) == 1
    assert ">matmul<" in after
    assert ">onnxruntime<" in after
    assert "ProductEpilogueFusionPass" in text
    assert re.search(r"<td>s</td><td>Cast</td><td>[^<]+</td>", text)
    assert "<td>float</td><td>panel32</td>" in text


def test_temporaries_that_live_together_lie_apart(made: tuple[str, Path]) -> None:
    found = [arena for arena in arenas(str(made[1])) if arena.slots]
    assert found
    for arena in found:
        assert all(s.offset + s.size <= arena.size for s in arena.slots)
        for one in arena.slots:
            for other in arena.slots:
                together = one.first < other.last and other.first < one.last  # else in place
                if one is not other and together:
                    assert one.offset + one.size <= other.offset or other.offset + other.size <= one.offset


def test_boxes_never_overlap() -> None:
    nodes = [Node(str(i), "Op", "", tuple(map(str, range(max(0, i - 3), i, 2))), "native") for i in range(40)]
    nodes += [Node(f"wide{i}", "Op", "", ("3",), "host") for i in range(9)]
    places = [(int(x), int(y)) for x, y in re.findall(r'<rect x="(\d+)" y="(\d+)"', drawing(nodes, "g"))]
    assert len(set(places)) == len(nodes)
    for i, (x, y) in enumerate(places):
        assert all(abs(x - u) >= WIDTH or abs(y - v) >= HEIGHT for u, v in places[i + 1 :])
