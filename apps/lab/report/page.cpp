#include "report.h"

#include "report/page_parts.h"

#include <canopy/base/atomic_file.h>
#include <canopy/base/printable.h>
#include <lab/comparison_json.h>

#include <nlohmann/json.hpp>

namespace canopy::report {

using nlohmann::ordered_json;

/// Replaces content that a page must not or cannot hold: characters that are invisible or change the direction of
/// writing, and integers that a script would round.
static void make_safe(ordered_json& json) {
  constexpr std::uint64_t kExact = std::uint64_t{1} << 53;
  if (json.is_structured())
    for (ordered_json& part : json) make_safe(part);
  else if (json.is_string()) json = printable(json.get_ref<const std::string&>());
  else if (json.is_number_unsigned() && json.get<std::uint64_t>() > kExact) json = json.dump();
}

static Result<std::monostate> write(ordered_json json, const char* script, const std::string& path) {
  make_safe(json);
  std::string page = kPageHead;
  // A <script> element ends at the first "</script", even inside a string.
  for (const char c : json.dump(-1, ' ', false, ordered_json::error_handler_t::replace)) {
    if (c == '<') page += "\\u003c";
    else page += c;
  }
  return write_file_atomically(path, page + script);
}

Result<std::monostate> write_page(const lab::Comparison& comparison, const std::string& path) {
  return write(lab::json_of(comparison), kPageScript, path);
}

Result<std::monostate> write_trace_page(const workload::TraceFacts& facts, const std::string& trace,
                                        const std::string& path) {
  return write(workload::json_of(facts, trace), kTraceScript, path);
}

}  // namespace canopy::report
