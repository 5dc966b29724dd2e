# cmake -DTO=<folder> -DPROGRAM=<canopy> -DMODULE=<_core> -P licenses.cmake
# Writes the licences of what the wheel carries of other projects: of the libraries that auditwheel puts into it, from the
# packages of this system that brought them, and of what is compiled in.
include(${CMAKE_CURRENT_LIST_DIR}/../core/cmake/packages/carried.cmake)
file(MAKE_DIRECTORY ${TO})
canopy_carried(text)
file(WRITE ${TO}/compiled_in.txt "${text}")
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${PROGRAM} MODULES ${MODULE} RESOLVED_DEPENDENCIES_VAR libraries
     UNRESOLVED_DEPENDENCIES_VAR unresolved POST_EXCLUDE_REGEXES "/lib(c|m|dl|rt|pthread|resolv|stdc\\+\\+|gcc_s|z)\\.so" "/ld-linux")
foreach(library IN LISTS libraries)
  file(REAL_PATH ${library} file)
  foreach(path IN ITEMS ${file} ${library})  # /lib is a link to /usr/lib, and a package may have either name
    string(REGEX REPLACE "^/usr" "" short ${path})
    execute_process(COMMAND dpkg-query -S ${path} ${short} OUTPUT_VARIABLE owner ERROR_QUIET)
    string(REGEX MATCH "^[^:]+" package "${owner}")
    if(package AND EXISTS /usr/share/doc/${package}/copyright)
      file(COPY_FILE /usr/share/doc/${package}/copyright ${TO}/${package}.txt)
      break()
    endif()
  endforeach()
endforeach()
foreach(package IN ITEMS libssl-dev liburing-dev)  # archives
  if(EXISTS /usr/share/doc/${package}/copyright)
    file(COPY_FILE /usr/share/doc/${package}/copyright ${TO}/${package}.txt)
  endif()
endforeach()
