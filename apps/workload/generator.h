#pragma once

#include "request_source.h"

#include <canopy/yaml_document.h>

#include <memory>

namespace canopy::workload {

/// Requests from a seeded description, configs/workloads/*.yaml:
///
///   seed: 7
///   requests: 2000
///   arrivals_per_second: 20
///   mix:                                   # shares of the requests, by kind
///     - chat: { tenants: 4, ... }
///       share: 3
///
/// The same document gives the same requests on every machine, compiler and standard library.
Result<std::unique_ptr<RequestSource>> make_generator(const YamlNode& document);
Result<std::unique_ptr<RequestSource>> open_generator(const std::string& path, std::uint64_t seed_override);

/// The workload of `canopy demo`, no file needed.
std::unique_ptr<RequestSource> demo_workload(std::uint64_t seed);

}  // namespace canopy::workload
