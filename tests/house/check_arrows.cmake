# cmake -DROOT=<source tree> -P check_arrows.cmake
# No room includes another that is not below it: docs/design.md draws what is allowed here. A room is a folder; its headers
# are known by their include prefix.
cmake_minimum_required(VERSION 3.25)

# Rooms from the ground up: the folder, its prefix, and what it may include.
set(rooms)
function(room folder prefix)
  list(APPEND rooms ${folder})
  set(rooms ${rooms} PARENT_SCOPE)
  set(prefix_of_${folder} ${prefix} PARENT_SCOPE)
  set(below_${folder} ${ARGN} PARENT_SCOPE)
endfunction()
room(core/api               canopy)
room(core/support           canopy/support)
room(core/feed              canopy/feed              core/api core/support)
room(core/wire              canopy/wire              core/api core/support)
room(core/sockets           canopy/sockets           core/api core/support core/feed core/wire)
room(core/attach            canopy/attach            core/api core/support core/feed core/wire)
room(core/config            canopy/config            core/api core/support)
room(core/loading           canopy/loading           core/api core/support core/config)
room(core/engine            canopy/engine            core/api core/support core/config core/feed core/loading core/wire)  # wire: the hash of keys
room(core/scheduling        canopy/scheduling        core/api)
room(core/routing           canopy/routing           core/api core/support core/wire)
file(GLOB folders RELATIVE ${ROOT} ${ROOT}/plugins/*)
foreach(folder IN LISTS folders)
  if(IS_DIRECTORY ${ROOT}/${folder})
    cmake_path(GET folder FILENAME name)
    room(${folder} ${name} core/api)
  endif()
endforeach()
list(APPEND below_plugins/radix core/feed)            # the events with which it announces its nodes
list(APPEND below_plugins/hash_chain core/feed)       # the same
list(APPEND below_plugins/hazard core/support)        # its file
list(APPEND below_plugins/redis core/support)         # descriptors, sentences
list(APPEND below_plugins/sim_storage core/support)   # random numbers
list(APPEND below_plugins/slots core/support)         # its files
list(APPEND below_plugins/cuda_store plugins/cuda_driver)
room(inspector/mirror       mirror                   core/api core/support core/feed)
room(inspector/sources      sources                  core/api core/support core/feed inspector/mirror)
room(inspector/metrics     metrics                  core/api core/support core/feed inspector/mirror)
room(inspector/views        views                    core/api core/support core/feed inspector/mirror inspector/sources)
room(inspector/shell        shell                    core/api core/support core/feed inspector/mirror inspector/sources
                                                     inspector/views)
room(harness/workload       workload                 core/api core/support core/config)
room(harness/replay         replay                   core/api core/support core/config core/feed core/loading core/engine
                                                     core/scheduling harness/workload)
room(harness/lab            lab                      core/api core/support core/config core/loading core/engine
                                                     harness/workload harness/replay inspector/mirror)
room(harness/fleet          fleet                    core/api core/support core/wire core/routing core/config core/loading core/engine
                                                     core/scheduling harness/workload harness/replay)
room(harness/demo           demo                     core/api core/support core/config core/feed core/loading core/engine
                                                     harness/workload harness/replay inspector/sources)
room(harness/verify         verify                   core/api core/support core/config core/loading)
room(harness/conformance    conformance              core/api core/support core/config core/loading)
room(harness/check          check                    core/api core/support core/config core/loading core/engine harness/replay
                                                     harness/conformance)
room(harness/report         report                   core/api core/support harness/lab)
room(harness/bench          bench                    core/api core/support core/wire core/sockets core/routing core/config core/feed core/loading core/engine
                                                     harness/workload harness/replay inspector/mirror inspector/sources
                                                     plugins/cuda_driver plugins/slots)

set(seen 0)
set(broken 0)
foreach(folder IN LISTS rooms)
  file(GLOB_RECURSE files ${ROOT}/${folder}/*.h ${ROOT}/${folder}/*.cpp ${ROOT}/${folder}/*.cu)
  foreach(file IN LISTS files)
    file(STRINGS ${file} lines REGEX "^#include <[a-z_]+/")
    foreach(line IN LISTS lines)
      string(REGEX MATCH "<([^>]+)>" found "${line}")
      set(header "${CMAKE_MATCH_1}")
      # The room with the longest prefix that fits.
      set(to "")
      set(longest 0)
      foreach(candidate IN LISTS rooms)
        set(prefix ${prefix_of_${candidate}})
        string(LENGTH ${prefix} length)
        if(header MATCHES "^${prefix}/" AND length GREATER longest)
          set(to ${candidate})
          set(longest ${length})
        endif()
      endforeach()
      if(NOT to OR to STREQUAL folder)
        continue()
      endif()
      math(EXPR seen "${seen} + 1")
      if(NOT to IN_LIST below_${folder})
        message("${file}: ${folder} includes <${header}>, which is ${to}: not below it")
        math(EXPR broken "${broken} + 1")
      endif()
    endforeach()
  endforeach()
endforeach()
if(seen LESS 100)
  message(FATAL_ERROR "only ${seen} includes between rooms were found: the check does not see the tree")
endif()
if(broken)
  message(FATAL_ERROR "${broken} includes run against the order of the rooms")
endif()
message("${seen} includes between rooms, all downwards")
