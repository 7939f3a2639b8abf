# find_package(ascend_ep): ascend_ep::ascend_rt runs bundles, ascend_ep::ascendcl is AscendCL over it. It lies in the
# package's folder lib/cmake/ascend_ep; `ascend-ep config --cmake-dir` names that for -Dascend_ep_DIR.
get_filename_component(_ascend_ep_package "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

foreach(_ascend_ep_library ascend_rt ascendcl)
  if(NOT TARGET ascend_ep::${_ascend_ep_library})
    add_library(ascend_ep::${_ascend_ep_library} SHARED IMPORTED)
    set_target_properties(ascend_ep::${_ascend_ep_library} PROPERTIES
      IMPORTED_LOCATION "${_ascend_ep_package}/lib/lib${_ascend_ep_library}.so"
      INTERFACE_INCLUDE_DIRECTORIES "${_ascend_ep_package}/include")
  endif()
endforeach()
set_target_properties(ascend_ep::ascendcl PROPERTIES INTERFACE_LINK_LIBRARIES ascend_ep::ascend_rt)
set(ascend_ep_FOUND TRUE)
unset(_ascend_ep_package)
unset(_ascend_ep_library)
