#include "fingerprint.h"

#include <fmt/format.h>

#include <cache/guard/ports.h>

namespace canopy {
namespace {

/// Returns a line that begins with the length of its text, so that different lists of texts give different results.
std::string line(const char* name, std::string_view text) { return fmt::format("{} {} {}\n", name, text.size(), text); }

std::string layout_of(const CacheState& device, std::size_t group) {
  const StorePort* const store = device.pools[group].store_port();
  if (!store) return "no rows\n";
  std::string text = fmt::format("layers {}\n", store->view().layers);
  for (const Stream& stream : store->streams())
    text += fmt::format("{} bytes ", stream.row_bytes) + line("stream", stream.name);
  return text;
}

}  // namespace

std::string fingerprint_text(const EngineConfig& config, const CacheState& device) {
  const ModelConfig& model = config.model;
  const std::string ranks = model.replicated ? "replicated\n" : fmt::format("rank {} of {}\n", model.rank, model.ranks);
  std::string text = "canopy record 1\n" + line("model", model.name) + line("revision", model.revision) +
                     line("dtype", model.dtype) + line("extra", model.extra) + ranks +
                     fmt::format("page {} overlap {}\n", device.page_size, device.overlap) +
                     line("key", config.key.name);
  for (std::size_t g = 0; g < device.pools.size(); ++g)
    text += line("group", config.groups[g].name) +
            fmt::format("reach {} every {}\n", config.groups[g].reach, config.groups[g].every) + layout_of(device, g);
  return text;
}

std::string fingerprint_text(const EngineConfig& config, const CacheState& device, std::size_t group) {
  return fingerprint_text(config, device) + line("records of", config.groups[group].name);
}

}  // namespace canopy
