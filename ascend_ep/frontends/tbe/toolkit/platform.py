"""te.platform, tbe.common.platform, contexts and error managers: what files ask about the chip and report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ascend_ep.frontends.tbe.toolkit.failure import DSL, DslError
from ascend_ep.frontends.tbe.toolkit.shaping import REFUSED

#: The chip that files are told of: every function of the DSL in every type, so that they take the exact path.
_SPEC: dict[str, Any] = {
    "SOC_VERSION": "Ascend910B",
    "SHORT_SOC_VERSION": "Ascend910B",
    "FULL_SOC_VERSION": "Ascend910B1",
    "AICORE_TYPE": "AiCore",
    "CORE_NUM": 24,
    "UB_SIZE": 192 * 1024,
    "L1_SIZE": 512 * 1024,
    "L0A_SIZE": 64 * 1024,
    "L0B_SIZE": 64 * 1024,
    "L0C_SIZE": 128 * 1024,
}


def get_soc_spec(key: str) -> Any:
    """A property of the chip; 0 for one that isn't known."""
    return _SPEC.get(str(key), 0)


def api_check_support(intrinsic: str, dtype: str = "") -> bool:
    """Whether a function of the DSL takes a type: what the expression form can say, it can."""
    return str(intrinsic).rpartition(".")[2] not in REFUSED


class _Words:
    """OpPatternMode.REDUCE and OpImplMode.HIGH_PRECISION: words in small letters."""

    def __getattr__(self, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        return name.lower()


class Context:
    """tbe_context.get_context() and op_context: takes what files add, and answers with what they added."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    def add_compile_info(self, key: str, value: Any) -> None:
        self.kept[str(key)] = value

    def get_compile_info(self) -> dict[str, Any]:
        return self.kept

    add = add_addition = add_compile_info

    def get(self, key: str, default: Any = None) -> Any:
        return self.kept.get(str(key), default)

    get_addition = get

    def get_op_mode(self) -> str:
        return "static"

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *_error: object) -> None:
        return None

    def __getattr__(self, name: str) -> Any:
        """Whatever else files tell the context of the build."""
        if not name.startswith(("add_", "set_")):
            raise AttributeError(name)
        return lambda *_arguments, **_named: None


_CONTEXT = Context()


class Contexts:
    """tbe_context.op_context, a module."""

    OpContext = Context

    @staticmethod
    def get_context() -> Context:
        return _CONTEXT


def report(*arguments: Any, **named: Any) -> Any:
    """raise_err_...: the arguments are the operator's name and what is wrong."""
    words = ", ".join(str(a)[:200] for a in (*arguments, *named.values()))
    raise DslError(_code(arguments), words)


def _code(arguments: tuple[Any, ...]) -> str:
    first = str(arguments[0]) if arguments else ""
    return first if len(first) == 6 and first[0] == "E" and first[1:].isdecimal() else DSL


def error_function(name: str) -> Callable[..., Any]:
    """A function of an error manager, by name. Raises AttributeError for a name that is none."""
    if name.startswith("raise"):
        return report
    if name == "get_error_message":
        return lambda details, *_rest: str(details)
    raise AttributeError(name)


def token(name: str) -> str:
    """UB_SIZE, ASCEND_310, DMA_COPY, scope_ubuf: words that schedules and get_soc_spec take. Raises
    AttributeError for a name that is none."""
    if name.startswith(("scope_", "dma_copy")):
        return f"local.{name.partition('_')[2].removesuffix('uf').upper()}"
    if name.isupper():
        return name
    raise AttributeError(name)


NAMES: dict[str, Any] = {
    "get_soc_spec": get_soc_spec,
    "cce_getenv": get_soc_spec,
    "get_platform_info": get_soc_spec,
    "api_check_support": api_check_support,
    "intrinsic_check_support": api_check_support,
    "te_set_version": lambda *_arguments, **_named: "success",
    "set_current_compile_soc_info": lambda *_arguments, **_named: "success",
    "CUBE_MKN": {t: {"mac": [16, 16, 16]} for t in ("float16", "float32", "int8", "uint8")},
    "get_bit_len": lambda dtype: int("".join(filter(str.isdigit, str(dtype))) or 8),
    "C0_SIZE": 16,
    "BLOCK_REDUCE_INT8": 32,
    "BLOCK_VECTOR": 1,
    "VECTOR_INST_BLOCK_WIDTH": 256,
    "VECTOR_INST_BLOCK_NUM": 8,
    "VECTOR_INST_MAX_REPEAT_TIMES": 255,
    "ELEMENTS_VECTOR_OP_FP16": 128,
    "CUBE_UNIT": 16,
    "BLOCK_REDUCE": 16,
    "BLOCK_IN": 16,
    "BLOCK_OUT": 16,
    "VERSION_CLOUD": "Ascend910B",
    "VERSION_MINI": "Ascend310",
    "scope_gm": "global",
    "__missing__": token,
}  # fmt: skip
#: What the older topi.cce.util asks of the chip.
GENERATIONS: dict[str, Any] = {
    "VERSION_CLOUD": NAMES["VERSION_CLOUD"],
    "VERSION_MINI": NAMES["VERSION_MINI"],
    "get_product_version": lambda: NAMES["VERSION_CLOUD"],
    "is_cloud_version": lambda: True,
    **{f"is_{name}_version": lambda: False for name in ("mini", "lhisi", "hisi_es", "mini_or_lhisi", "v200")},
}
WORDS = _Words()


def get_context() -> Context:
    """The context of the operator."""
    return _CONTEXT
