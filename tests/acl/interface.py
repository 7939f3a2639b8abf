"""The functions that the headers of AscendCL declare, and a C program that calls each with arguments that are
no good."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

HEADERS = (
    "acl.h",
    "acl_base.h",
    "acl_rt.h",
    "acl_mdl.h",
    "acl_op.h",
    "acl_op_compiler.h",
    "acl_prof.h",
    "acl_tdt.h",
    "ops/acl_cblas.h",
    "ops/acl_dvpp.h",
    "ops/acl_fv.h",
    "../aclnn/acl_meta.h",
    "dvpp/hi_media_common.h",
    "dvpp/hi_dvpp_vpc.h",
    "dvpp/hi_dvpp_vdec.h",
    "dvpp/hi_dvpp_venc.h",
    "dvpp/hi_dvpp_pngd.h",
)
_DECLARATION = re.compile(r"ACL_FUNC_VISIBILITY\s+([\w \*]+?[\s\*])(\w+)\((.*?)\);", re.DOTALL)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
#: Handles that a fresh and a destroyed one can be made of, without arguments that matter.
MAKERS = {
    "aclmdlDesc *": ("aclmdlCreateDesc()", "aclmdlDestroyDesc"),
    "aclmdlDataset *": ("aclmdlCreateDataset()", "aclmdlDestroyDataset"),
    "aclDataBuffer *": ("aclCreateDataBuffer(0, 0)", "aclDestroyDataBuffer"),
    "aclTensorDesc *": ("aclCreateTensorDesc(ACL_FLOAT, 0, 0, ACL_FORMAT_ND)", "aclDestroyTensorDesc"),
    "aclmdlAIPP *": ("aclmdlCreateAIPP(1)", "aclmdlDestroyAIPP"),
    "aclmdlConfigHandle *": ("aclmdlCreateConfigHandle()", "aclmdlDestroyConfigHandle"),
    "aclopAttr *": ("aclopCreateAttr()", "aclopDestroyAttr"),
    "aclrtGroupInfo *": ("aclrtCreateGroupInfo()", "aclrtDestroyGroupInfo"),
    "acldvppPicDesc *": ("acldvppCreatePicDesc()", "acldvppDestroyPicDesc"),
    "acldvppChannelDesc *": ("acldvppCreateChannelDesc()", "acldvppDestroyChannelDesc"),
    "acldvppRoiConfig *": ("acldvppCreateRoiConfig(0, 1, 0, 1)", "acldvppDestroyRoiConfig"),
}


#: Types whose objects only the library reads.
OPAQUE = {"aclrtStream", "aclrtContext", "aclrtEvent"}


def _path(folder: Path, header: str) -> Path:
    """Without following the links of a toolkit."""
    return Path(os.path.normpath(folder / header))


def opaque_types(folder: Path) -> set[str]:
    text = "".join(_path(folder, header).read_text() for header in HEADERS)
    return {name + " *" for name in re.findall(r"typedef struct (\w+) \1;", text)}


@dataclass(frozen=True)
class Function:
    """`parameters`: the type of each, as C has it, without names."""

    result: str
    name: str
    parameters: tuple[str, ...]


def functions(folder: Path) -> list[Function]:
    found = []
    OPAQUE.update(opaque_types(folder))
    for header in HEADERS:
        text = _COMMENT.sub("", _path(folder, header).read_text())
        for result, name, parameters in _DECLARATION.findall(text):
            given = [p for p in parameters.split(",") if p.strip() not in ("void", "...")]
            found.append(Function(" ".join(result.split()), name, tuple(map(_type, given))))
    return found


def _type(parameter: str) -> str:
    words = " ".join(parameter.split())
    array = words.count("[")
    words = re.sub(r"\[\w*\]", "", words)
    kind = re.sub(r"\w+$", "", words).strip() + " *" * (array > 0)
    return kind.replace("*const", "*").strip()


#: Structures that functions take by value.
VALUES = {"hi_vpc_make_border_info"}


def _argument(kind: str, way: str) -> str:
    if kind in VALUES:
        return f"({kind}){{0}}"
    plain = kind.replace("const ", "").replace(" *const", " *").strip()
    handle = plain if plain in MAKERS else None
    if plain not in OPAQUE:
        is_pointer = "*" in plain or plain.endswith(("Callback", "Func", "Handle", "Notify", "RI"))
        return f"({kind})-7" if way == "other" and not is_pointer else f"({kind})0"
    if way == "destroyed" and handle:
        return f"gone_{list(MAKERS).index(handle)}"
    if way == "other" and handle:
        return f"({kind})made_{(list(MAKERS).index(handle) + 1) % len(MAKERS)}"
    return f"({kind})0" if way == "NULL" else f"({kind})0x7f0012345670"


WAYS = ("NULL", "destroyed", "other", "none")


def program(found: list[Function], skip: frozenset[str]) -> str:
    """Prints `name way code` for each call that returns a code."""
    lines = ["#include <stdio.h>", *(f'#include "acl/{header}"' for header in HEADERS)]
    lines += ["int main(void) {", "  aclInit(0); aclrtSetDevice(0);"]
    for i, (kind, (make, destroy)) in enumerate(MAKERS.items()):
        lines.append(
            f"  {kind}made_{i} = {make}; {kind}gone_{i} = {make}; {destroy}(gone_{i}); (void)made_{i};"
        )
    for function in found:
        if function.name in skip:
            continue
        for way in WAYS:
            arguments = ", ".join(_argument(kind, way) for kind in function.parameters)
            call = f"{function.name}({arguments})"
            if function.result in ("aclError", "aclnnStatus", "hi_s32"):
                lines.append(f'  printf("{function.name} {way} %d\\n", {call}); fflush(stdout);')
            else:
                lines.append(f"  (void){call};")
    return "\n".join([*lines, "  return 0;", "}"]) + "\n"
