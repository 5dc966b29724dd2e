# What Debian wants in each package beside its files: copyright, a changelog, compressed manuals, modes of folders and files.
# CPack runs it after the files were put into a folder for each package. The time is SOURCE_DATE_EPOCH, if that is set.
file(GLOB staged ${CPACK_TEMPORARY_DIRECTORY}/*)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
include(${CMAKE_CURRENT_LIST_DIR}/carried.cmake)
foreach(folder IN LISTS staged)
  cmake_path(GET folder FILENAME component)
  string(TOUPPER ${component} upper)
  set(name ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  if(NOT name)
    continue()
  endif()
  set(documents ${folder}/usr/share/doc/${name})
  file(WRITE ${documents}/changelog.Debian
       "canopy (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n"
       "  * Release ${CPACK_PACKAGE_VERSION}.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  canopy_carried(carried)
  file(WRITE ${documents}/copyright
       "Canopy, prefix reuse of KV caches in LLM serving.\n\nCopyright: the Canopy contributors\n"
       "License: Apache-2.0; on Debian systems its text is in /usr/share/common-licenses/Apache-2.0\n\n${carried}")
  if(EXISTS ${folder}/usr/share/zsh/site-functions)
    file(RENAME ${folder}/usr/share/zsh/site-functions ${folder}/usr/share/zsh/vendor-completions)
  endif()
  if(component STREQUAL program)
    file(WRITE ${folder}/usr/share/lintian/overrides/${name}
         "# Plugins that call nothing of libc, only of the C++ library.\n"
         "${name}: library-not-linked-against-libc [usr/lib/*canopy/plugins/*.so]\n")
  endif()
  file(GLOB manuals ${folder}/usr/share/man/man*/*.[0-9])
  execute_process(COMMAND gzip -9n ${documents}/changelog.Debian ${manuals} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND chmod -R u=rwX,go=rX ${folder}/usr COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB_RECURSE data ${folder}/usr/share/* ${folder}/usr/include/*)
  if(data)
    execute_process(COMMAND chmod 644 ${data} COMMAND_ERROR_IS_FATAL ANY)
  endif()
  file(GLOB_RECURSE libraries ${folder}/usr/lib/*.so ${folder}/usr/lib/*.so.*)
  foreach(library IN LISTS libraries)
    if(NOT IS_SYMLINK ${library})  # the one for linking leads into another package
      execute_process(COMMAND chmod 644 ${library} COMMAND_ERROR_IS_FATAL ANY)
    endif()
  endforeach()
endforeach()
