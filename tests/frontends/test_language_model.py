"""Prose through a language model: a server on the loopback answers well, wrongly, hostilely or not at all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler

import numpy as np
import pytest
from served_model import Answer, Model, models

from ascend_ep.errors import AscendError
from ascend_ep.frontends.description import describe
from ascend_ep.frontends.language_model import MAX_ANSWER, Endpoint
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.reference import evaluate

PROSE = "实现一个激活函数,输入张量 x,输出 x 乘以它的 sigmoid 值"
GOOD = "Here it is:\n```python\ndef swish(x):\n    return x * torch.sigmoid(x)\n```\nEnjoy."
PRELU = "```python\nimport torch\n\ndef prelu(x, alpha):\n    return torch.where(x > 0, x, alpha * x)\n```"
WRONG = GOOD.replace("x * ", "x + ")
HOSTILE = "```python\nimport os\n\ndef swish(x):\n    os.system('true')\n    return x\n```"


@pytest.fixture
def model() -> Iterator[Callable[..., Model]]:
    with models() as start:
        yield start


def prove_swish(opdef: OpDef) -> list[str]:
    x = np.array([-2.0, 0.0, 3.0])
    try:
        (y,) = evaluate(opdef, [x])
    except AscendError as error:
        return [str(error)]
    expected = x / (1 + np.exp(-x))
    return [
        f"f({a}) is {b}, expected {c}" for a, b, c in zip(x, y, expected, strict=True) if abs(b - c) > 1e-9
    ]


def test_the_documents_prose(model: Callable[..., Model]) -> None:
    served = model(GOOD)
    described = describe(PROSE, llm=served.endpoint(key="secret"), prove=prove_swish)
    assert (described.opdef.op, described.kind) == ("Swish", "language model")
    assert any("check what it computes" in w for w in described.warnings)
    assert prove_swish(described.opdef) == []
    (request,) = served.requests
    assert (request["path"], request["model"], request["temperature"]) == (
        "/v1/chat/completions",
        "coder",
        0.2,
    )
    assert request["messages"][-1] == {"role": "user", "content": PROSE}
    assert served.keys == ["Bearer secret"]


def test_prelu_binds_its_parameter_as_second_input(model: Callable[..., Model]) -> None:
    prose = "PReLU activation where the slope of the negative part, alpha, is learnable"
    opdef = describe(prose, op_type="PReLU", llm=model(PRELU).endpoint()).opdef
    assert (opdef.op, [i.name for i in opdef.inputs]) == ("PReLU", ["x", "alpha"])
    (y,) = evaluate(opdef, [np.array([-2.0, 4.0]), np.array([0.25])])
    assert y.tolist() == [-0.5, 4.0]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (WRONG, "expected"),
        (HOSTILE, "os can't be imported"),
        ("", "no def"),
        ("I'd rather not.", "no def"),
        ("```python\ndef swish(x:\n```", "can't be read"),
        ("```python\ndef swish(x):\n    return x.sum()\n```", "axes to reduce"),
    ],
    ids=["wrong maths", "import os", "nothing", "refusal", "syntax", "unknown axes"],
)
def test_failing_cases_are_fed_back(model: Callable[..., Model], bad: str, words: str) -> None:
    served = model(bad, GOOD)
    described = describe(PROSE, llm=served.endpoint(), prove=prove_swish)
    assert prove_swish(described.opdef) == []
    first, second = served.requests
    assert len(second["messages"]) == len(first["messages"]) + 2
    assert words in second["messages"][-1]["content"]


def test_after_the_last_round_it_is_an_error(model: Callable[..., Model]) -> None:
    served = model(WRONG)
    with pytest.raises(AscendError, match="no correct operator in 2 rounds") as caught:
        describe(PROSE, llm=served.endpoint(rounds=2), prove=prove_swish)
    assert caught.value.code == "E42105"
    assert "expected" in caught.value.details[0]
    assert len(served.requests) == 2


def endless(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    try:
        for _ in range(10_000):
            handler.wfile.write(b'{"choices": ' + b" " * 4096)
    except OSError:
        return


def dripping_body(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    drip(handler)


def drip(handler: BaseHTTPRequestHandler) -> None:
    try:
        for _ in range(40):
            handler.wfile.write(b"X")
            handler.wfile.flush()
            time.sleep(0.05)
    except OSError:
        return


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True


def redirect(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(307)
    handler.send_header("Location", "http://127.0.0.1:9/")
    handler.end_headers()


def failure(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(500, "on fire")
    handler.end_headers()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (endless, f"longer than {MAX_ANSWER} bytes"),
        (dripping_body, "takes longer"),
        (drip, "takes longer"),
        (hang_up, ""),
        (redirect, "307"),
        (failure, "500 on fire"),
        (b"no json", "no chat completion"),
        (b"[" * 100_000, "no chat completion"),
        (b'{"choices": []}', "no chat completion"),
        (b'{"choices": [{"message": {"content": 5}}]}', "has no text"),
        (b"", "no chat completion"),
        (b"\xff\xfe", "no chat completion"),
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value)[:20],
)
def test_hostile_servers(model: Callable[..., Model], answer: Answer, words: str) -> None:
    endpoint = model(answer).endpoint(seconds=0.5 if answer in (dripping_body, drip) else 5.0)
    with pytest.raises(AscendError, match="E42104") as caught:
        describe(PROSE, llm=endpoint)
    assert words in caught.value.text


def test_no_server_and_wrong_settings() -> None:
    with pytest.raises(AscendError, match="E42104"):
        describe(PROSE, llm=Endpoint("http://127.0.0.1:9/v1", "coder", seconds=5))
    with pytest.raises(AscendError, match="http:// or https://"):
        describe(PROSE, llm=Endpoint("file:///etc/passwd", "coder"))
    with pytest.raises(AscendError, match="the key") as caught:
        describe(PROSE, llm=Endpoint("http://127.0.0.1:9/v1", "coder", key="se\ncret"))
    assert "cret" not in str(caught.value)
    with pytest.raises(AscendError, match="no model is named"):
        Endpoint.from_environment({"ASCEND_EP_LLM_URL": "http://a"})
    assert Endpoint.from_environment({}) is None
    environ = {"ASCEND_EP_LLM_URL": "http://a", "ASCEND_EP_LLM_MODEL": "m", "ASCEND_EP_LLM_KEY": "k"}
    assert Endpoint.from_environment(environ) == Endpoint("http://a", "m", "k")
    assert Endpoint.from_environment(environ, "http://b", "n") == Endpoint("http://b", "n", "k")
