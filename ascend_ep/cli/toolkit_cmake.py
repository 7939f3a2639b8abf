"""The CMake files of a toolkit: kernels as libraries (ascendc_library), the language ASC, and tikicpulib for
programs with ICPU_RUN_KF."""

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
  target_include_directories(${name} PUBLIC ${folder})
  target_include_directories(${name} SYSTEM PUBLIC ${ASC_TOOLKIT}/include)
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

#: CMake's language ASC: what compiles and links its sources.
_LANGUAGE_PLACE = "tools/ascendc/cmake"
_FINDS_LANGUAGE = """\
# Modules of CMake's language ASC (project(... LANGUAGES ASC CXX)).
list(APPEND CMAKE_MODULE_PATH ${ASC_TOOLKIT}/{place})
"""
_LANGUAGE = {
    "CMakeDetermineASCCompiler.cmake": """\
set(CMAKE_ASC_COMPILER ${ASC_TOOLKIT}/bin/bisheng CACHE FILEPATH "compiler of Ascend C")
set(CMAKE_ASC_COMPILER_ENV_VAR ASC)
configure_file(${CMAKE_CURRENT_LIST_DIR}/CMakeASCCompiler.cmake.in
  ${CMAKE_PLATFORM_INFO_DIR}/CMakeASCCompiler.cmake @ONLY)
""",
    "CMakeASCCompiler.cmake.in": """\
set(CMAKE_ASC_COMPILER "@CMAKE_ASC_COMPILER@")
set(CMAKE_ASC_COMPILER_ENV_VAR ASC)
set(CMAKE_ASC_COMPILER_LOADED 1)
set(CMAKE_ASC_SOURCE_FILE_EXTENSIONS asc)
set(CMAKE_ASC_OUTPUT_EXTENSION .o)
# A program with objects of Ascend C is linked by its compiler, which knows their libraries.
set(CMAKE_ASC_LINKER_PREFERENCE 60)
set(CMAKE_ASC_LINKER_PREFERENCE_PROPAGATES 1)
""",
    "CMakeTestASCCompiler.cmake": """\
set(CMAKE_ASC_COMPILER_WORKS 1 CACHE INTERNAL "")
""",
    "CMakeASCInformation.cmake": """\
set(CMAKE_ASC_FLAGS_INIT "")
set(CMAKE_ASC_FLAGS_DEBUG_INIT "-g")
set(CMAKE_ASC_FLAGS_RELEASE_INIT "-O3 -DNDEBUG")
set(CMAKE_ASC_FLAGS_RELWITHDEBINFO_INIT "-O2 -g -DNDEBUG")
set(CMAKE_ASC_FLAGS_MINSIZEREL_INIT "-Os -DNDEBUG")
include(CMakeCommonLanguageInclude)
include(CMakeInitializeConfigs)
cmake_initialize_per_config_variable(CMAKE_ASC_FLAGS "Flags of the compiler of Ascend C")
set(CMAKE_INCLUDE_FLAG_ASC "-I")
set(CMAKE_INCLUDE_SYSTEM_FLAG_ASC "-isystem ")
set(CMAKE_ASC_COMPILE_OPTIONS_PIC -fPIC)
set(CMAKE_ASC_COMPILE_OPTIONS_PIE -fPIE)
set(CMAKE_SHARED_LIBRARY_ASC_FLAGS -fPIC)
set(CMAKE_SHARED_LIBRARY_CREATE_ASC_FLAGS -shared)
set(CMAKE_SHARED_LIBRARY_SONAME_ASC_FLAG -Wl,-soname,)
set(CMAKE_SHARED_LIBRARY_RUNTIME_ASC_FLAG -Wl,-rpath,)
set(CMAKE_SHARED_LIBRARY_RUNTIME_ASC_FLAG_SEP :)
set(CMAKE_EXECUTABLE_RUNTIME_ASC_FLAG -Wl,-rpath,)
set(CMAKE_EXECUTABLE_RUNTIME_ASC_FLAG_SEP :)
set(CMAKE_ASC_LINKER_WRAPPER_FLAG "-Wl,")
set(CMAKE_ASC_LINKER_WRAPPER_FLAG_SEP ",")
set(CMAKE_DEPFILE_FLAGS_ASC "-MD -MT <DEP_TARGET> -MF <DEP_FILE>")
set(CMAKE_ASC_DEPFILE_FORMAT gcc)
set(CMAKE_ASC_DEPENDS_USE_COMPILER TRUE)
set(CMAKE_ASC_COMPILE_OBJECT
  "<CMAKE_ASC_COMPILER> -x asc <DEFINES> <INCLUDES> <FLAGS> -o <OBJECT> -c <SOURCE>")
set(CMAKE_ASC_LINK_EXECUTABLE
  "<CMAKE_ASC_COMPILER> <FLAGS> <CMAKE_ASC_LINK_FLAGS> <LINK_FLAGS> <OBJECTS> -o <TARGET> <LINK_LIBRARIES>")
foreach(kind IN ITEMS LIBRARY MODULE)
  set(CMAKE_ASC_CREATE_SHARED_${kind}
    "<CMAKE_ASC_COMPILER> <LANGUAGE_COMPILE_FLAGS> <LINK_FLAGS> -shared <SONAME_FLAG><TARGET_SONAME> \
-o <TARGET> <OBJECTS> <LINK_LIBRARIES>")
endforeach()
set(CMAKE_ASC_ARCHIVE_CREATE "<CMAKE_AR> qc <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_ASC_ARCHIVE_APPEND "<CMAKE_AR> q <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_ASC_ARCHIVE_FINISH "<CMAKE_RANLIB> <TARGET>")
set(CMAKE_ASC_USE_RESPONSE_FILE_FOR_OBJECTS 0)
set(CMAKE_ASC_INFORMATION_LOADED 1)
""",
}


def cmake_files(folder: str, version: str, chips: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Path below the toolkit's folder and text of each file. folder: its absolute path. chips: by each name
    that build files have for it."""
    root = _ROOT.format(folder=folder.replace("\\", "\\\\").replace('"', '\\"'))
    kernels = (
        root + _FINDS_LANGUAGE.replace("{place}", _LANGUAGE_PLACE) + _KERNELS.replace("{version}", version)
    )
    for name, text in _LANGUAGE.items():
        yield f"{_LANGUAGE_PLACE}/{name}", text if name.endswith(".in") else root + text
    for place in KERNELS:
        for name in ("ascendc.cmake", "CANNConfig.cmake", "ASCConfig.cmake"):
            yield f"{place}/{name}", kernels
    cpu = root + _CPU.replace("{chips}", " ".join(f"{name}={chip}" for name, chip in chips.items()))
    for place in CPU:
        for name in ("tikicpulib-config.cmake", "tikicpulib/tikicpulib-config.cmake"):
            yield f"{place}/{name}", cpu
