"""aclnn<Op>GetWorkspaceSize and aclnn<Op> of a definition, in C++ programs; packages that hold them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from ascend_ep.codegen.header_text import HEADERS
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.ascendc.cpp import LIBRARIES, find_cpp
from ascend_ep.opbuild.kernels.aclnn_sources import header_name, header_text, source_text
from ascend_ep.opdef.loader import load_definitions
from ascend_ep.opdef.packages import read_package, vendor_folders
from ascend_ep.opdef.registry import Registry

#: y = alpha*x + y in y's own memory, from the first element on.
DEFINITION = {
    "op": "ScaleInto",
    "input_desc": [
        {"name": "x", "type": ["float32"]},
        {"name": "y", "type": ["float32"]},
        {"name": "new", "type": ["float32"], "param_type": "optional"},
    ],
    "output_desc": [{"name": "y", "type": ["float32"]}, {"name": "sum", "type": ["float32"]}],
    "attributes": [{"name": "alpha", "type": "float", "default": 2.0}],
    "library": "scale_into.so",
}
OPERATOR = r"""
#include <stdio.h>
#include <string.h>
#include "asc_tiled_op.h"
static long count(const asc_tensor *t) { return t->dims[0]; }
static int32_t infer(asc_custom_call *c) { c->out[0] = c->in[0]; c->out[1] = c->in[0]; return 0; }
static int32_t tile(asc_custom_call *c) {
    if (count(&c->in[0]) == count(&c->in[1])) return 0;
    snprintf(c->error, c->error_bytes, "x and y differ");
    return 1;
}
static int32_t compute(const asc_custom_call *c) {
    if (c->n_in != 3 || c->in[2].dtype != ASC_UNDEFINED || c->n_out != 2) return 1;
    const float *x = c->in[0].data; float *y = c->out[0].data, *sum = c->out[1].data;
    memmove(y, c->in[1].data, count(&c->in[1]) * sizeof *y);
    float alpha = (float)c->attrs[0].floats[0];
    for (long i = 0; i < count(&c->in[0]); i++) y[i] += alpha * x[i], sum[i] = x[i] + y[i];
    return 0;
}
#define OP {ASC_CUSTOM_OP_VERSION, sizeof(asc_tiled_op), "ScaleInto", 2, 3, 2, 0, infer, 0, compute}
static const asc_tiled_op op = {OP, tile};
const asc_custom_op *asc_get_custom_op(uint32_t version, const char *type) {
    (void)version;
    return strcmp(type, op.op.op_type) ? 0 : &op.op;
}
"""
#: x is every other element of its memory.
PROGRAM = r"""
#include <cstdio>
#include "acl/acl.h"
#include "aclnn_scale_into.h"
static void *on_device(const float *values) {
    void *p = nullptr;
    aclrtMalloc(&p, 32, ACL_MEM_MALLOC_HUGE_FIRST);
    if (values) aclrtMemcpy(p, 32, values, 32, ACL_MEMCPY_HOST_TO_DEVICE);
    return p;
}
static aclTensor *tensor(void *p, int64_t n, int64_t stride) {
    return aclCreateTensor(&n, 1, ACL_FLOAT, &stride, 0, ACL_FORMAT_ND, &n, 1, p);
}
int main() {
    aclInit(nullptr);
    aclrtSetDevice(0);
    aclrtStream stream;
    aclrtCreateStream(&stream);
    const float x[8] = {1, -1, 2, -1, 3, -1, 4, -1}, y[8] = {10, 20, 30, 40};
    void *dx = on_device(x), *dy = on_device(y), *ds = on_device(nullptr);
    uint64_t size = 1;
    aclOpExecutor *executor = nullptr;
    aclTensor *in = tensor(dx, 3, 2), *into = tensor(dy, 4, 1), *sum = tensor(ds, 4, 1);
    int code = aclnnScaleIntoGetWorkspaceSize(in, into, nullptr, 0.5, sum, &size, &executor);
    std::printf("%d %s", code, aclGetRecentErrMsg());
    code = aclnnScaleIntoGetWorkspaceSize(nullptr, into, nullptr, 0.5, sum, &size, &executor);
    std::printf("%d\n", code);
    in = tensor(dx, 4, 2);
    code = aclnnScaleIntoGetWorkspaceSize(in, into, nullptr, 0.5, sum, &size, &executor);
    std::printf("%d %d", code, int(size));
    std::printf(" %d", aclnnScaleInto(nullptr, 0, executor, stream));
    std::printf(" %d\n", aclrtSynchronizeStream(stream));
    float made[2][8];
    aclrtMemcpy(made[0], 32, dy, 32, ACL_MEMCPY_DEVICE_TO_HOST);
    aclrtMemcpy(made[1], 32, ds, 32, ACL_MEMCPY_DEVICE_TO_HOST);
    for (auto &row : made) std::printf("%g %g %g %g\n", row[0], row[1], row[2], row[3]);
}
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vendor's folder as custom_opp_*.run makes it."""
    folder = tmp_path_factory.mktemp("package")
    for part in ("include", "lib"):
        (folder / "op_api" / part).mkdir(parents=True)
    (folder / "scale_into.json").write_text(json.dumps(DEFINITION))
    (folder / "op.c").write_text(OPERATOR)
    compiler = [*find_cpp(), "-x", "c", "-w", "-fPIC", "-shared", f"-I{HEADERS}"]
    subprocess.run(
        [*compiler, str(folder / "op.c"), "-o", str(folder / "scale_into.so")], check=True, timeout=60
    )
    opdef = load_definitions(folder / "scale_into.json")[0]
    (folder / "op_api/include" / header_name(opdef.op)).write_text(header_text(opdef))
    source = folder / "aclnn_scale_into.cpp"
    source.write_text(source_text(opdef, folder / "scale_into.json", folder / "scale_into.so"))
    include = [f"-I{HEADERS}", f"-I{folder / 'op_api/include'}"]
    # As build files of projects compile it.
    words = [
        *find_cpp(),
        "-std=c++11",
        "-Wall",
        "-Werror",
        "-fPIC",
        "-shared",
        "-fvisibility=hidden",
        *include,
    ]
    library = folder / "op_api/lib/libcust_opapi.so"
    subprocess.run([*words, str(source), "-o", str(library)], check=True, timeout=60)
    return folder


def test_a_program_calls_it_in_two_phases(package: Path, tmp_path: Path) -> None:
    (tmp_path / "main.cpp").write_text(PROGRAM)
    api = package / "op_api"
    words = [f"-I{HEADERS}", f"-I{api / 'include'}", f"-L{api / 'lib'}", f"-L{LIBRARIES}"]
    linked = ["-lcust_opapi", "-lascendcl", "-o", str(tmp_path / "main")]
    subprocess.run([*find_cpp(), str(tmp_path / "main.cpp"), *words, *linked], check=True, timeout=60)
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{api / 'lib'}:{LIBRARIES}"}
    done = subprocess.run(
        [str(tmp_path / "main")], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    refused, *lines = done.stdout.splitlines()
    assert refused.startswith("161002 ")
    assert "x and y differ" in refused
    assert [line for line in lines if line] == ["161001", "0 0 0 0", "10.5 21 31.5 42", "11.5 23 34.5 46"]


def test_the_header_has_inputs_attributes_outputs(package: Path) -> None:
    words = (package / "op_api/include/aclnn_scale_into.h").read_text().split()
    text = " ".join(words)
    assert (
        "aclnnScaleIntoGetWorkspaceSize(const aclTensor *x, aclTensor *y, const aclTensor *newOptional, "
        "double alphaOptional, const aclTensor *sum, uint64_t *workspaceSize, aclOpExecutor **executor)"
    ) in text


def test_inputs_that_the_host_reads_are_arrays(tmp_path: Path) -> None:
    definition = {
        "op": "Tile",
        "input_desc": [{"name": "x", "type": ["float32"]}, {"name": "multiples", "type": ["int64"]}],
        "output_desc": [{"name": "class", "type": ["float32"]}],
        "attributes": [{"name": "axes", "type": "ints", "default": [0]}],
    }
    (tmp_path / "tile.json").write_text(json.dumps(definition))
    opdef = load_definitions(tmp_path / "tile.json")[0]
    text = " ".join(header_text(opdef, ["multiples"]).split())
    assert "const aclTensor *x, const aclIntArray *multiples, const aclIntArray *axesOptional," in text
    assert "const aclTensor *classValue," in text


def test_an_installed_package_is_in_force(package: Path, tmp_path: Path) -> None:
    vendors = tmp_path / "vendors"
    vendors.mkdir()
    (vendors / "mine").symlink_to(package)
    (vendors / "another").mkdir()
    (vendors / "config.ini").write_text("load_priority=mine,gone\n")
    environ = {"ASCEND_OPP_PATH": str(tmp_path)}
    assert [p.name for p in vendor_folders(environ)] == ["mine", "another"]
    assert vendor_folders({**environ, "ASCEND_CUSTOM_OPP_PATH": str(package)})[0] == package
    found = Registry.from_options(environ=environ).resolve("", "ScaleInto", 17)
    assert found is not None
    assert found.place == "installed packages"
    assert [t.name for t in found.opdef.outputs] == ["y_ref", "sum"]
    assert Registry.from_options(environ={}).resolve("", "ScaleInto", 17) is None


def test_a_damaged_package_is_named(package: Path, tmp_path: Path) -> None:
    from ascend_ep.opdef.packages import SECTION, _records

    library = tmp_path / "op_api" / "lib" / "libcust_opapi.so"
    assert read_package(tmp_path) == []
    library.parent.mkdir(parents=True)
    library.write_bytes((package / "op_api/lib/libcust_opapi.so").read_bytes()[:2000])
    with pytest.raises(AscendError, match="E41010"):
        read_package(tmp_path)
    from ascend_ep.opdef.elf_file import ElfFile

    whole = ElfFile((package / "op_api/lib/libcust_opapi.so").read_bytes()).find(SECTION)
    assert whole is not None
    with pytest.raises(AscendError, match="cut short"):
        list(_records(whole[:-100], library))
