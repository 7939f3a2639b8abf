"""What builds and installs a project: CMake files and scripts, the same for every operator."""

from __future__ import annotations

import json
from collections.abc import Sequence


def cpp_build_files(configs: Sequence[str]) -> dict[str, str]:
    """The build of a -lan cpp project for these chips. Path -> text."""
    return {
        "CMakeLists.txt": _ROOT.replace("@PARTS@", "framework op_host op_kernel"),
        "CMakePresets.json": presets_text(configs),
        "build.sh": _BUILD,
        "cmake/config.cmake": _CONFIG,
        "cmake/func.cmake": _FUNCTIONS,
        "cmake/intf.cmake": _INTERFACE,
        "cmake/device_task.cmake": _DEVICE,
        "cmake/makeself.cmake": _PACKAGE,
        "cmake/util/stage_kernels.py": _STAGE,
        "op_host/CMakeLists.txt": _HOST + _API,
        "op_kernel/CMakeLists.txt": "stage_kernel_sources(${CMAKE_CURRENT_SOURCE_DIR})\n",
        "framework/CMakeLists.txt": _FRAMEWORK,
        "scripts/install.sh": _INSTALL,
        "scripts/upgrade.sh": _UPGRADE,
        "scripts/profile.sh": _PROFILE,
        ".gitlab-ci.yml": _PIPELINE,
    }


def py_build_files(configs: Sequence[str]) -> dict[str, str]:
    """The build of a -lan py project."""
    return {
        "CMakeLists.txt": _ROOT.replace("@PARTS@", "framework op_proto op_tiling").replace(
            "include(cmake/makeself.cmake)",
            "install(DIRECTORY tbe DESTINATION packages)\ninclude(cmake/makeself.cmake)",
        ),
        "build.sh": _BUILD.replace(
            "--preset default",
            f'-B build_out -DASCEND_COMPUTE_UNIT="{";".join(configs)}" -Dvendor_name=customize',
        ),
        "cmake/config.cmake": _CONFIG,
        "cmake/func.cmake": _FUNCTIONS,
        "cmake/intf.cmake": _INTERFACE,
        "cmake/makeself.cmake": _PACKAGE,
        "op_proto/CMakeLists.txt": _HOST.replace("cust_opmaster", "cust_op_proto").replace("*.cpp", "*.cc"),
        "op_tiling/CMakeLists.txt": "# Tiling of a Python operator is part of its schedule: there is nothing to build.\n",
        "framework/CMakeLists.txt": _FRAMEWORK,
        "scripts/install.sh": _INSTALL,
        "scripts/upgrade.sh": _UPGRADE,
        "scripts/profile.sh": _PROFILE,
        ".gitlab-ci.yml": _PIPELINE,
    }


#: Of a program that calls the operators, in the toolkit's environment.
_PROFILE = """#!/usr/bin/env bash
# Profiles a program that calls the operators: scripts/profile.sh python3 program.py. Needs the toolkit's msprof.
set -euo pipefail
[ $# -gt 0 ] || { echo "usage: $0 PROGRAM [ARGUMENT ...]" >&2; exit 2; }
exec msprof --application="$(printf '%q ' "$@")" --output="${PROFILE_DIR:-profile}"
"""
_PIPELINE = """# Builds the operators, holds them to their definition, and installs them where the main branch is deployed.
stages:
  - build
  - test
  - deploy

build_ascendc:
  stage: build
  script: bash build.sh
  artifacts:
    paths: [build_out/*.run]

# 5: a project that no formula fills in has no tests.
test_precision:
  stage: test
  script: python3 -m pytest tests || [ $? -eq 5 ]

# A baseline, `ascend-prof gate --record=baseline.json model.om`, blocks what makes the model slower or wrong.
test_speed:
  stage: test
  rules:
    - exists: [baseline.json]
  script: ascend-prof gate --baseline=baseline.json model.om

deploy:
  stage: deploy
  rules:
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
  script: bash build_out/custom_opp_*.run
"""


def presets_text(configs: Sequence[str]) -> str:
    """CMakePresets.json: what a user of the project changes."""
    variables = {
        "CMAKE_BUILD_TYPE": "Release",
        "ENABLE_SOURCE_PACKAGE": "True",
        "ENABLE_BINARY_PACKAGE": "True",
        "ASCEND_COMPUTE_UNIT": ";".join(configs),
        "ENABLE_TEST": "True",
        "vendor_name": "customize",
        "ASCEND_PYTHON_EXECUTABLE": "python3",
        "CMAKE_INSTALL_PREFIX": "${sourceDir}/build_out",
    }
    kinds = {"True": "BOOL", "Release": "STRING"}
    preset = {
        "name": "default",
        "displayName": "Default Config",
        "generator": "Unix Makefiles",
        "binaryDir": "${sourceDir}/build_out",
        "cacheVariables": {k: {"type": kinds.get(v, "STRING"), "value": v} for k, v in variables.items()},
    }
    return json.dumps({"version": 1, "cmakeMinimumRequired": {"major": 3, "minor": 19, "patch": 0},
                       "configurePresets": [preset]}, indent=2) + "\n"  # fmt: skip


_ROOT = """cmake_minimum_required(VERSION 3.19)
project(custom_operators LANGUAGES CXX)

include(cmake/config.cmake)
include(cmake/func.cmake)
include(cmake/intf.cmake)
foreach(part @PARTS@)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${part})
    add_subdirectory(${part})
  endif()
endforeach()
include(cmake/makeself.cmake)
"""

_BUILD = """#!/usr/bin/env bash
# Builds the operators into build_out/custom_opp_<os>_<arch>.run. Needs ASCEND_HOME_PATH, the toolkit's folder.
set -euo pipefail
cd "$(dirname "$0")"
: "${ASCEND_HOME_PATH:?source set_env.sh of the toolkit first}"
cmake --preset default -DASCEND_CANN_PACKAGE_PATH="$ASCEND_HOME_PATH"
cmake --build build_out
cmake --build build_out --target package
"""

_CONFIG = """# Where the toolkit is, and for which chips to build.
set(ASCEND_CANN_PACKAGE_PATH "$ENV{ASCEND_HOME_PATH}" CACHE PATH "the toolkit")
set(ASCEND_COMPUTE_UNIT "" CACHE STRING "chips, separated by ;")
set(vendor_name customize CACHE STRING "folder below vendors/")
set(ASCEND_PYTHON_EXECUTABLE python3 CACHE STRING "Python")
# A folder of headers a line: projects' scripts write others behind them.
set(cann_headers
  ${ASCEND_CANN_PACKAGE_PATH}/include
)
list(GET cann_headers 0 own_headers)
if(NOT EXISTS "${own_headers}")
  message(FATAL_ERROR "ASCEND_CANN_PACKAGE_PATH is [${ASCEND_CANN_PACKAGE_PATH}], which has no include folder")
endif()
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(vendor_dir packages/vendors/${vendor_name})
"""

_FUNCTIONS = """# Kernel sources go to the package; the toolkit compiles them for the chips when they are first used.
function(stage_kernel_sources folder)
  include(${CMAKE_SOURCE_DIR}/cmake/device_task.cmake)
  add_kernel_task(${folder})
endfunction()

# Options of the device's compiler: add_ops_compile_options(Add OPTIONS -O3).
function(add_ops_compile_options operator)
  message(STATUS "${operator}: options of the device's compiler, without effect on this CPU: ${ARGN}")
endfunction()
"""

_INTERFACE = """# Options of every library of the host.
add_library(intf_pub INTERFACE)
target_compile_options(intf_pub INTERFACE -fPIC -fvisibility=hidden -Wall)
target_include_directories(intf_pub INTERFACE ${cann_headers})
target_link_directories(intf_pub INTERFACE ${ASCEND_CANN_PACKAGE_PATH}/lib64)
"""

_DEVICE = """# Copies the kernels of a folder, one set per chip.
function(add_kernel_task folder)
  add_custom_target(kernel_sources ALL
    COMMAND ${ASCEND_PYTHON_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/util/stage_kernels.py
            ${folder} ${CMAKE_BINARY_DIR}/kernels "${ASCEND_COMPUTE_UNIT}"
    VERBATIM)
  install(DIRECTORY ${CMAKE_BINARY_DIR}/kernels/ DESTINATION ${vendor_dir}/op_impl/ai_core/tbe/${vendor_name}_impl)
endfunction()
"""

_STAGE = '''"""Copies kernel sources: stage_kernels.py SOURCES TARGET "chip;chip"."""

import shutil
import sys
from pathlib import Path


def main(sources: str, target: str, chips: str) -> None:
    for chip in filter(None, chips.split(";")):
        folder = Path(target) / chip
        folder.mkdir(parents=True, exist_ok=True)
        for file in sorted(Path(sources).glob("*.cpp")):
            shutil.copy2(file, folder / file.name)


if __name__ == "__main__":
    main(*sys.argv[1:])
'''

_PACKAGE = """# build_out/custom_opp_<os>_<arch>.run: the installed tree behind a script that unpacks it.
file(READ /etc/os-release os_release)
string(REGEX MATCH "\\nID=\\"?([a-z]+)" _ "\\n${os_release}")
set(run_file ${CMAKE_BINARY_DIR}/custom_opp_${CMAKE_MATCH_1}_${CMAKE_SYSTEM_PROCESSOR}.run)
install(FILES ${CMAKE_SOURCE_DIR}/scripts/install.sh ${CMAKE_SOURCE_DIR}/scripts/upgrade.sh DESTINATION .)
add_custom_target(package
  COMMAND ${CMAKE_COMMAND} --install ${CMAKE_BINARY_DIR} --prefix ${CMAKE_BINARY_DIR}/stage
  COMMAND ${CMAKE_COMMAND} -E chdir ${CMAKE_BINARY_DIR}/stage
          ${CMAKE_COMMAND} -E tar czf ${CMAKE_BINARY_DIR}/stage.tgz .
  COMMAND sh -c "{ printf '#!/bin/sh\\\\nset -e\\\\nd=$(mktemp -d)\\\\ntail -n +6 \\"$0\\" | tar xz -C \\"$d\\"\\\\nexec sh \\"$d/install.sh\\" \\"$@\\"\\\\n'; cat stage.tgz; } > ${run_file} && chmod +x ${run_file}"
  WORKING_DIRECTORY ${CMAKE_BINARY_DIR}
  VERBATIM)
"""

_HOST = """file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
add_library(cust_opmaster SHARED ${sources})
target_link_libraries(cust_opmaster PRIVATE intf_pub exe_graph register tiling_api)
install(TARGETS cust_opmaster DESTINATION ${vendor_dir}/op_impl/ai_core/tbe/op_tiling)
"""

_API = """
# The operators' C functions, aclnn<Op>, which op_build makes of what the sources register.
find_program(op_build op_build NO_DEFAULT_PATH
  PATHS ${ASCEND_CANN_PACKAGE_PATH}/toolkit/tools/opbuild ${ASCEND_CANN_PACKAGE_PATH}/tools/opbuild)
if(op_build)
  set(autogen ${CMAKE_BINARY_DIR}/autogen)
  file(MAKE_DIRECTORY ${autogen})
  list(TRANSFORM cann_headers PREPEND -I OUTPUT_VARIABLE include_flags)
  execute_process(
    COMMAND ${CMAKE_CXX_COMPILER} -fPIC -shared -std=c++17 ${sources} ${include_flags}
            -L ${ASCEND_CANN_PACKAGE_PATH}/lib64 -lexe_graph -lregister -ltiling_api
            -o ${autogen}/libascend_all_ops.so
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${op_build} ${autogen}/libascend_all_ops.so ${autogen} COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB api_sources ${autogen}/aclnn_*.cpp)
  file(GLOB api_headers ${autogen}/aclnn_*.h)
  add_library(cust_opapi SHARED ${api_sources})
  target_link_libraries(cust_opapi PRIVATE intf_pub ascendcl nnopbase)
  install(TARGETS cust_opapi DESTINATION ${vendor_dir}/op_api/lib)
  install(FILES ${api_headers} DESTINATION ${vendor_dir}/op_api/include)
endif()
"""

_FRAMEWORK = """foreach(plugin onnx_plugin tf_plugin caffe_plugin)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${plugin})
    add_subdirectory(${plugin})
  endif()
endforeach()
"""

_INSTALL = """#!/bin/sh
# install.sh [--install-path=DIR]: into DIR/vendors, by default $ASCEND_OPP_PATH/vendors.
set -eu
target="${ASCEND_OPP_PATH:-}"
for argument in "$@"; do
    case "$argument" in
        --install-path=*) target="${argument#--install-path=}" ;;
        *) echo "unknown argument: $argument" >&2; exit 2 ;;
    esac
done
[ -n "$target" ] || { echo "set ASCEND_OPP_PATH, or give --install-path=DIR" >&2; exit 1; }
mkdir -p "$target/vendors"
cp -R "$(dirname "$0")/packages/vendors/." "$target/vendors/"
echo "SUCCESS"
"""

_UPGRADE = """#!/bin/sh
# Replaces an installed version: what is installed is written over.
exec sh "$(dirname "$0")/install.sh" "$@"
"""
