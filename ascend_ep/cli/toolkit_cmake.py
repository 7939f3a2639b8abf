"""The CMake files of a toolkit: kernels as libraries (ascendc_library), and tikicpulib for programs with
ICPU_RUN_KF."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

#: Where build files look for ascendc.cmake, and by find_package for CANN and ASC.
KERNELS = (
    "tools/tikcpp/ascendc_kernel_cmake",
    "compiler/tikcpp/ascendc_kernel_cmake",
    "tikcpp/ascendc_kernel_cmake",
    "ascendc_devkit/tikcpp/samples/cmake",
    "lib64/cmake/CANN",
    "lib64/cmake/ASC",
)
#: And for tikicpulib.
CPU = ("tools/tikicpulib/lib/cmake", "toolkit/tools/tikicpulib/lib/cmake", "lib64/cmake/tikicpulib")

_ROOT = """\
get_filename_component(ASC_TOOLKIT "{folder}" ABSOLUTE)
"""

_KERNELS = """\
# Kernels of Ascend C as libraries, compiled for this CPU. Made by `ascend-ep toolkit`.
include_guard(GLOBAL)
set(CANN_INCLUDE_DIRS ${ASC_TOOLKIT}/include)
set(CANN_LIBRARIES ${ASC_TOOLKIT}/lib64/libascendcl.so)
set(CANN_VERSION {version})

# ascendc_library(NAME STATIC|SHARED|OBJECT FILE...): kernels, and aclrtlaunch_<kernel>.h for each.
function(ascendc_library name kind)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name}_launchers)
  set(files)
  foreach(file IN LISTS ARGN)
    get_filename_component(file ${file} ABSOLUTE)
    list(APPEND files ${file})
  endforeach()
  execute_process(
    COMMAND ${ASC_TOOLKIT}/tools/ascendc/asc_launchers ${folder} ${files}
    OUTPUT_VARIABLE made RESULT_VARIABLE status OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "asc_launchers fails for ${ARGN}")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  string(REPLACE "\\n" ";" made "${made}")
  add_library(${name} ${kind} ${made})
  set_source_files_properties(${made} PROPERTIES OBJECT_DEPENDS "${files}")
  set(beside)
  foreach(file IN LISTS files)
    get_filename_component(place ${file} DIRECTORY)
    list(APPEND beside ${place})
  endforeach()
  target_include_directories(${name} PRIVATE ${beside})
  target_include_directories(${name} PUBLIC ${folder} ${ASC_TOOLKIT}/include)
  target_compile_features(${name} PRIVATE cxx_std_17)
  target_compile_options(${name} PRIVATE -w -fno-strict-aliasing -ffp-contract=off)
  target_compile_definitions(${name} PRIVATE ASCENDC_CPU_DEBUG __CCE_KT_TEST__)
  set(launchers ${ASC_TOOLKIT}/tools/ascendc/asc_compile ${CMAKE_CXX_COMPILER_LAUNCHER})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_COMPILER_LAUNCHER "${launchers}")
  find_package(Threads REQUIRED)
  target_link_libraries(${name} PUBLIC ${ASC_TOOLKIT}/lib64/libascendcl.so Threads::Threads)
endfunction()
# NAME.o, which programs load by aclrtBinaryLoadFromFile; in fatbin/NAME of the installation, too.
function(ascendc_fatbin_library name)
  ascendc_library(${name} SHARED ${ARGN})
  set_target_properties(${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name} SUFFIX ".o"
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  if(NOT CMAKE_INSTALL_PREFIX_INITIALIZED_TO_DEFAULT)
    add_custom_command(TARGET ${name} POST_BUILD COMMAND ${CMAKE_COMMAND} -E copy
      $<TARGET_FILE:${name}> ${CMAKE_INSTALL_PREFIX}/fatbin/${name}/${name}.o)
  endif()
  install(FILES $<TARGET_FILE:${name}> DESTINATION fatbin/${name})
endfunction()
function(ascendc_add_library name kind)
  ascendc_library(${name} ${kind} ${ARGN})
endfunction()
function(ascendc_include_directories name)
  target_include_directories(${name} ${ARGN})
endfunction()
function(ascendc_compile_definitions name)
  target_compile_definitions(${name} ${ARGN})
endfunction()
# Flags of the device's compiler alone are left out, and named.
function(ascendc_compile_options name)
  set(kept)
  set(left)
  set(device FALSE)
  foreach(flag IN LISTS ARGN)
    if(flag MATCHES "^(-mllvm|--cce|-Xaicore|-Xhost|--npu)" OR device)
      list(APPEND left ${flag})
      set(device FALSE)
      if(flag STREQUAL "-mllvm")
        set(device TRUE)
      endif()
    else()
      list(APPEND kept ${flag})
    endif()
  endforeach()
  if(left)
    message(STATUS "${name}: without effect on this CPU: ${left}")
  endif()
  if(NOT kept MATCHES "^(PRIVATE|PUBLIC|INTERFACE)")
    list(INSERT kept 0 PRIVATE)
  endif()
  target_compile_options(${name} ${kept})
endfunction()
"""

_CPU = """\
# tikicpulib::<chip>: programs that launch kernels by ICPU_RUN_KF. Made by `ascend-ep toolkit`.
# What is compiled from here on is compiled for each kind of core that it asks for.
if(NOT "${ASC_TOOLKIT}/tools/ascendc/asc_compile" IN_LIST CMAKE_CXX_COMPILER_LAUNCHER)
  list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER "${ASC_TOOLKIT}/tools/ascendc/asc_compile")
endif()
include_guard(GLOBAL)
find_package(Threads REQUIRED)
foreach(named IN ITEMS {chips})
  string(REPLACE "=" ";" named ${named})
  list(GET named 0 name)
  list(GET named 1 chip)
  add_library(tikicpulib::${name} INTERFACE IMPORTED GLOBAL)
  set_target_properties(tikicpulib::${name} PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${ASC_TOOLKIT}/include"
    INTERFACE_COMPILE_FEATURES cxx_std_17
    INTERFACE_COMPILE_OPTIONS "-fno-strict-aliasing;-ffp-contract=off"
    INTERFACE_COMPILE_DEFINITIONS "ASCENDC_CPU_DEBUG=1;__CCE_KT_TEST__=1;ASC_CHIP_OF_PROGRAM=\\"${chip}\\""
    INTERFACE_LINK_LIBRARIES "${ASC_TOOLKIT}/lib64/libascendcl.so;Threads::Threads")
endforeach()
"""


def cmake_files(folder: str, version: str, chips: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Path below the toolkit's folder and text of each file. folder: its absolute path. chips: by each name
    that build files have for it."""
    root = _ROOT.format(folder=folder.replace("\\", "\\\\").replace('"', '\\"'))
    kernels = root + _KERNELS.replace("{version}", version)
    for place in KERNELS:
        for name in ("ascendc.cmake", "CANNConfig.cmake", "ASCConfig.cmake"):
            yield f"{place}/{name}", kernels
    cpu = root + _CPU.replace("{chips}", " ".join(f"{name}={chip}" for name, chip in chips.items()))
    for place in CPU:
        for name in ("tikicpulib-config.cmake", "tikicpulib/tikicpulib-config.cmake"):
            yield f"{place}/{name}", cpu
