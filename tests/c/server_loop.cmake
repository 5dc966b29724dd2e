# cmake -DSOURCE=<source tree> -DWORK=<folder to use> -DCPP=<program> -DLIBRARY=<libcanopy.so> -DCC=<compiler>
#       -DRUSTC=<compiler or NOTFOUND> -DGO=<compiler or NOTFOUND> -P server_loop.cmake
# Builds apps/examples/server_loop over the C interface in each language that has a compiler here, and compares what the
# programs print with the one in C++.
set(example ${SOURCE}/apps/examples/server_loop/server_loop)
set(engine ${SOURCE}/configs/engines/lru.yaml)
cmake_path(GET LIBRARY PARENT_PATH folder)
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " line)
    message(FATAL_ERROR "${line}\n${output}${errors}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
step(${CPP} ${engine})
set(expected "${output}")
if(NOT expected MATCHES " [1-9][0-9]* reused, [1-9][0-9]* evicted, [1-9][0-9]* retracted, .* 0 violations, digest ")
  message(FATAL_ERROR "the loop in C++ evicts or retracts nothing:\n${expected}")
endif()
message("${expected}")
# compare(LANGUAGE): runs WORK/LANGUAGE.
function(compare language)
  step(${WORK}/${language} ${engine})
  if(NOT output STREQUAL expected)
    message(FATAL_ERROR "${language} prints something else:\n${output}")
  endif()
  message("${language}: the same")
endfunction()

step(${CC} -std=c99 -O2 -Wall -Wextra -pedantic -Werror -I${SOURCE}/core/include ${example}.c -L${folder} -lcanopy
     -Wl,-rpath,${folder} -o ${WORK}/c)
compare(c)
if(RUSTC)
  step(${RUSTC} -D warnings -O ${example}.rs -L native=${folder} -C link-arg=-Wl,-rpath,${folder} -o ${WORK}/rust)
  compare(rust)
else()
  message("SKIPPED: Rust, no rustc here")
endif()
if(GO)
  step(${CMAKE_COMMAND} -E env CGO_ENABLED=1 CGO_CFLAGS=-I${SOURCE}/core/include
       "CGO_LDFLAGS=-L${folder} -Wl,-rpath,${folder}" CC=${CC} GOCACHE=${WORK}/cache GOPATH=${WORK}/path GOPROXY=off
       GOTOOLCHAIN=local GO111MODULE=off ${GO} build -o ${WORK}/go ${example}.go)
  compare(go)
else()
  message("SKIPPED: Go, no go here")
endif()
