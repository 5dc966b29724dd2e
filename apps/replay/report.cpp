#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "replay.h"

namespace canopy::replay {

namespace {

Error cannot_write(const std::string& path, int reason) {
  return Error{path + ": the report could not be written: " + std::strerror(reason)};
}

bool write_whole(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

Result<std::monostate> can_report_to(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::exists(status) && !fs::is_regular_file(status))
    return Error{path + ": a report goes to a regular file, and this is something else"};
  fs::path folder = fs::weakly_canonical(path, ignored).parent_path();
  if (folder.empty()) folder = ".";
  if (access(folder.c_str(), W_OK) != 0) return cannot_write(path, errno);
  return std::monostate{};
}

Result<std::monostate> write_report(const Report& report, const std::string& path) {
  nlohmann::ordered_json json{{"config", report.config},
                              {"source", report.source},
                              {"mode", report.mode == Mode::serial ? "serial" : "timed"},
                              {"page_size", report.page_size},
                              {"capacity_tokens", nullptr},
                              {"requests", report.requests},
                              {"prompt_tokens", report.prompt_tokens},
                              {"hit_tokens", report.hit_tokens},
                              {"hit_rate", report.hit_rate()},
                              {"evict_calls", report.evict_calls},
                              {"evicted_tokens", report.evicted_tokens},
                              {"rejected", report.rejected},
                              {"resident_tokens", report.resident_tokens},
                              {"groups", nullptr},
                              {"nodes", report.nodes},
                              {"namespaces", report.spaces},
                              {"index_bytes", report.index_bytes},
                              {"index_seconds", report.index_seconds},
                              {"seconds", report.seconds},
                              {"ledger_checks", report.ledger_checks},
                              {"content_checks", report.content_checks},
                              {"violations", report.violations},
                              {"digest", nullptr},
                              {"seed", report.seed}};
  if (report.capacity_tokens != kUnlimited) json["capacity_tokens"] = report.capacity_tokens;
  json["groups"] = nlohmann::ordered_json::array();
  for (const GroupReport& group : report.groups)
    json["groups"].push_back({{"name", group.name},
                              {"tree_pages", group.tree_pages},
                              {"free_pages", group.free_pages},
                              {"longest_free_run", group.longest_free_run},
                              {"handed_pages", group.handed_pages},
                              {"handed_runs", group.handed_runs}});
  char digest[17];
  std::snprintf(digest, sizeof(digest), "%016llx", static_cast<unsigned long long>(report.digest));
  json["digest"] = digest;
  if (report.mode == Mode::timed)
    json.update({{"output_tokens", report.output_tokens},
                 {"aborted", report.aborted},
                 {"retracted", report.retracted},
                 {"waited", report.waited},
                 {"steps", report.steps},
                 {"repointed_tokens", report.repointed_tokens},
                 {"most_running", report.most_running}});
  if (!report.reports.empty()) json["violation_reports"] = report.reports;
  const std::string text = json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";

  // A reader never meets half a report: the name appears when the bytes are on disk. A link stays a link.
  std::error_code ignored;
  const std::string target = std::filesystem::weakly_canonical(path, ignored).string();
  std::string draft = (ignored ? path : target) + ".XXXXXX";
  const int descriptor = mkstemp(draft.data());
  if (descriptor < 0) return cannot_write(path, errno);
  const bool written = write_whole(descriptor, text) && fchmod(descriptor, 0644) == 0 && fsync(descriptor) == 0;
  int reason = errno;
  const bool closed = close(descriptor) == 0;
  if (written && !closed) reason = errno;
  if (written && closed) {
    if (std::rename(draft.c_str(), (ignored ? path : target).c_str()) == 0) return std::monostate{};
    reason = errno;
  }
  unlink(draft.c_str());
  return cannot_write(path, reason);
}

}  // namespace canopy::replay
