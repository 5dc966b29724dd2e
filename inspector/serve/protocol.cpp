#include "protocol.h"

#include <canopy/base/printable.h>
#include <fmt/format.h>
#include <sources/attachment.h>

#include <algorithm>
#include <cstring>

namespace canopy::inspector::protocol {

std::string welcome(const Welcome& welcome) {
  static constexpr const char* kNames[] = {"feeds", "feed", "recording", "demo"};
  std::string json = fmt::format(R"({{"serves":"{}","name":{},"controls":{},"version":{})",
                                 kNames[static_cast<std::size_t>(welcome.serves)], json_text(welcome.name),
                                 welcome.controls, json_text(welcome.version));
  if (welcome.bytes) json += fmt::format(R"(,"bytes":{})", *welcome.bytes);
  return json + "}";
}

std::string feeds(std::span<const FoundFeed> found) {
  std::string json = R"({"feeds":[)";
  for (const FoundFeed& feed : found) {
    if (json.back() != '[') json += ',';
    json += fmt::format(
        R"({{"name":{},"process":{},"program":{},"page_size":{},"groups":{},"controls":{},"tokens":{},"ended":{}}})",
        json_text(feed.name), feed.process, json_text(feed.program), feed.page_size, feed.groups, feed.controls,
        feed.tokens, json_text(feed.ended));
  }
  return json + "]}";
}

std::string attached(std::string_view name) { return R"({"attached":)" + json_text(name) + "}"; }
std::string lapped() { return R"({"lapped":true})"; }
std::string gone(std::string_view reason) { return R"({"gone":)" + json_text(reason) + "}"; }
std::string error(std::string_view sentence) { return R"({"error":)" + json_text(sentence) + "}"; }

std::string answer(Answer answer, std::string_view why) {
  static constexpr const char* kNames[] = {"accepted", "busy", "refused"};
  return fmt::format(R"({{"command":"{}","why":{}}})", kNames[static_cast<std::size_t>(answer)], json_text(why));
}

std::string header_bytes(const FeedShape& shape) {
  FeedShape copy = shape;
  copy.ring_events = 0;  // as in a file
  std::string bytes(FeedHeader::kBytes, '\0');
  std::memcpy(bytes.data(), &copy, sizeof(copy));
  return bytes;
}

PageText parse(std::string_view text) {
  for (const auto& [word, kind] : {std::pair{std::string_view("hello "), PageText::Kind::hello},
                                   std::pair{std::string_view("attach "), PageText::Kind::attach}})
    if (text.starts_with(word)) return {kind, text.substr(word.size())};
  return {};
}

std::string flaw_of(const Command& command, const FeedShape& shape) {
  if (!shape.controls) return "this feed takes no controls; its engine's file needs controls: true";
  if (command.kind > Command::Kind::resize)
    return fmt::format("{} is no kind of command", static_cast<std::uint32_t>(command.kind));
  if (command.until > Condition::free)
    return fmt::format("{} is no condition", static_cast<std::uint32_t>(command.until));
  if (command.group >= shape.groups)
    return fmt::format("there is no group {}; the feed has {}", command.group, shape.groups);
  if (std::ranges::find(command.name, '\0') == std::end(command.name)) return "the name in the command has no end";
  return {};
}

}  // namespace canopy::inspector::protocol
