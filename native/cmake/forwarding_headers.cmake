# Headers of Ascend C that only include another one: kernels name them by many paths, old and new.
#
# asc_write_forwarding_headers(FOLDER) writes them below FOLDER, to be installed beside native/include/ascendc.

set(kernel_interfaces
    atomic block_sync brcb cache common conv2d cube data_copy determine_compute_sync dump_tensor fixpipe gemm
    list_tensor mm mm_check proposal scalar set_atomic_config set_spr sync sys_var tensor_trait utils
    vec_bilinearinterpolation vec_binary vec_binary_scalar vec_brcb vec_cmpsel vec_createvecindex vec_duplicate
    vec_gather vec_gather_mask vec_mulcast vec_reduce vec_scatter vec_ternary_scalar vec_transpose vec_unary
    vec_vconv vec_vpadding)
set(math
    acos acosh asin asinh atan atanh axpy ceil clamp cos cosh cumsum digamma erf erfc exp floor fmod frac hypot lgamma
    log power round sign sin sinh tan tanh trunc xor)
# Folders of the library, with the names that both lib/ and adv_api/ have in each.
set(library_activation
    adjustsoftmaxres geglu gelu logsoftmax reglu sigmoid silu simplesoftmax softmax
    softmax_utils softmaxflash softmaxflashv2 softmaxflashv3 softmaxgrad swiglu swish)
set(library_filter dropout)
set(library_index arange arithprogression)
set(library_math ${math})
set(library_normalization
    batchnorm deepnorm groupnorm layernorm layernormgrad layernormgradbeta normalize
    normalize_utils rmsnorm welfordfinalize welfordupdate)
set(library_pad broadcast kernel_operator_pad_intf pad unpad)
set(library_quantization antiquantize ascend_antiquant ascend_dequant ascend_quant dequantize quantize)
set(library_reduce
    mean reduce reduce_all reduce_any reduce_common reduce_max reduce_mean reduce_min reduce_prod reduce_sum
    reduce_xor_sum sum)
set(library_select selectwithbytesmask)
set(library_sort sort topk)
set(library_transpose confusion_transpose)
set(library_utils init_global_memory)
set(library_folders activation filter index math normalization pad quantization reduce select sort transpose utils)

function(asc_write_forwarding_headers folder)
  set(kernel
      basic_api kernel_basic_intf kernel_common kernel_cube_intf kernel_event kernel_log kernel_macros
      kernel_operator_intf kernel_prof_trace kernel_reg kernel_struct_data_copy kernel_struct_fixpipe
      kernel_struct_mm kernel_struct_unary kernel_struct_binary kernel_tensor kernel_tensor_impl kernel_tpipe
      kernel_tpipe_impl kernel_type kernel_utils kernel_vec_intf __clang_cce_types cce_aicore_intrinsics)
  foreach(name IN LISTS kernel_interfaces)
    list(APPEND kernel kernel_operator_${name}_intf)
  endforeach()
  foreach(name IN LISTS kernel)
    list(APPEND to_kernel ${name}.h basic_api/${name}.h ascendc/basic_api/interface/${name}.h)
  endforeach()
  # The last two are what the CPU mode's own headers are called.
  list(APPEND to_kernel basic_api/kernel_operator.h ascendc/basic_api/kernel_operator.h stub_def.h stub_fun.h
              lib/sigmoid/kernel_operator_sigmoid_intf.h)
  foreach(name IN LISTS math)
    list(APPEND to_kernel lib/math/kernel_operator_${name}_intf.h)
  endforeach()
  foreach(part IN LISTS library_folders)
    foreach(name IN LISTS library_${part})
      list(APPEND to_kernel lib/${part}/${name}.h adv_api/${part}/${name}.h)
      list(APPEND to_tiling tiling/${part}/${name}_tiling.h tiling/${part}/${name}_tiling_intf.h
                  tiling/${name}/${name}_tiling.h adv_api/${part}/${name}_tiling.h)
    endforeach()
  endforeach()
  foreach(name logsoftmax softmaxgrad softmaxflash)
    list(APPEND to_tiling tiling/softmax/${name}_tiling.h tiling/softmax/${name}_tiling_intf.h)
  endforeach()
  list(APPEND to_tiling tiling/softmax/softmax_tiling_intf.h)
  list(APPEND to_matmul lib/matmul/matmul.h lib/matmul/matmul_intf.h lib/matrix/matmul/matmul.h
              lib/matrix/matmul/matmul_intf.h adv_api/matmul_intf.h adv_api/matmul/matmul.h
              adv_api/matmul/matmul_intf.h)
  list(APPEND to_matmul_tiling tiling/matrix/matmul_tiling.h tiling/matrix/matmul_tilingdata.h
              tiling/matmul/matmul_tiling.h tiling/matmul/matmul_tilingdata.h tiling/matrix/matmul_tiling_base.h
              tiling/matmul/bmm_tiling.h
              adv_api/matmul/matmul_tiling.h adv_api/matmul/matmul_tilingdata.h tiling/matmul_tilingdata.h)
  foreach(name common_functions device_functions device_sync_functions device_atomic_functions device_warp_functions
          device_types math_functions vector_functions asc_fp16 asc_bf16)
    list(APPEND to_simt simt_api/${name}.h)
  endforeach()
  foreach(name atomic common math memory sync warp_level)
    list(APPEND to_simt simt_api/cpp/kernel_simt_${name}_intf.h)
  endforeach()
  _asc_forward(${folder} lib/hccl/hccl.h lib/hccl.h adv_api/hccl/hccl.h)
  _asc_forward(${folder} tiling/hccl/hccl_tiling.h adv_api/hccl/hccl_tiling.h)
  _asc_forward(${folder} simt_api/asc_simt.h ${to_simt})
  _asc_forward(${folder} kernel_operator.h ${to_kernel})
  _asc_forward(${folder} tiling/tiling_api.h ${to_tiling})
  _asc_forward(${folder} lib/matmul_intf.h ${to_matmul})
  _asc_forward(${folder} tiling/matmul_tiling.h ${to_matmul_tiling})
  _asc_forward(${folder} kernel_tiling/kernel_tiling.h lib/matrix/matmul/tiling.h lib/matmul/tiling.h
               adv_api/kernel_tiling.h)
  _asc_forward(${folder} tiling/template_argument.h ascendc/host_api/tiling/template_argument.h)
  _asc_forward(${folder} platform/platform_infos_def.h platform/platform_info.h
               experiment/platform/platform/platform_infos_def.h)
  _asc_forward(${folder} tiling/platform/platform_ascendc.h platform/platform_ascendc.h)
  _asc_forward(${folder} log/ops_log.h ops_log.h ops_error.h error/ops_error.h log/error_code.h)
  _asc_forward(${folder} log/log.h op_log.h opdev/op_log.h)
  _asc_forward(${folder} graph/types.h graph/ge_error_codes.h)
  _asc_forward(${folder} graph/operator.h graph/tensor.h)
  _asc_forward(${folder} exe_graph/runtime/tiling_context.h exe_graph/runtime/tiling_parse_context.h)
  _asc_forward(${folder} exe_graph/runtime/shape.h exe_graph/runtime/storage_shape.h)
  _asc_forward(${folder} exe_graph/runtime/infer_shape_context.h exe_graph/runtime/infer_datatype_context.h)
endfunction()

function(_asc_forward folder target)
  foreach(name IN LISTS ARGN)
    cmake_path(GET name PARENT_PATH place)
    file(RELATIVE_PATH found "/a/${place}" "/a/${target}")
    file(CONFIGURE OUTPUT "${folder}/${name}"
         CONTENT "/* Another name of ${target}. */\n#pragma once\n\n#include \"${found}\"\n")
  endforeach()
endfunction()
