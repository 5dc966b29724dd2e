#pragma once

#include "request_source.h"

#include <canopy/base/yaml_document.h>

#include <memory>

namespace canopy::workload {

/// Makes requests from a seeded description, configs/workloads/*.yaml:
///
///   seed: 7
///   requests: 2000
///   arrivals_per_second: 20
///   mix:
///     - chat: { tenants: 4, turns: 6 }     # one kind an item (traffic.h has them all), each key has a default
///       share: 3                           # of the requests, against the shares of the others
///     - batch_sweep: { prefix_tokens: 8000 }
///       priority: 2                        # of all its requests
///       hints: class_1                     # of all its requests: a name of hints.h, or a list of them
///       namespace: nightly                 # "" is the shared one; chat's tenants become nightly/tenant-0 ...
///       from_second: 60                    # its first request; until then its share makes none
///       retention: { tokens: 8000, seconds: 300, priority: 0 }   # of all its requests
///
/// The same document gives the same requests on every machine, compiler and standard library.
/// `seed_override` replaces its seed, unless it is 0.
Result<std::unique_ptr<RequestSource>> make_generator(const YamlNode& document, std::uint64_t seed_override = 0);
/// Opens such a file.
Result<std::unique_ptr<RequestSource>> open_generator(const std::string& path, std::uint64_t seed_override);

}  // namespace canopy::workload
