#pragma once

#include <replay/replay.h>
#include <workload/generator.h>
#include <workload/request_source.h>
#include <workload/trace_formats.h>

#include <support/engines.h>
#include <support/source_folder.h>

namespace canopy::test {

/// An engine with one pool of `tokens` in pages of 16 and no store. `policy` is a name, or a map of one name.
inline std::unique_ptr<Engine> pool_of(std::uint64_t tokens, const std::string& policy,
                                       const std::string& accounting = "default") {
  return engine_of("page_size: 16\nindex: { radix: { accounting: " + accounting +
                   " } }\ngroups: { full: { reach: path, capacity: " + std::to_string(tokens) +
                   ", allocator: free_list, eviction: " + policy + " } }\nstore: none\n");
}

inline replay::Report run_through(Engine& engine, workload::RequestSource& source,
                                  const replay::Options& options = {}) {
  auto report = replay::run(engine, source, options, {});
  REQUIRE_MESSAGE(report, (report ? "" : report.error().text));
  CHECK(report->violations == 0);
  return *report;
}

inline std::unique_ptr<workload::RequestSource> workload_of(const std::string& name) {
  auto source = workload::open_generator(std::string(kSourceFolder) + "/configs/workloads/" + name, 0);
  REQUIRE_MESSAGE(source, (source ? "" : source.error().text));
  return std::move(*source);
}

}  // namespace canopy::test
