# cmake -DSOURCE=<folder> -DTO=<header> -P Commit.cmake
# Writes the commit of a folder as the C++ constant kCommit; empty outside git. Leaves a header that is right untouched, so
# that nothing is compiled again.
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=* OUTPUT_VARIABLE commit
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
# A tree that was unpacked into another project's checkout has no commit of its own.
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-prefix OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(failed OR prefix)
  set(commit "")
endif()
set(text "#pragma once\n\nnamespace canopy::lab {\ninline constexpr const char* kCommit = \"${commit}\";\n}\n")
if(EXISTS ${TO})
  file(READ ${TO} there)
endif()
if(NOT "${there}" STREQUAL "${text}")
  file(WRITE ${TO} "${text}")
endif()
