#include <canopy/kv_events/codec.h>
#include <canopy/kv_events/msgpack.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "field_table.h"

namespace canopy::kv_events {
namespace {

using Type = Value::Type;

bool whole(const Value& value, std::int64_t& number) {
  number = static_cast<std::int64_t>(value.number);
  return value.type == Type::negative || (value.type == Type::number && number >= 0);
}

/// Reads a payload from its first byte to its last. Each function reads one part, and returns false if the part is
/// wrong.
class Reader {
 public:
  Reader(std::string_view payload, EventBatch& batch) : payload_(payload), in_(payload), batch_(batch) {}

  bool batch() {
    Value value;
    if (!next(value)) return false;
    const bool has_entries = value.type == Type::array || value.type == Type::map;
    if (value.type != Type::array || value.number < 2)
      return fail("the payload is {}{}; expected a batch: an array of time, events and rank", shown(value),
                  has_entries ? fmt::format(" of {}", value.number) : "");
    const std::uint64_t elements = value.number;
    batch_.has_rank = elements > 2;
    if (!time() || !events() || (batch_.has_rank && !rank())) return false;
    for (std::uint64_t i = 3; i < elements; ++i, ++batch_.unknown_fields)
      if (!next(value) || !skip(value)) return false;
    if (in_.at() == payload_.size()) return true;
    problem_ = fmt::format("byte {}: {} bytes follow the batch; expected none", in_.at(), payload_.size() - in_.at());
    return false;
  }
  const std::string& problem() const { return problem_; }

 private:
  template <class... Values>
  bool fail(fmt::format_string<Values...> text, Values&&... values) {
    problem_ = fmt::format("near byte {}: ", in_.value_at()) + fmt::format(text, std::forward<Values>(values)...);
    return false;
  }
  bool next(Value& value) { return in_.next(value) || fail("{}", in_.flaw()); }
  bool skip(const Value& value) { return in_.skip(value) || fail("{}", in_.flaw()); }
  std::string_view kind_name() const { return kind_known_ ? name_of(event_.kind) : "an event"; }
  bool unexpected(Field field, const Value& value, std::string_view expected) {
    return fail("{} of {} is {}; expected {}", name_of(field), kind_name(), shown(value), expected);
  }

  bool time() {
    Value value;
    if (!next(value)) return false;
    const bool is_seconds = value.type == Type::number || (value.type == Type::real && std::isfinite(value.real));
    if (!is_seconds) return fail("the batch's time is {}; expected seconds", shown(value));
    batch_.time = value.type == Type::number ? static_cast<double>(value.number) : value.real;
    return true;
  }

  bool rank() {
    Value value;
    if (!next(value)) return false;
    if (value.type == Type::nil) return true;
    std::int64_t rank = 0;
    if (!whole(value, rank)) return fail("the batch's rank is {}; expected a whole number or nil", shown(value));
    batch_.rank = rank;
    return true;
  }

  bool events() {
    Value list;
    if (!next(list)) return false;
    if (list.type != Type::array) return fail("the batch's events are {}; expected an array", shown(list));
    for (std::uint64_t i = 0; i < list.number; ++i)
      if (!event(i == 0)) return false;
    return true;
  }

  bool event(bool is_first) {
    Value value;
    if (!next(value)) return false;
    if (value.type != Type::array && value.type != Type::map)
      return fail("an entry of the batch's events is {}; expected an array or a map", shown(value));
    const bool is_map = value.type == Type::map;
    if (is_first) batch_.form = is_map ? Form::maps : Form::arrays;
    event_ = {};
    kind_known_ = unknown_ = false;
    const std::size_t hashes = batch_.hashes.size(), tokens = batch_.tokens.size(), bytes = batch_.bytes.size();
    if (!(is_map ? named_fields(value.number, true) : placed_fields(value.number))) return false;
    if (unknown_) {
      ++batch_.unknown_events;
      batch_.hashes.resize(hashes), batch_.tokens.resize(tokens), batch_.bytes.resize(bytes);
      return true;
    }
    if (!kind_known_) return fail("an event has no type");
    const bool stores = event_.kind == EventKind::stored;
    if (event_.kind != EventKind::cleared && !needs(Field::block_hashes)) return false;
    if (stores && (!needs(Field::token_ids) || !needs(Field::block_size))) return false;
    batch_.events.push_back(event_);
    return true;
  }
  bool needs(Field field) { return event_.has(field) || fail("{} has no {}", kind_name(), name_of(field)); }

  // ---- The dialects: the places of an event's fields ----

  /// Reads an event that is a map (M1, M2), or the map after the positions of an array.
  bool named_fields(std::uint64_t count, bool has_type) {
    Value key, value;
    for (; count > 0; --count) {
      if (!next(key) || !skip(key) || !next(value)) return false;
      const bool is_text = key.type == Type::text;
      if (has_type && is_text && key.bytes == "type") {
        if (!kind(value)) return false;
        continue;
      }
      const std::optional<Field> named = is_text ? field_named(key.bytes) : std::nullopt;
      if (!field(named, value)) return false;
    }
    return true;
  }

  /// Reads an event that is an array (A1, A2, A3): its kind, then fields by position. SGLang 0.5.19 sends named fields
  /// after its positions: they are in a map at a position after the fields that every release sends.
  bool placed_fields(std::uint64_t count) {
    Value value;
    if (count > 0 && (!next(value) || !kind(value))) return false;
    const std::span<const Field> positions = positions_of(event_.kind);
    for (std::size_t i = 0; i + 1 < count; ++i) {
      if (!next(value)) return false;
      const std::optional<Field> placed = i < positions.size() ? std::optional(positions[i]) : std::nullopt;
      const bool is_optional = !placed || *placed > Field::block_size;
      const bool are_named = value.type == Type::map && is_optional && !unknown_;
      if (!(are_named ? named_fields(value.number, false) : field(placed, value))) return false;
    }
    return true;
  }

  bool kind(const Value& value) {
    if (kind_known_ || unknown_) return fail("an event has two types");
    if (value.type != Type::text) return fail("the type of an event is {}; expected a text", shown(value));
    const auto at = std::find(kKindNames.begin(), kKindNames.end(), value.bytes);
    kind_known_ = at != kKindNames.end();
    unknown_ = !kind_known_;
    if (kind_known_) event_.kind = static_cast<EventKind>(at - kKindNames.begin());
    return true;
  }

  // ---- Fields, which all dialects share ----

  /// Reads the value of a field. `field`: nothing if no release sends the field.
  bool field(std::optional<Field> field, const Value& value) {
    if (unknown_) return skip(value);
    if (!field) return ++batch_.unknown_fields, skip(value);
    if (event_.is_present(*field)) return fail("{} has {} twice", kind_name(), name_of(*field));
    if (value.type == Type::nil) return event_.set_nil(*field), true;
    event_.set_present(*field);
    switch (shape_of(*field)) {
      case Shape::hashes:
        return value.type == Type::array ? hashes(value.number) : unexpected(*field, value, "an array");
      case Shape::tokens:
        return value.type == Type::array ? tokens(value.number) : unexpected(*field, value, "an array");
      case Shape::hash:
        return hash(value, event_.parent, name_of(*field));
      case Shape::number:
        return number(*field, value);
      case Shape::text:
        if (value.type != Type::text) return unexpected(*field, value, "a text or nil");
        batch_.set_text(event_, *field, value.bytes);
        return true;
      case Shape::any: {
        const std::size_t begin = in_.value_at();
        if (!skip(value)) return false;
        batch_.set_text(event_, *field, payload_.substr(begin, in_.at() - begin));
        return true;
      }
    }
    return false;
  }

  bool number(Field field, const Value& value) {
    constexpr std::int64_t kMostBlockSize = std::int64_t{1} << 30;
    std::int64_t& number = number_of(event_, field);
    const bool is_size = field == Field::block_size;
    if (whole(value, number) && (!is_size || (number >= 1 && number <= kMostBlockSize))) return true;
    return unexpected(field, value, is_size ? "a whole number from 1 to 2^30" : "a whole number or nil");
  }

  bool hashes(std::uint64_t count) {
    event_.hashes.begin = static_cast<std::uint32_t>(batch_.hashes.size());
    Value value;
    for (std::uint64_t i = 0; i < count; ++i)
      if (!next(value) || !hash(value, batch_.hashes.emplace_back(), "an entry of block_hashes")) return false;
    event_.hashes.count = static_cast<std::uint32_t>(count);
    return true;
  }

  bool hash(const Value& value, BlockHash& hash, std::string_view what) {
    if (value.type == Type::number || value.type == Type::negative) {
      hash = {value.number, 0, 0, value.type == Type::negative};
      return true;
    }
    if (value.type != Type::bytes || value.bytes.empty() || value.bytes.size() > kMostDigestBytes)
      return fail("{} of {} is {}; expected a whole number or a digest of at most {} bytes", what, kind_name(),
                  shown(value), kMostDigestBytes);
    hash = batch_.add_digest(value.bytes);
    return true;
  }

  /// Reads tokens, or pairs of tokens (SGLang under EAGLE).
  bool tokens(std::uint64_t count) {
    event_.tokens.begin = static_cast<std::uint32_t>(batch_.tokens.size());
    Value value;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (!next(value)) return false;
      const bool is_pair = value.type == Type::array;
      if (is_pair && value.number != 2)
        return fail("an entry of token_ids is an array of {}; expected a token or a pair", value.number);
      if (i > 0 && is_pair != event_.token_pairs) return fail("token_ids has both tokens and pairs of tokens");
      event_.token_pairs = is_pair;
      if (is_pair && (!next(value) || !token(value) || !next(value))) return false;
      if (!token(value)) return false;
    }
    event_.tokens.count = static_cast<std::uint32_t>(batch_.tokens.size()) - event_.tokens.begin;
    return true;
  }

  bool token(const Value& value) {
    if (value.type != Type::number || value.number > ~Token{0})
      return fail("an entry of token_ids is {}; expected a whole number below 2^32", shown(value));
    batch_.tokens.push_back(static_cast<Token>(value.number));
    return true;
  }

  const std::string_view payload_;
  Unpacker in_;
  EventBatch& batch_;
  Event event_;
  bool kind_known_ = false, unknown_ = false;  ///< True if the event's kind is known; true if no release has it.
  std::string problem_;
};

}  // namespace

Result<std::monostate> read_batch(std::string_view payload, EventBatch& batch) {
  batch.clear();
  Reader reader(payload, batch);
  if (reader.batch()) return std::monostate{};
  batch.clear();
  return Error{reader.problem()};
}

}  // namespace canopy::kv_events
