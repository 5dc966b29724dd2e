#include "recording_file.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

namespace canopy::verify {

Result<Setup> setup_of(const std::string& path) {
  // Read from the right, since a policy's name may have `_` in it.
  std::string name = std::filesystem::path(path).filename().string();
  const Error unknown{path +
                      ": the name does not say what was recorded; expected POLICY_pageP_plain_seedS.jsonl.gz or "
                      "POLICY_pageP_eagle_seedS.jsonl.gz"};
  const auto cut_last = [&name] {
    const std::size_t at = name.rfind('_');
    std::string part = at == std::string::npos ? std::string() : name.substr(at + 1);
    name.resize(at == std::string::npos ? 0 : at);
    return part;
  };
  cut_last();  // the seed and the suffixes
  const std::string mode = cut_last(), page = cut_last();
  Setup setup{name, 0, mode == "eagle" ? 1U : 0U};
  const std::string_view digits = std::string_view(page).substr(std::min<std::size_t>(4, page.size()));
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), setup.page);
  if (name.empty() || (mode != "plain" && mode != "eagle") || !page.starts_with("page") || error != std::errc() ||
      end != digits.end() || setup.page == 0 || setup.page > 65536)
    return unknown;
  return setup;
}

RecordingLines::RecordingLines(const std::string& path) : file_(gzopen(path.c_str(), "rb")) {}

RecordingLines::~RecordingLines() {
  if (file_) gzclose(file_);
}

bool RecordingLines::next(std::string& line) {
  constexpr std::size_t kLongest = std::size_t{64} << 20;
  line.clear();
  char part[1 << 16];
  while (gzgets(file_, part, sizeof(part))) {
    line += part;
    if (line.back() == '\n' || line.size() > kLongest) break;
  }
  return !line.empty();
}

std::string RecordingLines::damage() const {
  int code = Z_OK;
  const char* text = gzerror(file_, &code);
  return code == Z_OK || code == Z_STREAM_END ? std::string() : std::string(text);
}

}  // namespace canopy::verify
