"""`acl.media` as far as the library lacks it: functions of DVPP, which answer that they aren't supported."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

from .library import constants

#: What functions of DVPP are called.
NAMES = re.compile(r"(dvpp|vdec|venc|hi_mpi)_[a-z0-9_]+")
#: Those that return as many values before the code; other functions return the code, or a value and no code.
_OUT = {"dvpp_malloc": 1, "dvpp_jpeg_predict_enc_size": 1, "dvpp_jpeg_predict_dec_size": 1}
_OUT |= {"dvpp_png_predict_dec_size": 1, "dvpp_jpeg_get_image_info": 3, "dvpp_jpeg_get_image_info_v2": 4}
_OUT |= {"dvpp_png_get_image_info": 3}
_VALUE = re.compile(r"(dvpp|vdec|venc)_(create_(?!channel$)\w+|get_\w+)")
_said: set[str] = set()


def unsupported(name: str) -> Callable[..., Any]:
    """A function of that name which says once that there is no DVPP here, and returns its code."""

    def function(*_: Any) -> Any:
        if not _said:
            line = f"[ERROR] acl.media.{name}: there is no DVPP here; use PIL, OpenCV or numpy"
            print(line, file=sys.stderr, flush=True)
            _said.add(name)
        if _VALUE.fullmatch(name):
            return 0
        code = constants()["ACL_ERROR_FEATURE_UNSUPPORTED"]
        outs = _OUT.get(name, 0)
        return (*[0] * outs, code) if outs else code

    function.__name__ = name
    return function
