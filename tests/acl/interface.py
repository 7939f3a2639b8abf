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
    "../aclnn/asc_matmul_weight.h",
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
#: What makes a sound argument of these.
SOUND = {"aclrtStream": "a_stream()", "aclrtContext": "a_context()", "aclrtEvent": "an_event()"}
_CALLED = re.compile(r"(Callback|Func)$")
_POINTED = re.compile(r"\*|(Callback|Func|Handle|Notify|RI)$")
_PLACES = """
static char bytes[1 << 20], text[64];
static void *pointers[64];
static long nothing(void) { return 0; }
static aclrtStream a_stream(void) { aclrtStream s = 0; aclrtCreateStream(&s); return s; }
static aclrtContext a_context(void) { aclrtContext c = 0; aclrtGetCurrentContext(&c); return c; }
static aclrtEvent an_event(void) { aclrtEvent e = 0; aclrtCreateEvent(&e); return e; }
static void begin(const char *what) {
    memset(bytes, 0, sizeof bytes); memset(pointers, 0, sizeof pointers); strcpy(text, "x");
    if (!a_context()) aclrtSetDevice(0);
    printf("before %s\\n", what); fflush(stdout);
}
"""


def _sound(kind: str) -> str:
    plain = kind.replace("const ", "").replace(" *const", " *").strip()
    if kind in VALUES:
        return f"({kind}){{0}}"
    if plain in MAKERS:
        return MAKERS[plain][0]
    if plain in SOUND:
        return f"({kind}){SOUND[plain]}"
    if _CALLED.search(plain):
        return f"({kind})nothing"
    if plain in OPAQUE or (_POINTED.search(plain) and "*" not in plain):
        return f"({kind})0x7f0012345670"
    place = "pointers" if plain.endswith("* *") else "text" if plain == "char *" else "bytes"
    return f"({kind}){place}" if "*" in plain else f"({kind})1"


def _unsound(kind: str) -> list[str]:
    plain = kind.replace("const ", "").replace(" *const", " *").strip()
    if kind in VALUES:
        return []
    if plain in MAKERS or plain in OPAQUE:
        return [_argument(kind, way) for way in WAYS]
    return [f"({kind})0"] if _POINTED.search(plain) else [f"({kind})0", f"({kind})-7"]


def program(found: list[Function], skip: frozenset[str]) -> str:
    """Prints `name way code` for each call that returns a code, and "end"."""
    groups = []
    for function in found:
        if function.name not in skip:
            given = [(way, [_argument(kind, way) for kind in function.parameters]) for way in WAYS]
            groups.append([_printed(function, f"{function.name} {way}", a) for way, a in given])
    return _whole(groups, "")


def program_of_one_unsound(found: list[Function], skip: frozenset[str]) -> str:
    """Prints `name place code` for each call that returns a code, and "end". The argument `place` of the
    call is no good, none where it is -1. Memory of the host has a megabyte; sizes are 0, 1 or huge."""
    groups = []
    for function in found:
        if function.name in skip:
            continue
        sound = [_sound(kind) for kind in function.parameters]
        calls = [(-1, sound)]
        for i, kind in enumerate(function.parameters):
            calls += [(i, [*sound[:i], bad, *sound[i + 1 :]]) for bad in _unsound(kind)]
        group = []
        for place, arguments in calls:
            what = f"{function.name} {place}"
            group += [f'  begin("{what}");', _printed(function, what, arguments)]
        groups.append(group)
    return _whole(groups, _PLACES)


def _printed(function: Function, what: str, arguments: list[str]) -> str:
    call = f"{function.name}({', '.join(arguments)})"
    if function.result in ("aclError", "aclnnStatus", "hi_s32"):
        return f'  printf("{what} %d\\n", {call}); fflush(stdout);'
    return f"  (void){call};"


def _whole(groups: list[list[str]], places: str) -> str:
    """A C function for each group, since compilers take long for a large one."""
    headers = [f'#include "acl/{header}"' for header in HEADERS]
    lines = ["#include <stdio.h>", "#include <string.h>", *headers, places]
    for i, kind in enumerate(MAKERS):
        lines.append(f"static {kind}made_{i}, *gone_{i};")
    for i, group in enumerate(groups):
        lines += [f"static void group_{i}(void) {{", *group, "}"]
    lines += ["int main(void) {", "  aclInit(0); aclrtSetDevice(0);"]
    for i, (make, destroy) in enumerate(MAKERS.values()):
        lines.append(f"  made_{i} = {make}; gone_{i} = {make}; {destroy}(gone_{i});")
    lines += [f"  group_{i}();" for i in range(len(groups))]
    return "\n".join([*lines, '  printf("end\\n");', "  return 0;", "}"]) + "\n"
