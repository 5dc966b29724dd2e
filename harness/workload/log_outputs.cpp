#include "log_outputs.h"

#include "line_reader.h"
#include "text.h"

#include <algorithm>

namespace canopy::workload {

Result<LogOutputs> LogOutputs::read(const std::string& path, const std::function<Part(std::string_view)>& part) {
  auto lines = LineReader::open(path);
  if (!lines) return lines.error();
  LogOutputs outputs;
  std::string_view line;
  for (;;) {
    auto got = (*lines)->next(line);
    if (!got) return got.error();
    if (!*got) return outputs;
    const Part found = part(line);
    if (found.request.empty()) continue;
    std::uint64_t& tokens = outputs.tokens_[std::string(found.request)];
    tokens = std::min(kMaxPromptTokens, found.adds ? tokens + found.tokens : std::max(tokens, found.tokens));
  }
}

std::uint32_t LogOutputs::of(std::string_view request) const {
  const auto at = tokens_.find(std::string(request));
  return at == tokens_.end() ? 0 : static_cast<std::uint32_t>(at->second);
}

}  // namespace canopy::workload
