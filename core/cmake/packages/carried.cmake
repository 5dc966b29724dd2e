# canopy_carried(variable): the licences of other projects whose code is part of what is built, from Debian's packages of
# them: headers, the page's fonts, runtime and Dear ImGui. System libraries that stay libraries are not among them.
function(canopy_carried variable)
  set(text "Parts of these projects are in the programs, the page of canopy serve or the plugins:\n")
  foreach(part IN ITEMS libboost1.74-dev:Boost libcli11-dev:CLI11 nlohmann-json3-dev:nlohmann-json libmsgpack-cxx-dev:msgpack-cxx
                        cppzmq-dev:cppzmq libfmt-dev:fmt libxxhash-dev:xxHash doctest-dev:doctest libimgui-dev:Dear-ImGui
                        fonts-dejavu-core:DejaVu-fonts libc++-19-dev-wasm32:LLVM-libc++ wasi-libc:wasi-libc)
    string(REGEX MATCH "^[^:]*" package ${part})
    string(REGEX MATCH "[^:]*$" name ${part})
    if(EXISTS /usr/share/doc/${package}/copyright)
      file(READ /usr/share/doc/${package}/copyright licence)
      # Debian lists all of Boost's files, in 2 MB; all that is used here has this licence.
      string(FIND "${licence}" "License: BSL-1.0\n Boost" begin)
      if(name STREQUAL Boost AND begin GREATER -1)
        string(SUBSTRING "${licence}" ${begin} 1600 licence)
        string(REGEX REPLACE "\n\n.*" "\n" licence "${licence}")
      endif()
      string(APPEND text "\n---- ${name}\n\n${licence}")
    endif()
  endforeach()
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()
