# What ptxas says of every kernel on every architecture: each is there, and none keeps a register in memory. And that
# the build's own options refuse a kernel that does, which is what the build relies on.
#
#   cmake -DNVCC=nvcc -DOPTIONS=a;b -DARCHITECTURES=80;90 -DSOURCE=plugins/cuda_store -DWORK=folder
#         -P compiled_kernels.cmake
cmake_minimum_required(VERSION 3.25)
if(NOT NVCC)
  message("SKIPPED: this build has no CUDA kernels")
  return()
endif()
file(MAKE_DIRECTORY ${WORK})

set(kernels 15)  # five in three widths
foreach(architecture IN LISTS ARCHITECTURES)
  execute_process(COMMAND ${NVCC} -cubin ${OPTIONS} -arch=sm_${architecture} -Xptxas=-v ${SOURCE}/kernels.cu
                          -o ${WORK}/kernels.cubin
                  OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "nvcc ended with ${result} for sm_${architecture}:\n${said}")
  endif()
  string(REGEX MATCHALL "Compiling entry function '[a-z_0-9]+'" names "${said}")
  string(REGEX MATCHALL "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" clean "${said}")
  string(REGEX MATCHALL "Used [0-9]+ registers" registers "${said}")
  foreach(list IN ITEMS names clean registers)
    list(LENGTH ${list} ${list}_count)
    if(NOT ${list}_count EQUAL kernels)
      message(FATAL_ERROR "sm_${architecture}: '${list}' holds for ${${list}_count} kernels, expected "
              "${kernels}:\n${said}")
    endif()
  endforeach()
  message("sm_${architecture}:")
  foreach(name used IN ZIP_LISTS names registers)
    string(REGEX REPLACE ".*'(.*)'" "\\1" name ${name})
    message("  ${name}: ${used}, no spill")
  endforeach()
endforeach()

list(GET ARCHITECTURES 0 architecture)
file(WRITE ${WORK}/spilling.cu [[
extern "C" __global__ void __maxnreg__(24) spilling(float* at, int n) {
  float a[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) a[i] = at[i * 7 + threadIdx.x];
  for (int k = 0; k < n; ++k)
#pragma unroll
    for (int i = 0; i < 64; ++i) a[i] = a[i] * a[(i + 1) % 64] + a[(i * 5 + 3) % 64];
#pragma unroll
  for (int i = 0; i < 64; ++i) at[i * 7 + threadIdx.x] = a[i];
}
]])
execute_process(COMMAND ${NVCC} -cubin ${OPTIONS} -arch=sm_${architecture} ${WORK}/spilling.cu -o ${WORK}/spilling.cubin
                OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE result)
if(result EQUAL 0 OR NOT said MATCHES "Registers are spilled to local memory in function 'spilling'")
  message(FATAL_ERROR "a kernel that spills was not refused for spilling; nvcc ended with ${result}:\n${said}")
endif()
