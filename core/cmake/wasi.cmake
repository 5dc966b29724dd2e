# A toolchain of Debian's and Ubuntu's packages (scripts/install web): clang 19 or later for WebAssembly, wasi-libc, and a
# libc++ without threads and without a file system.
set(CMAKE_SYSTEM_NAME Generic)  # CMake 3.25 does not know WASI
set(CMAKE_SYSTEM_PROCESSOR wasm32)
if(NOT CANOPY_WASI_CLANG)
  find_program(CANOPY_WASI_CLANG NAMES clang++-22 clang++-21 clang++-20 clang++-19)
endif()
set(CMAKE_CXX_COMPILER ${CANOPY_WASI_CLANG})
set(CMAKE_CXX_COMPILER_TARGET wasm32-wasi)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_AR ar)  # not used: the page has no static library
