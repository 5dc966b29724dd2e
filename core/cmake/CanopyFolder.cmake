# canopy_folder(NAME [FOLDER...]): all *.cpp of folder NAME, and of the others, make the library canopy_NAME. Its headers are
# included as <NAME/...>.
function(canopy_folder name)
  list(TRANSFORM ARGN APPEND "/*.cpp" OUTPUT_VARIABLE more)
  file(GLOB sources CONFIGURE_DEPENDS ${name}/*.cpp ${more})
  add_library(canopy_${name} STATIC ${sources})
  target_include_directories(canopy_${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(canopy_${name} PRIVATE canopy_flags)
endfunction()
