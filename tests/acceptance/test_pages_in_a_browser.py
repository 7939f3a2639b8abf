"""The pages that we make, as a browser shows them: light, dark, on a phone, by keyboard, for screen readers.

$ASCEND_EP_TEST_BROWSER names a Chromium that isn't on the PATH, $ASCEND_EP_TEST_AXE the file axe.min.js of
axe-core, $ASCEND_EP_TEST_SCREENSHOTS a folder for pictures of all pages, to look at.
"""

from __future__ import annotations

import json
import os
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from browser import Browser, find
from profiled import model as profiled_model
from running import Running
from served_models import put, rows

import ascend_ep
from ascend_ep.cli.atc import main as atc
from ascend_ep.cli.prof import main as prof
from ascend_ep.profiling.dashboard import Dashboard, server
from ascend_ep.profiling.machine import Machine
from ascend_ep.profiling.profile import DATA
from ascend_ep.runtime import tracing
from ascend_ep.serving.settings import Settings

pytestmark = pytest.mark.slow

LOOKS = {"light": (1280, 1000), "dark": (1280, 1000), "phone": (360, 740)}
PAGES = ("server", "conversion", "profile", "profdash", "profdash, empty")
#: Words of charts that are cut off at the sides.
CUT = """[...document.querySelectorAll('svg text')].filter(e => {
  const text = e.getBoundingClientRect(), around = e.closest('svg').getBoundingClientRect();
  return text.width && (text.left < around.left - 1 || text.right > around.right + 1);
}).map(e => e.textContent)"""
#: Words in tables at the right, where numbers are.
MISALIGNED = """[...document.querySelectorAll('table td')].filter(e =>
  /^[a-z(]/i.test(e.innerText.trim()) && getComputedStyle(e).textAlign == 'right').map(e => e.innerText)"""
#: What a finger or a mouse can use, and what scrolls: by keyboard, too.
USABLE = """[...document.body.querySelectorAll('*')].filter(e => {
  const s = getComputedStyle(e), scrolls = (a, b, o) => a > b + 1 && /auto|scroll/.test(o);
  return e.getClientRects().length && !e.disabled && (s.cursor == 'pointer' ||
    e.matches('button, a[href], input, select, textarea, #timeline') ||
    scrolls(e.scrollHeight, e.clientHeight, s.overflowY) ||
    scrolls(e.scrollWidth, e.clientWidth, s.overflowX));
})"""


def convert(folder: Path, model: onnx.ModelProto, *more: str) -> Path:
    onnx.save(model, folder / "m.onnx")
    command = [f"--model={folder / 'm.onnx'}", f"--output={folder / 'm'}", "--framework=5", *more]
    assert atc([*command, "--soc_version=Ascend910B3", "--precision_mode_v2=origin"]) == 0
    return folder / "m.om"


def wide() -> onnx.ModelProto:
    """Five branches of forty operators, and one that stays on the CPU: wider and longer than a page."""
    weights = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    branches = "".join(
        f"b{b}_0 = MatMul(x, w) "
        + "".join(f"b{b}_{i + 1} = {('Relu', 'Exp')[i % 2]}(b{b}_{i}) " for i in range(40))
        for b in range(5)
    )
    made = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]>
        wide (float[4, 8] x) => (float[4, 8] y, string[4, 8] s) {{
            {branches} y = Sum({", ".join(f"b{b}_40" for b in range(5))})  s = Cast<to = 8>(x) }}""")
    made.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    return made


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    folder = tmp_path_factory.mktemp("pages")
    found: dict[str, str] = {}
    for name in ("repository", "conversion", "profile", "empty"):
        (folder / name).mkdir()
    convert(folder / "conversion", wide(), f"--html={folder / 'conversion' / 'report.html'}")
    found["conversion"] = (folder / "conversion" / "report.html").as_uri()
    om = convert(folder / "profile", profiled_model())
    flags = [f"--output={folder / 'profile' / 'report.html'}", "--seconds=0.2", "--dim=N=64"]
    assert prof(["report", str(om), *flags]) == 0
    found["profile"] = (folder / "profile" / "report.html").as_uri()
    put(folder / "repository", "rows", 1, rows)
    put(folder / "repository", "rows", 2, rows)
    broken = folder / "repository" / "broken" / "1" / "model.om"
    broken.parent.mkdir(parents=True)
    broken.write_bytes(b"no model")
    with ExitStack() as stack:
        running = stack.enter_context(
            Running(Settings(folder / "repository", http_port=0, exit_on_error=False))
        )
        tensor = {"name": "x", "shape": [1, 8], "datatype": "FP32", "data": [0.5] * 8}
        for _ in range(20):
            assert running.ask("POST", "/v2/models/rows/infer", {"inputs": [tensor]})[0] == 200
        assert running.ask("GET", "/v2/models/" + "unknown-" * 30)[0] == 404
        found["server"] = f"http://127.0.0.1:{running.port}/"
        data = folder / "profile" / "PROF_000001_20260101000000000_ABCDEF" / DATA
        data.mkdir(parents=True)
        tracing.start(data, 0)
        ascend_ep.InferenceSession(om).run(None, {"x": np.ones((1, 64), np.float32)})
        tracing.stop()
        for name, place in (("profdash", folder / "profile"), ("profdash, empty", folder / "empty")):
            made = stack.enter_context(server(Dashboard(place, Machine(1e11, 1e10, 1e9, 2)), "127.0.0.1", 0))
            threading.Thread(target=made.serve_forever, daemon=True).start()
            stack.callback(made.shutdown)
            found[name] = f"http://127.0.0.1:{made.server_address[1]}/"
        yield found


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = find()
    if program is None:
        pytest.skip("there is no Chromium: neither on the PATH nor in ASCEND_EP_TEST_BROWSER")
    made = Browser(program, tmp_path_factory.mktemp("profile"))
    yield made
    made.close()


@pytest.fixture
def opened(browser: Browser, addresses: dict[str, str], tmp_path: Path) -> Callable[..., Browser]:
    def opened(page: str, look: str, renewed: bool = True) -> Browser:
        """Not `renewed`: what profdash serves now, without being loaded again every five seconds."""
        scheme = {"name": "prefers-color-scheme", "value": "light" if look == "light" else "dark"}
        browser.call("Emulation.setEmulatedMedia", features=[scheme])
        address = addresses[page]
        if page.startswith("profdash") and not renewed:
            with urllib.request.urlopen(address, timeout=60) as answer:
                (tmp_path / "still.html").write_bytes(answer.read())
            address = (tmp_path / "still.html").as_uri()
        browser.open(address, *LOOKS[look], mobile=look == "phone")
        if page == "server":
            browser.wait("document.querySelectorAll('#models tr').length == 3")
        return browser

    return opened


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_whole(page: str, look: str, opened: Callable[..., Browser]) -> None:
    """Nothing fails in it, and it is no wider than its window."""
    shown = opened(page, look)
    pictures = os.environ.get("ASCEND_EP_TEST_SCREENSHOTS")
    if pictures:
        shown.screenshot(Path(pictures) / f"{page.replace(', ', '-')}-{look}.png")
    assert shown.problems == []
    assert shown.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert shown.evaluate(CUT) == []
    assert shown.evaluate(MISALIGNED) == []
    assert shown.evaluate("document.title.length > 0 && document.body.innerText.length > 20")


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("page", PAGES)
def test_screen_readers_and_eyes(page: str, look: str, opened: Callable[..., Browser]) -> None:
    """What axe-core finds: landmarks, names, contrast, and the like."""
    axe = os.environ.get("ASCEND_EP_TEST_AXE")
    if not axe:
        pytest.skip("ASCEND_EP_TEST_AXE names no axe.min.js")
    shown = opened(page, look, renewed=False)
    shown.evaluate(Path(axe).read_text())
    found = json.loads(shown.evaluate("axe.run().then(r => JSON.stringify([r.violations, r.passes.length]))"))
    assert found[1] >= 3
    assert [_said(violation) for violation in found[0]] == []


def _said(violation: dict[str, Any]) -> str:
    places = "; ".join(f"{n['html'][:150]} {n['failureSummary'][:300]}" for n in violation["nodes"][:3])
    return f"{violation['id']}, {len(violation['nodes'])} times: {places}"


@pytest.mark.parametrize("page", PAGES)
def test_the_keyboard_reaches_all(page: str, opened: Callable[..., Browser]) -> None:
    shown = opened(page, "phone", renewed=False)
    count = shown.evaluate(f"(window.all = {USABLE}).length")
    for _ in range(count + 12):
        shown.press("Tab")
        shown.evaluate("(window.reached ??= new Set()).add(document.activeElement)")
    inside = (
        "e => [...reached].some(r => r && r != document.body && (r == e || r.contains(e) || e.contains(r)))"
    )
    missed = shown.evaluate(f"{USABLE}.filter(e => !({inside})(e)).map(e => e.outerHTML.slice(0, 150))")
    assert missed == []


def test_a_model_is_chosen_by_keyboard(opened: Callable[..., Browser]) -> None:
    """And it stays chosen, and under the keyboard, while the page is renewed each second."""
    shown = opened("server", "light")
    shown.wait("[...document.querySelectorAll('#models tr')].some(r => r.innerText.includes('rows'))")
    shown.wait("document.querySelectorAll('#models button').length == 2")
    shown.evaluate("document.querySelector('#models button').focus()")
    shown.press("Enter")
    shown.wait("document.querySelectorAll('#models tr.chosen').length == 1")
    shown.evaluate("document.querySelector('#models').seen = true")
    shown.wait("!document.querySelector('#models').seen")
    assert shown.evaluate("document.activeElement == document.querySelector('#models tr.chosen button')")
    assert shown.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    assert shown.problems == []


def test_the_timeline_by_keyboard(opened: Callable[..., Browser]) -> None:
    shown = opened("profile", "light")
    image = "document.getElementById('timeline').toDataURL()"
    pictures = [shown.evaluate(image)]
    shown.evaluate("document.getElementById('timeline').focus()")
    for key in ("+", "+", "ArrowRight", "ArrowLeft", "-"):
        shown.press(key)
        pictures.append(shown.evaluate(image))
        assert pictures[-1] != pictures[-2], key
    assert shown.problems == []
