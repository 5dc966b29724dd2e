# cmake -DTO=<folder> -DPROGRAM=<canopy> -DMODULE=<_core> -DNANOBIND=<its package> -P licenses.cmake
# Writes the licences of what the wheel carries of other projects: of the libraries that auditwheel puts into it, from the
# packages of this system that brought them, and of what is compiled in.
include(${CMAKE_CURRENT_LIST_DIR}/../core/cmake/packages/carried.cmake)
file(MAKE_DIRECTORY ${TO})
canopy_carried(text)
# nanobind comes from pip, with robin-map in it, whose licence is at the top of its headers.
file(GLOB nanobind ${NANOBIND}/../nanobind-*.dist-info/licenses/LICENSE)
if(NOT nanobind)
  message(FATAL_ERROR "no licence of nanobind beside ${NANOBIND}")
endif()
file(READ ${nanobind} nanobind)
file(READ ${NANOBIND}/ext/robin_map/include/tsl/robin_map.h robin_map)
string(FIND "${robin_map}" "*/" end)
string(SUBSTRING "${robin_map}" 0 ${end} robin_map)
file(WRITE ${TO}/compiled_in.txt "${text}\n---- nanobind\n\n${nanobind}\n---- robin-map\n\n${robin_map}")
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
