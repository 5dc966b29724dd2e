#include "router.h"

#include <canopy/base/file.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "protocol.h"

namespace canopy::inspector {
namespace {

http::Answer refused(unsigned status, const std::string& sentence) {
  return {.status = status, .text = sentence + "\n"};
}

bool same_word(std::string_view one, std::string_view small) {
  return std::ranges::equal(one, small, [](unsigned char a, unsigned char b) { return std::tolower(a) == b; });
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

/// Returns the text before the separator, and removes both from `rest`.
std::string_view cut(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view part = without_blanks(rest.substr(0, end));
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

}  // namespace

bool takes_gzip(std::string_view accept_encoding) {
  while (!accept_encoding.empty()) {
    std::string_view coding = cut(accept_encoding, ',');
    const std::string_view name = cut(coding, ';');
    if (!same_word(name, "gzip") && name != "*") continue;
    const std::string_view weight = cut(coding, ';');  // such as q=0.5; q=0 means never
    return !weight.starts_with("q=0") || weight.find_first_not_of("0.", 2) != std::string_view::npos;
  }
  return false;
}

http::Answer Router::answer(const http::Request& request) {
  if (!request.is_for(hosts_))
    return refused(403,
                   "The Host of this request is not this server. Behind a proxy, start `canopy serve` with --host and "
                   "the name of the proxy.");
  const std::string_view path = request.path();
  const bool feed = path == protocol::kFeedPath;
  if (request.upgrade && feed) {
    if (request.origins.size() > 1 || (!request.origins.empty() && !is_same_origin(request.origins[0], request.host)))
      return refused(403, "The Origin of this request is another site's.");
    return {.status = 101};
  }
  if (!request.reads()) return refused(405, "Only GET and HEAD are answered.");
  if (feed) return refused(426, "This is a websocket.");
  if (path == protocol::kRecordingPath) {
    constexpr std::string_view kBearer = "Bearer ";
    if (!request.authorization.starts_with(kBearer) || !service_.knows(request.authorization.substr(kBearer.size())))
      return refused(401, "The token is missing or wrong; `canopy serve` has printed it.");
    if (service_.served().kind != protocol::Serves::recording) return refused(404, "This server serves no recording.");
    OpenedFile opened = open_regular(service_.served().name);
    if (!opened.descriptor) return refused(404, "The recording cannot be read now.");
    return {.type = "application/octet-stream",
            .file = std::move(opened.descriptor),
            .file_bytes = static_cast<std::uint64_t>(opened.facts.st_size)};
  }
  const auto file = std::ranges::find(files_, path, &PageFile::path);
  if (file == files_.end()) return refused(404, "There is no such file.");
  if (file->gzip && !takes_gzip(request.accept_encoding))
    return refused(406, "This file is sent with gzip only; ask with Accept-Encoding: gzip.");
  return {.type = file->type, .bytes = file->bytes, .gzip = file->gzip};
}

}  // namespace canopy::inspector
