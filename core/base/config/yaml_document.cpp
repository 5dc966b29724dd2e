#include <canopy/base/file.h>
#include <canopy/base/yaml_document.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "yaml_builder.h"
#include "yaml_text.h"

namespace canopy {

std::string Mark::text() const { return line == 0 ? source : fmt::format("{}:{}:{}", source, line, column); }

const YamlNode* YamlNode::find(std::string_view key) const {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.first.scalar == key; });
  return found == entries.end() ? nullptr : &found->second;
}

YamlNode* YamlNode::find(std::string_view key) { return const_cast<YamlNode*>(std::as_const(*this).find(key)); }

Result<YamlNode> parse_yaml(std::string_view text, const std::string& source) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  Places places(text, source);
  try {
    return build_tree(text, places);
  } catch (const Refused& refused) {
    return Error{fmt::format("{}: {}", places.mark(refused.at).text(), refused.why)};
  }
}

Result<YamlNode> parse_yaml_file(const std::string& path) {
  const auto cannot = [&](const std::string& why) { return Error{fmt::format("{}: {}", path, why)}; };
  const auto refused = [&](int why) { return cannot("cannot be read: " + std::generic_category().message(why)); };
  const OpenedFile file = open_regular(path);
  if (file.error != 0) return file.error == ENOENT ? cannot("there is no such file") : refused(file.error);
  if (!file.descriptor)
    return cannot(S_ISDIR(file.facts.st_mode) ? "is a folder; expected a YAML file"
                                              : "is a pipe, socket or device; expected a regular file");
  const auto too_large = [&] { return cannot(fmt::format("is larger than 1 MiB ({} bytes)", file.facts.st_size)); };
  if (file.facts.st_size > static_cast<off_t>(kMaxBytes)) return too_large();

  std::string text(kMaxBytes + 1, '\0');  // one byte more than allowed, because the file may be growing
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.descriptor.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refused(errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > kMaxBytes) return too_large();
  text.resize(size);
  return parse_yaml(text, path);
}

}  // namespace canopy
