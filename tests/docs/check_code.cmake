# cmake -DROOT=<source tree> -P check_code.cmake
# Code that a document shows in full is the file that it names.
cmake_minimum_required(VERSION 3.25)
function(shows document file)
  file(READ ${ROOT}/${document} text)
  file(READ ${ROOT}/${file} code)
  string(FIND "${text}" "${code}" at)
  if(at EQUAL -1)
    message(SEND_ERROR "${document} does not show ${file} as it is")
  endif()
endfunction()
shows(docs/tutorials/policies.md apps/examples/policy/hits_buy_time.cpp)
