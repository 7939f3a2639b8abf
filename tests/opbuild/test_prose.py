"""ascend-op build from prose: a language model that answers rightly, wrongly, hostilely, slowly or not."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import numpy as np
import pytest
from build_commands import Run
from served_model import Answer, Model, models

from ascend_ep.codegen.library_call import run_library

pytestmark = pytest.mark.usefixtures("compiler")

PROSE = "Implement the Swish activation: multiply the tensor x by its sigmoid"
RIGHT = "```python\ndef swish(x):\n    return x * torch.sigmoid(x)\n```"
WRONG = RIGHT.replace("x * ", "x + ")
HOSTILE = "```python\nimport os\ndef swish(x):\n    os.system('touch owned')\n    return x\n```"
ENDLESS = "def swish(x): return x " + "+ x " * 40_000
NAMELESS = "```python\ndef f(x):\n    return x * torch.sigmoid(2 * x)\n```"


@pytest.fixture
def model() -> Iterator[Callable[..., Model]]:
    with models() as start:
        yield start


@pytest.fixture
def ask(build: Run) -> Callable[..., tuple[int, str, str]]:
    def command(
        served: Model, prose: str = PROSE, shape: str = "[4,64]", **environ: str
    ) -> tuple[int, str, str]:
        given = ("--llm-url", served.url, "--llm-model", "coder", "--output_name", "built")
        return build("--prompt", prose, "--input_shape", shape, *given, environ=environ)

    return command


def check_swish(tmp_path: Path) -> None:
    x = np.linspace(-8, 8, 333, dtype=np.float32).reshape(3, 111)
    (y,) = run_library(tmp_path / "out" / "built.so", "Swish", [x])
    np.testing.assert_allclose(y, x / (1 + np.exp(-x.astype(np.float64))), rtol=1e-5, atol=1e-7)


def test_a_right_answer_is_built(ask: Run, model: Callable[..., Model], tmp_path: Path) -> None:
    served = model(RIGHT)
    status, out, err = ask(served)
    assert status == 0, err
    assert "Swish(x), from language model" in out
    assert "warning: written by coder (round 1): check what it computes" in out
    assert len(served.requests) == 1
    check_swish(tmp_path)


@pytest.mark.parametrize(
    ("first", "words"),
    [
        (WRONG, "Swish at input 0 = "),
        (HOSTILE, "os can't be imported"),
        (ENDLESS, "too large"),
        ("", "no def"),
        (RIGHT.replace("(x)", "(x, y)", 1).replace("x * ", "y * "), "doesn't fit its definition"),
        ("def swish(x):\n    return (x * torch.sigmoid(x)).sum(dim=-1)", "Swish gives outputs of shapes"),
    ],
    ids=["wrong maths", "import os", "endless text", "nothing", "another input", "another shape"],
)
def test_failing_cases_go_back_and_the_next_answer_is_built(
    ask: Run, model: Callable[..., Model], tmp_path: Path, first: str, words: str
) -> None:
    served = model(first, RIGHT)
    status, out, err = ask(served)
    assert status == 0, err
    assert "(round 2)" in out
    _, second = served.requests
    assert words in second["messages"][-1]["content"]
    assert not (tmp_path / "owned").exists()
    check_swish(tmp_path)


def test_wrong_maths_again_and_again_installs_nothing(
    ask: Run, model: Callable[..., Model], tmp_path: Path
) -> None:
    served = model(WRONG)
    status, _, err = ask(served, ASCEND_EP_LLM_ROUNDS="2", ASCEND_CUSTOM_OPS=str(tmp_path / "ops"))
    assert status == 1
    assert err.startswith("E42105")
    assert "no correct operator in 2 rounds" in err
    assert "Swish at input 0 = " in err
    assert len(served.requests) == 2
    assert not list(tmp_path.rglob("*.json"))


def test_results_that_the_prose_states_are_checked(ask: Run, model: Callable[..., Model]) -> None:
    served = model("def bump(x):\n    return x * x + 1", "def bump(x):\n    return x * x - 1")
    status, out, err = ask(served, "a parabola with bump(3) = 8 and bump(-0.5) = -0.75")
    assert status == 0, err
    assert "y = x*x - 1" in out
    said = served.requests[1]["messages"][-1]["content"]
    assert "The description says bump(3) = 8; the function gives 10." in said


def test_another_function_than_the_prose_names_is_asked_about_once(
    ask: Run, model: Callable[..., Model]
) -> None:
    served = model(NAMELESS)
    status, out, err = ask(served, "like swish, but twice as steep")
    assert status == 0, err
    assert len(served.requests) == 2
    assert "the same again if the description means" in served.requests[1]["messages"][-1]["content"]
    assert "warning: the description names swish, which this isn't" in out


def failing(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(500, "on fire")
    handler.end_headers()


def late(handler: BaseHTTPRequestHandler) -> None:
    time.sleep(2)


def endless(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(b'{"choices": ' + b" " * 4096)
    except OSError:
        return


@pytest.mark.parametrize(
    ("answer", "words"),
    [(failing, "500 on fire"), (late, "longer than 0.5 s"), (endless, "longer than"), (b"[]", "no chat")],
    ids=["HTTP 500", "late", "endless body", "no completion"],
)
def test_a_server_that_fails(
    ask: Run, model: Callable[..., Model], tmp_path: Path, answer: Answer, words: str
) -> None:
    seconds = "0.5" if answer is late else "20"
    status, _, err = ask(model(answer), ASCEND_EP_LLM_SECONDS=seconds)
    assert status == 1
    assert err.startswith("E42104 http://127.0.0.1")
    assert words in err
    assert "fix: " in err
    assert not list(tmp_path.rglob("*.json"))


def test_no_server_and_no_endpoint(build: Run, ask: Run, model: Callable[..., Model]) -> None:
    gone = model(RIGHT)
    gone.server.server_close()
    status, _, err = ask(gone, ASCEND_EP_LLM_SECONDS="2")
    assert (status, err[:6]) == (1, "E42104")
    status, _, err = build("--prompt", PROSE, "--input_shape", "[4,64]")
    assert (status, err[:6]) == (1, "E42103")
    assert "no language model is configured" in err
    assert "Write a formula such as Swish(x) = x*sigmoid(x), or give --llm-url" in err


TBE = """```python
import te.lang.cce
from te import tvm
from topi import generic

def swish(x, y, kernel_name="swish"):
    data = tvm.placeholder(x.get("shape"), name="data", dtype=x.get("dtype"))
    down = te.lang.cce.vadds(te.lang.cce.vexp(te.lang.cce.vmuls(data, -1.0)), 1.0)
    res = te.lang.cce.vdiv(data, down)
    with tvm.target.cce():
        schedule = generic.auto_schedule(res)
    te.lang.cce.cce_build_code(schedule, {"name": kernel_name, "tensor_list": [data, res]})
```"""


def test_an_answer_in_tbe_is_built(ask: Run, model: Callable[..., Model], tmp_path: Path) -> None:
    served = model(TBE)
    status, out, err = ask(served)
    assert status == 0, err
    assert "written by coder as TBE DSL (round 1)" in out
    assert len(served.requests) == 1
    check_swish(tmp_path)


def test_a_contradiction_is_an_error_before_anything_is_built(build: Run, tmp_path: Path) -> None:
    flags = ("--input_shape", "[4]")
    status, _, err = build("--prompt", "f(x) = x*sigmoid(x), f(1) = 0.9", *flags)
    assert (status, err[:6]) == (1, "E42106")
    assert "The description says f(1) = 0.9; the function gives 0.731059." in err
    assert not list(tmp_path.rglob("*.so"))


@pytest.mark.parametrize(
    ("prompt", "flags", "dtype", "said"),
    [
        ("Twice(x) = 2x, 输入 FP16 Tensor", (), "float16", "note: built for float16"),
        ("Twice(x) = 2x, half precision input", (), "float16", "note: built for float16"),
        ("Twice(x) = 2x, x is a bfloat16 tensor", (), "bfloat16", "note: built for bfloat16"),
        (
            "Twice(x) = 2x, 输入 FP16 Tensor",
            ("--dtype", "float32"),
            "float32",
            "warning: the description says",
        ),
        ("Twice(x) = 2x", (), "float32", ""),
    ],
)
def test_the_type_that_the_prompt_names(
    build: Run, tmp_path: Path, prompt: str, flags: tuple[str, ...], dtype: str, said: str
) -> None:
    status, out, err = build("--prompt", prompt, "--input_shape", "[8]", *flags)
    assert status == 0, err
    assert said in out
    assert "not part of the formula" not in out
    (kernel,) = (tmp_path / "out" / "kernel_meta").glob("twice.json")
    assert json.loads(kernel.read_text())["inputs"][0]["dtype"] == dtype


def test_the_endpoint_from_the_environment(build: Run, model: Callable[..., Model]) -> None:
    served = model(RIGHT)
    environ = {
        "ASCEND_EP_LLM_URL": served.url,
        "ASCEND_EP_LLM_MODEL": "coder",
        "ASCEND_EP_LLM_KEY": "secret",
    }
    status, _, err = build("--prompt", PROSE, "--input_shape", "[64]", environ=environ)
    assert status == 0, err
    assert served.keys == ["Bearer secret"]
    status, _, err = build(
        "--prompt", PROSE, "--input_shape", "[64]", environ={**environ, "ASCEND_EP_LLM_ROUNDS": "many"}
    )
    assert (status, err[:6]) == (1, "E42104")
    assert "ASCEND_EP_LLM_ROUNDS must be a number from 1 to 20" in err
