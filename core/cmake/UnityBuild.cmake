# With CMAKE_UNITY_BUILD (all presets) a few source files of a target are compiled as one, which takes a third to a half of
# the time. These are compiled by themselves, because names in their unnamed namespaces are those of a neighbour.
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

canopy_alone(canopy_workload apps/lab/workload/formats/native_trace.cpp apps/lab/workload/formats/qwen_trace.cpp
                             apps/lab/workload/formats/token_lines.cpp)
canopy_alone(canopy_metrics inspector/metrics/server.cpp)
canopy_alone(canopy_serve inspector/serve/web_server.cpp)
file(GLOB gpu_rows RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests/tools/bench/gpu/*.cpp)
canopy_alone(canopy_bench tests/tools/bench/wire_rows.cpp ${gpu_rows})
canopy_alone(canopy_paged_attention)
canopy_alone(test_base tests/core/base/registry_test.cpp tests/core/base/trust_test.cpp)
canopy_alone(test_cache tests/core/cache/page_needs_test.cpp tests/core/cache/resize_test.cpp)
canopy_alone(test_cli tests/apps/canopy/inspector_test.cpp tests/apps/canopy/interrupt_test.cpp
                      tests/apps/canopy/lab_test.cpp tests/apps/canopy/trace_test.cpp
                      tests/apps/canopy/publish_test.cpp tests/apps/canopy/tiers_test.cpp)
canopy_alone(test_engine tests/core/engine/events_config_test.cpp)
canopy_alone(test_inspector tests/inspector/metrics/metrics_test.cpp tests/inspector/serve/http_test.cpp)
canopy_alone(test_kv_events tests/core/kv_events/codec_test.cpp tests/core/kv_events/stream_test.cpp)
canopy_alone(test_lab tests/apps/lab/workload/trace_formats_test.cpp)
canopy_alone(test_slots tests/plugins/slots/slots_test.cpp)
# Planted faults replace single files of these libraries: a program's own objects come before those of an archive.
if(TARGET test_faults)
  foreach(library canopy_base canopy_cache canopy_tiers canopy_engine canopy_kv_events canopy_lab canopy_metrics
                  canopy_history canopy_mirror canopy_bridge canopy_serve canopy_slots redis_parts hazard_parts)
    canopy_alone(${library})
  endforeach()
endif()
