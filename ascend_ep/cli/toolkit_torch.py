"""The CMake packages Torch and torch_npu of a toolkit, for projects of PyTorch extensions.

PyTorch brings a package of its own, outside of CMake's paths, and torch_npu none. Both are those of the
Python on the path, or of `Python_EXECUTABLE`.
"""

from __future__ import annotations

from collections.abc import Iterator

_FOUND = """\
# Packages of Python, for CMake. Made by `ascend-ep toolkit`.
include_guard(GLOBAL)
# torch_of_python(PACKAGE OUT): the folder of a package of Python, "" where it isn't installed.
function(torch_of_python package out)
  set(python ${Python_EXECUTABLE} ${Python3_EXECUTABLE})
  if(NOT python)
    find_program(ASC_PYTHON NAMES python3 python)
    set(python ${ASC_PYTHON})
  endif()
  list(GET python 0 python)
  set(asked "import importlib.util as u; s = u.find_spec('${package}')")
  execute_process(
    COMMAND ${python} -c "${asked}; print(s.submodule_search_locations[0] if s else '', end='')"
    OUTPUT_VARIABLE found ERROR_QUIET)
  execute_process(
    COMMAND ${python} -c "import sysconfig; print(sysconfig.get_path('include'), end='')"
    OUTPUT_VARIABLE headers ERROR_QUIET)
  set(${out} "${found}" PARENT_SCOPE)
  set(TORCH_PYTHON_HEADERS "${headers}" PARENT_SCOPE)
endfunction()
# Torch::Torch: libtorch, and what extensions of Python need beside it.
macro(torch_whole folder)
  if(TARGET torch AND NOT TARGET Torch::Torch)
    add_library(Torch::Torch INTERFACE IMPORTED)
    get_target_property(torch_standard torch CXX_STANDARD)
    if(torch_standard)
      set_property(TARGET Torch::Torch PROPERTY INTERFACE_COMPILE_FEATURES cxx_std_${torch_standard})
    endif()
    set_property(TARGET Torch::Torch PROPERTY INTERFACE_INCLUDE_DIRECTORIES ${TORCH_PYTHON_HEADERS})
    set_property(TARGET Torch::Torch PROPERTY INTERFACE_COMPILE_DEFINITIONS
      "TORCH_EXTENSION_NAME=$<TARGET_PROPERTY:NAME>")
    set_property(TARGET Torch::Torch PROPERTY INTERFACE_LINK_LIBRARIES
      ${TORCH_LIBRARIES} "${folder}/lib/libtorch_python.so")
  endif()
endmacro()
"""

_TORCH = """\
include(${CMAKE_CURRENT_LIST_DIR}/../ascend_ep/torch_of_python.cmake)
torch_of_python(torch TORCH_FOLDER)
if(EXISTS "${TORCH_FOLDER}/share/cmake/Torch/TorchConfig.cmake")
  include("${TORCH_FOLDER}/share/cmake/Torch/TorchConfig.cmake")
  torch_whole("${TORCH_FOLDER}")
else()
  set(Torch_FOUND FALSE)
  set(Torch_NOT_FOUND_MESSAGE "the Python on the path has no PyTorch")
endif()
"""

_TORCH_NPU = """\
include(${CMAKE_CURRENT_LIST_DIR}/../ascend_ep/torch_of_python.cmake)
torch_of_python(torch TORCH_FOLDER)
torch_of_python(torch_npu TORCH_NPU_FOLDER)
if(EXISTS "${TORCH_NPU_FOLDER}/lib/libtorch_npu.so")
  torch_whole("${TORCH_FOLDER}")
  if(NOT TARGET torch_npu)
    # not imported: its headers come before the toolkit's, which lack what this version of it may need
    add_library(torch_npu INTERFACE)
    target_include_directories(torch_npu INTERFACE "${TORCH_NPU_FOLDER}/include")
    target_link_libraries(torch_npu INTERFACE "${TORCH_NPU_FOLDER}/lib/libtorch_npu.so")
  endif()
else()
  set(torch_npu_FOUND FALSE)
  set(torch_npu_NOT_FOUND_MESSAGE "the Python on the path has no torch_npu")
endif()
"""


def torch_files() -> Iterator[tuple[str, str]]:
    """Path below the toolkit's folder and text of each file."""
    yield "lib64/cmake/ascend_ep/torch_of_python.cmake", _FOUND
    yield "lib64/cmake/Torch/TorchConfig.cmake", _TORCH
    yield "lib64/cmake/torch_npu/torch_npuConfig.cmake", _TORCH_NPU
