# cmake -DROOT=<source tree> -DWORK=<folder for a self-test> -P check_words.cmake
# Comments in public headers keep the rules of words in CONTRIBUTING.md, as far as patterns can say them: no comment begins
# with a free relative, and some words are refused.
cmake_minimum_required(VERSION 3.25)

# The folders whose headers are read.
set(checked c core inspector plugins apps python/bind tests/conformance tests/tools)
set(relatives "What|Whether|Of|Which|How|Where|Why")
set(trailing_relatives "${relatives}|what|whether|of|which|how|where|why|whose")
set(refused "told|tells|anew|by lot|of no use|so manieth|at hand|be had|no more|nobody|somebody|whoever|who")

# Counts the breaches of a file into the variable `count`, and writes them as messages unless `quiet` is set.
function(check_file file count)
  file(READ ${file} text)
  # Characters that are syntax in a list.
  string(REPLACE ";" "," text "${text}")
  string(REPLACE "[" "(" text "${text}")
  string(REPLACE "]" ")" text "${text}")
  string(REPLACE "\\" " " text "${text}")
  string(REGEX REPLACE "\n" "#;" lines "${text}")  # no element is empty, since a list drops empty ones
  set(found 0)
  set(number 0)
  set(in_comment FALSE)  # the line before is a comment that goes on
  foreach(line IN LISTS lines)
    math(EXPR number "${number} + 1")
    if(NOT line MATCHES "(//[/<!]*)(.*)#$")
      set(in_comment FALSE)
      continue()
    endif()
    set(mark "${CMAKE_MATCH_1}")
    set(comment "${CMAKE_MATCH_2}")
    set(why "")
    if(mark STREQUAL "///<")
      if(comment MATCHES "^ (${trailing_relatives}) ")
        set(why "begins with '${CMAKE_MATCH_1}'")
      endif()
    elseif(NOT in_comment AND comment MATCHES "^ (${relatives}) ")
      set(why "begins with '${CMAKE_MATCH_1}'")
    endif()
    string(REPLACE "no more than" "" rest "${comment}")
    if(rest MATCHES "(^|[^A-Za-z_])(${refused})([^A-Za-z_]|$)")
      set(why "has the word '${CMAKE_MATCH_2}'")
    endif()
    if(why)
      math(EXPR found "${found} + 1")
      if(NOT quiet)
        message("${file}:${number}: a comment ${why}:${comment}")
      endif()
    endif()
    # A paragraph begins behind an empty comment line.
    if(line MATCHES "^ *//" AND NOT comment STREQUAL "")
      set(in_comment TRUE)
    else()
      set(in_comment FALSE)
    endif()
  endforeach()
  set(${count} ${found} PARENT_SCOPE)
endfunction()

# The check finds what it looks for, and nothing else.
file(WRITE ${WORK}/clean.h "/// Returns the pages of a node; no more than `most`.
/// Which of them are free is not known. Data[0]; text
int pages();  ///< Pages of the pool
const char* told = \"told\";
")
file(WRITE ${WORK}/breaches.h "/// What it returns.
int a();
int b;  ///< of the pool
/// Returns the pages.
///
/// Whether they are free is not known.
/// The engine is told of them.
int c();  // no more pages than that
")
set(quiet TRUE)
check_file(${WORK}/clean.h of_clean)
check_file(${WORK}/breaches.h of_breaches)
if(NOT of_clean EQUAL 0 OR NOT of_breaches EQUAL 5)
  message(FATAL_ERROR "the check found ${of_clean} breaches in a clean file and ${of_breaches} of 5 planted ones")
endif()

set(quiet FALSE)
set(breaches 0)
set(files 0)
foreach(folder IN LISTS checked)
  file(GLOB_RECURSE headers RELATIVE ${ROOT} ${ROOT}/${folder}/*.h)
  foreach(header IN LISTS headers)
    check_file(${ROOT}/${header} of_header)
    math(EXPR breaches "${breaches} + ${of_header}")
    math(EXPR files "${files} + 1")
  endforeach()
endforeach()
if(breaches)
  message(FATAL_ERROR "${breaches} comments break the rules of words in CONTRIBUTING.md")
endif()
message(STATUS "${files} headers, none with a refused word")
