"""The rows: which model each times, on what inputs, and what is asked of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

#: Backends by what they are compared as. `run` gives new arrays, `bound` writes into arrays given before.
FLOAT32_PEERS = ("ort", "ort_bound", "openvino")
RUN_PEERS = ("ort", "openvino")
DEFAULT_PEERS = ("openvino_default",)


@dataclass(frozen=True)
class Goal:
    """`own` is to be at least `least` times as fast (or as small) as the best of `peers`; without peers, it
    is to take `least` seconds at most. Results are held to the precision of `own`, unless the model itself is
    `approximate`: then their error is only stated."""

    least: float
    own: str = "own"
    peers: tuple[str, ...] = FLOAT32_PEERS
    stretch: float | None = None
    approximate: bool = False


def bf16(least: float) -> Goal:
    """Own bfloat16 against OpenVINO's default, which computes bfloat16 where the CPU has it."""
    return Goal(least, "own_bf16", DEFAULT_PEERS)


@dataclass(frozen=True)
class Model:
    """A graph of `models/`: the builder's module, its arguments, and those of its sample_inputs."""

    builder: str
    arguments: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    inputs: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    int8_weights: bool = False


@dataclass(frozen=True)
class Row:
    """One line of the table. By `kind`: run, the time of one inference; load, of making a session from the
    fastest file a backend has; session, of making one from the .onnx file; memory, the peak of a process
    that loads and runs; command, the time of ascend-atc. `rival_model` is what peers run if not `model`."""

    name: str
    title: str
    model: Model
    goals: tuple[Goal, ...]
    rival_model: Model | None = None
    kind: str = "run"

    @property
    def backends(self) -> tuple[str, ...]:
        """Those the goals name, in their order."""
        return tuple(dict.fromkeys(b for g in self.goals for b in (*g.peers, g.own)))


def _block(name: str, title: str, block: str, *goals: Goal, order: str = "random", **arguments: Any) -> Row:
    return Row(name, title, Model("blocks", {"block": block, **arguments}, {"order": order}), goals)


def _topk(order: str, least: float) -> Row:
    title = f"TopK k=10 [128,32000], {order} rows"
    return _block(f"topk_{order}", title, "topk", Goal(least), order=order)


def _linear(rows: int, fan_in: int, fan_out: int, *goals: Goal) -> Row:
    title = f"Linear+Add+GELU {rows}×{fan_in}→{fan_out}"
    sizes: dict[str, Any] = {"rows": rows, "fan_in": fan_in, "fan_out": fan_out}
    return _block(f"linear_gelu_{rows}", title, "linear_gelu", *goals, **sizes)


def llama(seq: int, past: int = 0, int8_weights: bool = False) -> Model:
    return Model("llama", {"size": "base", "form": "exported", "seq": seq, "past": past}, {}, int8_weights)


BERT = Model("bert", {"size": "base", "seq": 128}, {"size": "base", "seq": 128})
DECODE = llama(1, 512)

LOAD_GOAL = Goal(3.0, peers=("ort_prepacked",))
MEMORY_GOAL = Goal(1 / 0.75, peers=("ort",))
SESSION_GOAL = Goal(1 / 1.5, "ascend_in_ort", ("ort",))

ROWS: tuple[Row, ...] = (
    _block("rope", "RoPE [1,32,512,128], exported", "rope", Goal(3.0)),
    _topk("random", 5.0),
    _topk("ascending", 1.0),
    _topk("descending", 1.0),
    _topk("constant", 1.0),
    _block("rms_norm", "RMSNorm [1,512,1024], exported", "rms_norm", Goal(2.2)),
    _block("add_rms_norm", "Add+RMSNorm [1,512,4096], exported", "add_rms_norm", Goal(1.6)),
    _block("layer_norm_gelu", "LayerNorm+GELU [1,512,1024]", "layer_norm_gelu", Goal(1.7)),
    _block("gelu", "GELU [512,1024]", "gelu", Goal(1.7)),
    _block("swish", "Swish [512,1024]", "swish", Goal(1.0, stretch=1.1)),
    _block("swiglu_split", "SwiGLU [512,11008], two inputs", "swiglu", Goal(1.4)),
    _block("swiglu_concat", "SwiGLU [512,11008], one input", "swiglu", Goal(1.4), concatenated=True),
    _block("softmax_wide", "Softmax [512,4096]", "softmax", Goal(1.1)),
    _block("softmax_heads", "Softmax [12,128,128]", "softmax", Goal(1.4), shape=(12, 128, 128)),
    _block("attention", "attention [1,16,512,64]", "attention", Goal(1.15), bf16(1.15)),
    _block("depthwise", "depthwise 3×3 [1,64,112,112]", "depthwise", Goal(1.07, stretch=1.3)),
    _linear(32, 1024, 4096, Goal(1.05), bf16(1.1)),
    _linear(128, 1024, 1024, Goal(1.05), bf16(1.1)),
    _linear(1024, 1024, 4096, Goal(1.0, stretch=1.05), bf16(1.1)),
    _linear(2048, 2048, 2048, Goal(0.95), bf16(0.95)),  # that blocking holds beyond the caches
    Row("llama_prefill_128", "Llama-style prefill 128", llama(128), (Goal(1.08), bf16(1.1))),
    Row("llama_prefill_512", "Llama-style prefill 512", llama(512), (Goal(1.08), bf16(1.1))),
    Row("llama_decode", "Llama-style decode at 512", DECODE, (Goal(1.15), bf16(1.4))),
    Row(
        "llama_decode_int8",
        "Llama-style decode at 512, int8 weights against OpenVINO's default",
        llama(1, 512, int8_weights=True),
        (Goal(2.0, "own", DEFAULT_PEERS, approximate=True),),
        rival_model=DECODE,
    ),
    Row("bert_128", "BERT-base 128", BERT, (Goal(1.08), bf16(1.1))),
    Row("resnet50_b1", "ResNet-50, batch 1", Model("resnet", {"batch": 1}), (Goal(1.0), bf16(1.0))),
    Row("resnet50_b8", "ResNet-50, batch 8", Model("resnet", {"batch": 8}), (Goal(1.0), bf16(1.0))),
    Row("mobilenet_v2", "MobileNetV2, batch 1", Model("mobilenet_v2", {"batch": 1}), (Goal(1.0), bf16(1.0))),
    Row(
        "mlp",
        "MLP 64-64-10, one run from Python",
        Model("mlp", {"activation": "Relu"}),
        (Goal(3.5, peers=RUN_PEERS),),
    ),
    _block("chain", "100-node elementwise chain [1,64]", "chain", Goal(2.0)),
    Row("load_bert", "load BERT-base", BERT, (LOAD_GOAL,), kind="load"),
    Row("load_llama", "load Llama-style", llama(128), (LOAD_GOAL,), kind="load"),
    Row("session_bert", "session from .onnx, BERT-base", BERT, (SESSION_GOAL,), kind="session"),
    Row("session_llama", "session from .onnx, Llama-style", llama(128), (SESSION_GOAL,), kind="session"),
    Row("atc_bert", "ascend-atc, BERT-base", BERT, (Goal(5.0, peers=()),), kind="command"),
    Row(
        "memory_llama",
        "peak memory, Llama-style",
        llama(128),
        (MEMORY_GOAL,),
        kind="memory",
    ),
)
