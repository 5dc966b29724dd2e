# canopy_add_plugin(NAME slru SOURCES slru.cpp ...)
#
# One shared library named NAME.so that exports one symbol and links nothing of Canopy's: the headers are all it
# needs. Inside this project it lands in <build>/plugins; elsewhere in ${CMAKE_CURRENT_BINARY_DIR}, or where
# CANOPY_PLUGIN_DIR says. Compilers other than the host's are fine as long as the C++ library is the same.
# Where a project names no build type, the plugin is built with -O2: a policy runs for every node, and without
# optimisation it is several times slower.
function(canopy_add_plugin)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES")
  if(NOT arg_NAME OR NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "usage: canopy_add_plugin(NAME name SOURCES file.cpp ...)")
  endif()
  add_library(${arg_NAME} MODULE ${arg_SOURCES})
  target_link_libraries(${arg_NAME} PRIVATE canopy::api)
  target_compile_features(${arg_NAME} PRIVATE cxx_std_20)
  target_compile_options(${arg_NAME} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)  # or dlclose keeps it
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES AND NOT CMAKE_CXX_FLAGS MATCHES "(^| )-O")
    target_compile_options(${arg_NAME} PRIVATE -O2)
  endif()
  set_target_properties(${arg_NAME} PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  if(CANOPY_PLUGIN_DIR)
    set_target_properties(${arg_NAME} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CANOPY_PLUGIN_DIR})
  endif()
  if(CANOPY_SANITIZE)
    target_link_options(${arg_NAME} PRIVATE -Wl,-z,nodelete)  # so that leak traces keep file and line
  endif()
  if(NOT (CANOPY_SANITIZE AND CMAKE_CXX_COMPILER_ID MATCHES "Clang"))
    target_link_options(${arg_NAME} PRIVATE -Wl,-z,defs)
  endif()
endfunction()
