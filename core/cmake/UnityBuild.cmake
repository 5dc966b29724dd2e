# With CMAKE_UNITY_BUILD (presets asan and tsan) a few source files of a target are compiled as one, which takes a third
# of the time. These stay alone, since they name things in their unnamed namespaces as a neighbour does.
if(NOT CMAKE_UNITY_BUILD)
  return()
endif()
function(canopy_alone target)
  if(NOT TARGET ${target})
    return()  # a build without tests
  endif()
  if(NOT ARGN)
    set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
    return()
  endif()
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/)
  set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

canopy_alone(canopy_wire core/wire/scalar.cpp)
canopy_alone(canopy_engine core/engine/compose/component_reader.cpp)
canopy_alone(canopy_workload)
canopy_alone(canopy_bench)
canopy_alone(canopy apps/canopy/batch_json.cpp)
canopy_alone(canopy-contract harness/conformance/prefix_index_policies.cpp)
canopy_alone(canopy_paged_attention)
canopy_alone(test_unit)
canopy_alone(test_cli)
canopy_alone(test_inspector)
canopy_alone(test_engine tests/engine/ranks_agreement_test.cpp tests/engine/ranks_test.cpp tests/engine/resize_test.cpp
             tests/engine/storage_test.cpp)
