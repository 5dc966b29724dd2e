#include "names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace canopy::inspector {

std::uint32_t life_of(std::uint64_t id) { return canopy::life_of(NodeId{id}); }

std::string node_name(std::uint64_t id) {
  const std::uint32_t slot = slot_of(static_cast<NodeId>(id)), life = life_of(id);
  return life == 1 ? fmt::format("#{}", slot) : fmt::format("#{}.{}", slot, life);
}

bool parse_node_name(std::string_view text, std::uint32_t& slot, std::uint32_t& life) {
  if (text.starts_with('#')) text.remove_prefix(1);
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, slot);
  life = 0;
  if (error != std::errc()) return false;
  if (at == end) return true;
  if (*at != '.') return false;
  const auto rest = std::from_chars(at + 1, end, life);
  return rest.ec == std::errc() && rest.ptr == end && life != 0;
}

bool parse_request_name(std::string_view text, std::uint64_t& number) {
  if (!text.starts_with('r')) return false;
  text.remove_prefix(text.starts_with("req") ? 3 : 1);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end;
}

const char* phase_word(const MirrorRequest& request) {
  if (!request.admitted() && !request.fetch && request.phase != RequestPhase::retracted)
    return request.ended() ? "not admitted" : "waiting";
  switch (request.phase) {
    case RequestPhase::finished:
      return "finished";
    case RequestPhase::aborted:
      return "aborted";
    case RequestPhase::retracted:
      return "retracted";
    default:
      break;
  }
  if (request.ended()) return "ended";
  return request.computed < request.prompt ? "prefill" : "decoding";
}

std::string space_name(const Mirror& mirror, NamespaceId space) { return mirror.space_name(space); }

}  // namespace canopy::inspector
