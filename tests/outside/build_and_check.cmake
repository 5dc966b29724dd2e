# cmake -DBUILD=<build folder> -DSOURCE=<this folder> -DWORK=<folder to use> -P build_and_check.cmake
# A stranger's project, built against the installed tree alone, and its plugin held to the contract by the installed
# program.
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " line)
    message(FATAL_ERROR "${line}\n${output}")
  endif()
  message("${output}")
  set(output "${output}" PARENT_SCOPE)
endfunction()
# The suite must have run: an installed tree without it says so with another exit code, and checks less.
function(check plugin)
  step(${WORK}/installed/bin/canopy plugins check ${plugin})
  if(NOT output MATCHES "cases of the contract, all passed")
    message(FATAL_ERROR "canopy plugins check ${plugin} ran no contract suite")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/installed)
step(${CMAKE_COMMAND} -S ${SOURCE}/project -B ${WORK}/project -G Ninja -DCMAKE_PREFIX_PATH=${WORK}/installed
     -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=${COMPILER})
step(${CMAKE_COMMAND} --build ${WORK}/project)
check(${WORK}/project/two_hits.so)
# A checkout below a folder that others can write to (/tmp) is rightly not searched for plugins.
execute_process(COMMAND ${WORK}/installed/bin/canopy config check ${SOURCE}/engine.yaml --plugins ${WORK}/project
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
message("${output}")
if(NOT status EQUAL 0 AND NOT output MATCHES "others than its owner can write the folder")
  message(FATAL_ERROR "canopy config check --plugins")
endif()
if(NOT EXISTS ${WORK}/project/one_request)
  message(FATAL_ERROR "canopy::engine was not found by a stranger's project")
endif()
# What `plugins new` writes builds and passes as it is.
step(${CMAKE_COMMAND} -E chdir ${WORK} ${WORK}/installed/bin/canopy plugins new my_policy)
step(${CMAKE_COMMAND} -S ${WORK}/my_policy -B ${WORK}/my_policy/build -G Ninja -DCMAKE_PREFIX_PATH=${WORK}/installed
     -DCMAKE_CXX_COMPILER=${COMPILER})
step(${CMAKE_COMMAND} --build ${WORK}/my_policy/build)
check(${WORK}/my_policy/build/my_policy.so)
set(shipped ${WORK}/installed/lib/canopy/plugins)
step(${WORK}/project/one_request ${shipped} ${WORK}/project)
