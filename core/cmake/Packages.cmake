# Debian packages, by `cpack` in a build folder that was configured with -DCMAKE_INSTALL_PREFIX=/usr (scripts/release does
# it): canopy (programs, plugins, the page of canopy serve), canopy-inspector (the window), libcanopy1 (the C interface's shared
# library), libcanopy-dev (headers, CMake and pkg-config files, examples). Which component an installed file belongs to: CMAKE_INSTALL_DEFAULT_COMPONENT_NAME of its folder.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME canopy)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "prefix reuse of KV caches in LLM serving")
set(CPACK_PACKAGE_VENDOR "Canopy maintainers")
set(CPACK_PACKAGE_CONTACT "Canopy maintainers <canopy-maintainers@users.noreply.github.com>" CACHE STRING
    "Name and address in the packages")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL program dev)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/packages/documents.cmake)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME canopy)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "The prefix cache of an LLM inference server as a program: replays of traces,
comparisons of eviction policies with the optimum, a live view of a cache in
a terminal or a browser, Prometheus metrics, and the plugins of the library
(indexes, policies, allocators, stores, storages).")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libcanopy-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "canopy (= ${PROJECT_VERSION}-1), libfmt-dev, libyaml-cpp-dev, libxxhash-dev, libssl-dev, libzmq3-dev, pkg-config")
set(CPACK_DEBIAN_DEV_DESCRIPTION "Development files: headers and static libraries of Canopy, its CMake and
pkg-config files, and examples: an engine's prefix cache, and eviction
policies as plugins.")

# Its name is that of the library's SONAME. The plugins that it searches for are in the package canopy.
if(TARGET canopy_c)
  list(APPEND CPACK_COMPONENTS_ALL lib)
  get_target_property(abi canopy_c SOVERSION)
  set(CPACK_DEBIAN_LIB_PACKAGE_NAME libcanopy${abi})
  set(CPACK_DEBIAN_LIB_PACKAGE_SECTION libs)
  set(CPACK_DEBIAN_LIB_PACKAGE_SHLIBDEPS ON)
  # CPack's own would call ldconfig in scripts.
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/packages/shlibs CONTENT "libcanopy ${abi} libcanopy${abi} (>= ${PROJECT_VERSION})\n")
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/packages/triggers CONTENT "activate-noawait ldconfig\n")
  set(CPACK_DEBIAN_LIB_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/packages/shlibs ${PROJECT_BINARY_DIR}/packages/triggers)
  set(CPACK_DEBIAN_LIB_PACKAGE_DEPENDS "canopy (= ${PROJECT_VERSION}-1)")
  set(CPACK_DEBIAN_LIB_DESCRIPTION "The C interface of Canopy, for inference servers in C, Rust, Go and other
languages: an engine's prefix cache, an index alone, a feed to read, eviction
policies of C functions.")
  string(PREPEND CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libcanopy${abi} (= ${PROJECT_VERSION}-1), ")
endif()

if(TARGET canopy-inspector)
  list(APPEND CPACK_COMPONENTS_ALL inspector)
  set(CPACK_DEBIAN_INSPECTOR_PACKAGE_NAME canopy-inspector)
  set(CPACK_DEBIAN_INSPECTOR_PACKAGE_SECTION utils)
  set(CPACK_DEBIAN_INSPECTOR_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_INSPECTOR_PACKAGE_DEPENDS "canopy (= ${PROJECT_VERSION}-1), fonts-dejavu-core")
  set(CPACK_DEBIAN_INSPECTOR_DESCRIPTION "A window on a running or recorded Canopy: the tree, pools, requests, hit rate
over time, and why a prefix was evicted.")
endif()
include(CPack)
