"""opc, as build files of projects call it for each combination of element types: the operator that op_build
made, as a binary of a package and its description."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ascend_ep import atomic_file, regular_file
from ascend_ep.cli.command import Parser, command
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.ascendc.call_request import GE_NUMBERS
from ascend_ep.opdef import dtypes

_ND = 2


@command("opc")
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line and returns its exit status."""
    given, unknown = _parser().parse_known_args(arguments)
    if unknown:
        print(f"opc: without effect here: {' '.join(unknown)}", file=sys.stderr)
    for entry in _entries(given.input_param):
        print(f"opc: {write(entry, given.main_func, given.output, given.soc_version)}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="opc", description="An operator of a project as a binary of its package.")
    add = parser.add_argument
    add("source", help="the operator's .py file, which names it")
    add("--main_func", required=True, help="the kernel's function")
    add("--input_param", required=True, type=Path, help="JSON: element types and formats")
    add("--soc_version", required=True, help="the chip")
    add("--output", required=True, type=Path, help="the folder of the binary")
    return parser


def _entries(path: Path) -> list[dict[str, Any]]:
    """What --input_param asks for, each with its op_type. Raises AscendError E10410, E41010."""
    regular_file.need(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return [{"op_type": content["op_type"], **entry} for entry in content["op_list"]]
    except (ValueError, KeyError, TypeError) as error:
        reason = f"it is no description of an operator's types ({error})"
        raise AscendError("E41010", path, reason, fix="Correct the file.") from None


def write(entry: Mapping[str, Any], function: str, folder: Path, soc: str) -> Path:
    """<bin_filename>.o and .json in the folder. Returns the first. Raises AscendError E10410."""
    name = entry["bin_filename"]
    code = _library(entry["op_type"], folder).read_bytes()
    atomic_file.make_folder(folder)
    made = folder / f"{name}.o"
    atomic_file.write(made, code)
    tensors = [*entry.get("inputs", ()), *entry.get("outputs", ())]
    key = "/".join(f"{_number(t.get('dtype', ''))},{_ND}" for t in tensors if isinstance(t, dict))
    description = {
        "binFileName": name,
        "binFileSuffix": ".o",
        "blockDim": -1,
        "coreType": "AiCore",
        "kernelName": name,
        "kernelList": [{"kernelName": function}],
        "magic": "RT_DEV_BINARY_MAGIC_ELF",
        "parameters": [],
        "sha256": hashlib.sha256(code).hexdigest(),
        "soc_version": soc,
        "workspace": {"num": 1, "size": [-1], "type": [0]},
        "supportInfo": {
            "implMode": "",
            "int64Mode": False,
            "simplifiedKeyMode": 0,
            "simplifiedKey": [f"{entry['op_type']}/d={d},p=0/{key}" for d in (0, 1)],
            "staticKey": hashlib.sha256(f"{entry['op_type']}/{key}".encode()).hexdigest(),
            "inputs": entry.get("inputs", []),
            "outputs": entry.get("outputs", []),
            "attrs": entry.get("attrs", []),
            "opMode": "dynamic",
            "deterministic": "ignore",
        },
    }
    text = json.dumps(description, indent=4) + "\n"
    atomic_file.write(folder / f"{name}.json", text)
    return made


def _number(type_name: str) -> int:
    """GE's number of an element type."""
    name = {"float": "float32", "bf16": "bfloat16"}.get(type_name, type_name)
    return GE_NUMBERS.get(dtypes.NUMBERS.get(name, 0), -1)


def _library(op_type: str, folder: Path) -> Path:
    """The operator's library in the autogen folder of the build that `folder` is in."""
    from ascend_ep.opbuild.ascendc.naming import snake_case
    from ascend_ep.opbuild.kernels.autogen import LIBRARIES

    for above in folder.absolute().parents:
        found = above / "autogen" / LIBRARIES / f"{snake_case(op_type)}.so"
        if found.is_file():
            return found
    fix = "Build op_host first: op_build makes the operator that opc packs."
    raise AscendError("E10410", f"autogen/{LIBRARIES}/{snake_case(op_type)}.so above {folder}", fix=fix)


if __name__ == "__main__":
    sys.exit(main())
