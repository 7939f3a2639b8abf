"""Writes the C source of the cffi module `ascend_ep.runtime._rt`.

The declarations are those of ascend_rt.h, asc_origin.h, asc_plan.h, asc_frame.h, asc_trace.h and
onnxruntime/callbacks.h between their cffi:begin and cffi:end marks, so the C compiler checks every one of
them against the header itself.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import cffi

NATIVE = Path(__file__).resolve().parent.parent


def declarations(header: Path) -> str:
    """The part of a header that cffi can read."""
    text = header.read_text()
    body = text.split("/* cffi:begin */", 1)[1].split("/* cffi:end */", 1)[0]
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    return body.replace("ASC_API ", "")


def python_functions(header: Path) -> str:
    """The functions of a header that Python implements, as cffi declares them."""
    marked = re.search(r"cffi:python-begin\n(.*?)\n \* cffi:python-end", header.read_text(), flags=re.S)
    return 'extern "Python" {\n' + marked.group(1) + "\n}" if marked else ""


def main(target: str) -> None:
    ffi = cffi.FFI()
    source = ""
    for header in ("ascend_rt.h", "asc_origin.h", "asc_plan.h", "asc_frame.h", "asc_trace.h"):
        ffi.cdef(declarations(NATIVE / "include" / header))
        source += f'#include "{header}"\n'
    callbacks = NATIVE / "onnxruntime" / "callbacks.h"
    if callbacks.exists():
        ffi.cdef(declarations(callbacks) + python_functions(callbacks))
        source += '#include "callbacks.h"\n'
    ffi.set_source("ascend_ep.runtime._rt", source, py_limited_api=True)
    ffi.emit_c_code(target)


if __name__ == "__main__":
    main(sys.argv[1])
