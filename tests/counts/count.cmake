# Instructions per request in the index's own functions, in a fixed replay under callgrind, against recorded ones.
# Unlike times they are the same on a busy machine, so they can guard. Counts follow from the compiler as well, so
# another one than recorded is skipped with a message.
#
#   cmake -DCANOPY=program -DSOURCE=repository -DWORK=folder -DBUILT_BY="GNU 12.2.0 RelWithDebInfo" -P count.cmake
#
# CANOPY_RECORD_COUNTS=1 in the environment writes the recorded numbers anew.
cmake_minimum_required(VERSION 3.25)
set(requests 400)
set(tolerance_percent 5)
set(functions match pages evict insert release)
set(recorded_file ${CMAKE_CURRENT_LIST_DIR}/recorded.txt)

find_program(VALGRIND valgrind)
find_program(ANNOTATE callgrind_annotate)
if(NOT VALGRIND OR NOT ANNOTATE)
  message("SKIPPED: instructions are counted with valgrind and callgrind_annotate, and they are not installed")
  return()
endif()
file(STRINGS ${recorded_file} recorded)
list(POP_FRONT recorded recorded_by)
if(NOT DEFINED ENV{CANOPY_RECORD_COUNTS} AND NOT recorded_by STREQUAL BUILT_BY)
  message("SKIPPED: the counts were recorded for '${recorded_by}', and this was built by '${BUILT_BY}'")
  return()
endif()

file(MAKE_DIRECTORY ${WORK})
execute_process(
  COMMAND ${VALGRIND} --tool=callgrind --callgrind-out-file=${WORK}/callgrind.out ${CANOPY} replay
          ${SOURCE}/configs/engines/lru.yaml --set store=none --capacity 100000 --no-content --limit ${requests}
          --workload ${SOURCE}/configs/workloads/mixed.yaml
  OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the replay failed under callgrind (${status}):\n${output}${errors}")
endif()
execute_process(COMMAND ${ANNOTATE} --inclusive=yes --threshold=100 --tree=none ${WORK}/callgrind.out
                OUTPUT_VARIABLE counted ERROR_VARIABLE errors RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "callgrind_annotate failed (${status}):\n${errors}")
endif()

set(now "${BUILT_BY}\n")
set(failed "")
foreach(function IN LISTS functions)
  if(NOT counted MATCHES "\n *([0-9,]+) [^\n]*canopy::radix::RadixIndex::${function}\\(")
    message(FATAL_ERROR "callgrind saw no call of RadixIndex::${function}; was it renamed, or are symbols missing?")
  endif()
  string(REPLACE "," "" total "${CMAKE_MATCH_1}")
  math(EXPR count "${total} / ${requests}")
  string(APPEND now "${function} ${count}\n")
  string(REGEX MATCH "${function} ([0-9]+)" found "${recorded}")
  set(before "${CMAKE_MATCH_1}")
  message("RadixIndex::${function}: ${count} instructions a request, recorded ${before}")
  math(EXPR most "${before}0 * (100 + ${tolerance_percent}) / 1000")
  math(EXPR least "${before}0 * (100 - ${tolerance_percent}) / 1000")
  if(count GREATER most)
    list(APPEND failed ${function})
  elseif(count LESS least)
    message("  ${function} became cheaper: record it (CANOPY_RECORD_COUNTS=1), or a later loss will not be seen")
  endif()
endforeach()
if(DEFINED ENV{CANOPY_RECORD_COUNTS})
  file(WRITE ${recorded_file} "${now}")
  message("written to ${recorded_file}")
elseif(failed)
  list(JOIN failed ", " failed)
  message(FATAL_ERROR "${failed}: more than ${tolerance_percent} % above the recorded instructions a request. If that "
                      "is the price of something wanted, record it with the change that costs it: "
                      "CANOPY_RECORD_COUNTS=1 ctest -L counts")
endif()
