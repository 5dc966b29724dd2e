# cmake -DBUILD=<build folder> -DSOURCE=<this folder> -DWORK=<folder to use> -DCOMPILER=<c++> -P build_and_check.cmake
# The installed tree from outside: the examples it carries are built against it by CMake and by pkg-config and run, its
# configurations are found, a plugin that calls the registry does not link, and a policy passes the contract.
function(run result)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  message("${output}")
  set(output "${output}" PARENT_SCOPE)
  set(${result} "${status}" PARENT_SCOPE)
endfunction()
function(step)
  run(status ${ARGN})
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " line)
    message(FATAL_ERROR "${line}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()
# The suite must have run: an installed tree without it says so with another exit code, and checks less.
function(check plugin)
  step(${installed}/bin/canopy plugins check ${plugin})
  if(NOT output MATCHES "cases of the contract, all passed")
    message(FATAL_ERROR "canopy plugins check ${plugin} ran no contract suite")
  endif()
endfunction()
function(is_optimised folder)
  file(READ ${folder}/compile_commands.json commands)
  if(NOT commands MATCHES " -O2")
    message(FATAL_ERROR "canopy_add_plugin builds without optimisation in ${folder}")
  endif()
endfunction()

set(installed ${WORK}/installed)
set(share ${installed}/share/canopy)
set(shipped ${installed}/lib/canopy/plugins)
set(configure ${CMAKE_COMMAND} -G Ninja -DCMAKE_PREFIX_PATH=${installed} -DCMAKE_CXX_COMPILER=${COMPILER}
              -DCMAKE_EXPORT_COMPILE_COMMANDS=ON)
file(REMOVE_RECURSE ${WORK})
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${installed})

# The completion scripts and the man page, which the program writes.
foreach(file bash-completion/completions/canopy zsh/site-functions/_canopy fish/vendor_completions.d/canopy.fish
             man/man1/canopy.1)
  file(READ ${installed}/share/${file} text)
  if(NOT text MATCHES "canopy trace import")
    message(FATAL_ERROR "share/${file} has no command 'canopy trace import'")
  endif()
endforeach()

# The examples, with no build type named: a policy is optimised all the same.
step(${configure} -S ${share}/examples -B ${WORK}/examples)
step(${CMAKE_COMMAND} --build ${WORK}/examples)
is_optimised(${WORK}/examples)
check(${WORK}/examples/hits_buy_time.so)
set(one_request_file ${share}/examples/one_request/one_request.yaml)
step(${WORK}/examples/one_request ${one_request_file} ${shipped})

# A policy and an engine by pkg-config.
file(GLOB_RECURSE package ${installed}/lib*/canopy.pc)
cmake_path(GET package PARENT_PATH package)
set(pkg_config ${CMAKE_COMMAND} -E env "PKG_CONFIG_PATH=${package}:$ENV{PKG_CONFIG_PATH}" pkg-config)
step(${pkg_config} --cflags --libs canopy)
separate_arguments(flags UNIX_COMMAND "${output}")
step(${COMPILER} -std=c++20 ${share}/examples/one_request/one_request.cpp ${flags} -o ${WORK}/one_request)
# The program of README's "Ten lines" compiles as it stands there, and its second request finds what the first computed.
file(READ ${SOURCE}/../../README.md readme)
string(REGEX MATCH "## Ten lines[^`]*```cpp\n([^`]*)```" found "${readme}")
if(NOT found)
  message(FATAL_ERROR "README has no program in 'Ten lines'")
endif()
set(readme_program "${CMAKE_MATCH_1}")
configure_file(${SOURCE}/readme_program.cpp.in ${WORK}/readme_program.cpp @ONLY)
step(${COMPILER} -std=c++20 -Wall -Werror ${WORK}/readme_program.cpp ${flags} -o ${WORK}/readme_program)
step(${CMAKE_COMMAND} -E copy ${share}/configs/engines/lru.yaml ${WORK}/cache.yaml)
step(${CMAKE_COMMAND} -E chdir ${WORK} ./readme_program ${shipped})
step(${pkg_config} --variable=plugindir canopy)
step(${WORK}/one_request ${one_request_file} ${output})
step(${pkg_config} --cflags canopy-api)
separate_arguments(flags UNIX_COMMAND "${output}")
step(${COMPILER} -std=c++20 -O2 -fPIC -shared ${share}/examples/policy/hits_buy_time.cpp ${flags} -o ${WORK}/by_hand.so)
check(${WORK}/by_hand.so)

# A project of its own: the feed without the engine, the plugin folder, and a plugin that wants the registry.
step(${configure} -S ${SOURCE}/project -B ${WORK}/project)
step(${CMAKE_COMMAND} --build ${WORK}/project)
step(${WORK}/project/feed_reader)
step(${WORK}/project/event_publisher)
step(${pkg_config} --cflags --libs canopy-kv-events)
separate_arguments(flags UNIX_COMMAND "${output}")
step(${COMPILER} -std=c++20 ${SOURCE}/project/event_publisher.cpp ${flags} -pthread -o ${WORK}/publisher_by_hand)
step(${WORK}/publisher_by_hand)
file(STRINGS ${WORK}/project/feed_reader symbols REGEX "6canopy6Engine")
if(symbols)
  message(FATAL_ERROR "a reader of the feed links the engine")
endif()
file(READ ${WORK}/project/plugin_folder.txt folder)
if(NOT EXISTS ${folder}/radix.so)
  message(FATAL_ERROR "canopy_PLUGIN_DIR is ${folder}, where no plugin is")
endif()
run(status ${CMAKE_COMMAND} --build ${WORK}/project --target too_curious)
if(status EQUAL 0 OR NOT output MATCHES "undefined reference to .canopy::Registry::scan")
  message(FATAL_ERROR "a plugin that calls the registry links, or fails for another reason")
endif()

# The configurations, and an engine with a policy of the examples. A checkout below a folder that others can write to
# (/tmp) is rightly not searched for plugins.
step(${installed}/bin/canopy config check ${share}/configs/engines/lru.yaml)
step(${installed}/bin/canopy replay ${share}/configs/engines/lru.yaml --workload ${share}/configs/workloads/chat.yaml
     --set store=none --no-content)
run(status ${installed}/bin/canopy config check ${SOURCE}/engine.yaml --plugins ${WORK}/examples)
if(NOT status EQUAL 0 AND NOT output MATCHES "can write to the folder")
  message(FATAL_ERROR "canopy config check --plugins")
endif()

# What `plugins new` writes builds and passes as it is.
step(${CMAKE_COMMAND} -E chdir ${WORK} ${installed}/bin/canopy plugins new my_policy)
step(${configure} -S ${WORK}/my_policy -B ${WORK}/my_policy/build)
step(${CMAKE_COMMAND} --build ${WORK}/my_policy/build)
is_optimised(${WORK}/my_policy/build)
check(${WORK}/my_policy/build/my_policy.so)

# An engine without yaml-cpp: the message names it. A plugin needs none of it.
run(status ${configure} -S ${SOURCE}/project -B ${WORK}/without -DCMAKE_DISABLE_FIND_PACKAGE_yaml-cpp=ON)
if(status EQUAL 0 OR NOT output MATCHES "missing packages:[ \n]+yaml-cpp 0.7[ \n]+\\(libyaml-cpp-dev\\)")
  message(FATAL_ERROR "find_package(canopy COMPONENTS engine) does not name yaml-cpp as missing")
endif()
step(${configure} -S ${WORK}/my_policy -B ${WORK}/without_policy -DCMAKE_DISABLE_FIND_PACKAGE_yaml-cpp=ON)
