#include <canopy/wire/codec.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <msgpack/null_visitor.hpp>
#include <msgpack/unpack.hpp>

#include "field_table.h"
#include "scalar.h"

namespace canopy::wire {
namespace {

using Type = Scalar::Type;

/// msgpack's parser calls it value by value, so that nothing is allocated for what a length claims. It knows where it
/// is by a stack of fixed depth; below that, in values that are kept as they are or skipped, it counts levels.
class Reader : public msgpack::null_visitor {
 public:
  explicit Reader(EventBatch& batch) : batch_(batch), kept_{batch.bytes}, pack_(kept_) {}

  const std::string& problem() const { return problem_; }

  bool visit_nil() { return scalar({}); }
  bool visit_boolean(bool value) { return scalar({Type::boolean, value}); }
  bool visit_positive_integer(std::uint64_t value) {
    if (in() == In::tokens && value <= kMostToken) {  // nearly all values of a stream
      if (batch_.tokens.size() > event_.tokens.begin && event_.token_pairs) return mixed_tokens();
      batch_.tokens.push_back(static_cast<Token>(value));
      return true;
    }
    return scalar({Type::number, value});
  }
  bool visit_negative_integer(std::int64_t value) {
    return scalar({value < 0 ? Type::negative : Type::number, static_cast<std::uint64_t>(value)});
  }
  bool visit_float32(float value) { return scalar({Type::real, 0, static_cast<double>(value)}); }
  bool visit_float64(double value) { return scalar({Type::real, 0, value}); }
  bool visit_str(const char* data, std::uint32_t size) { return scalar({Type::text, 0, 0, {data, size}}); }
  bool visit_bin(const char* data, std::uint32_t size) { return scalar({Type::bytes, 0, 0, {data, size}}); }
  bool visit_ext(const char* data, std::uint32_t size) { return scalar({Type::extension, 0, 0, {data, size}}); }

  bool start_array(std::uint32_t count) { return open(false, count); }
  bool start_map(std::uint32_t count) { return open(true, count); }
  bool end_array() { return close(); }
  bool end_map() { return close(); }
  bool start_array_item() {
    if (in() == In::batch) ++batch_item_;
    if (in() == In::array) slot_ = slot_at(event_item_++);
    return true;
  }
  bool start_map_key() { return in_key_ = is_map(in()), true; }
  bool end_map_key() { return in_key_ = in_key_ && !is_map(in()), true; }

  void parse_error(std::size_t, std::size_t) { problem_ = "a byte that MessagePack does not use"; }
  void insufficient_bytes(std::size_t, std::size_t) { problem_ = "the payload ends in the middle of a value"; }

 private:
  /// What the next value is a part of.
  enum class In : std::uint8_t { nothing, batch, events, array, map, names, hashes, tokens, pair, value };
  static bool is_map(In in) { return in == In::map || in == In::names; }
  static constexpr std::uint64_t kMostToken = ~Token{0};
  static constexpr std::size_t kMostLevels = 32;
  /// What the next value of an event is: a Field, or one of these.
  static constexpr int kSkipped = -1, kKind = -2;

  In in() const { return stack_[depth_]; }
  bool push(In in) { return stack_[++depth_] = in, true; }
  bool fail(std::string problem) { return problem_ = std::move(problem), false; }
  bool mixed_tokens() { return fail("token_ids has both tokens and pairs of tokens"); }
  std::string_view kind_name() const { return kind_known_ ? name_of(event_.kind) : "an event"; }

  // ---- Values ----
  bool scalar(const Scalar& value) {
    switch (in()) {
      case In::nothing:
        return fail("the payload is " + shown(value) + ", expected a batch: an array of time, events and rank");
      case In::batch:
        return batch_scalar(value);
      case In::events:
        return fail("an entry of the batch's events is " + shown(value) + ", expected an array or a map");
      case In::array:
      case In::map:
      case In::names:
        return in_key_ ? key(value) : event_scalar(value);
      case In::hashes:
        batch_.hashes.emplace_back();
        return hash(value, batch_.hashes.back(), "an entry of block_hashes");
      case In::tokens:
      case In::pair:
        return token(value);
      case In::value:
        keep(value);
        return true;
    }
    return false;
  }

  bool batch_scalar(const Scalar& value) {
    if (batch_item_ == 1) {
      if (value.type == Type::real && std::isfinite(value.real)) return batch_.time = value.real, true;
      if (value.type == Type::number) return batch_.time = static_cast<double>(value.number), true;
      return fail("the batch's time is " + shown(value) + ", expected seconds");
    }
    if (batch_item_ == 2) return fail("the batch's events are " + shown(value) + ", expected an array");
    if (batch_item_ > 3) return ++batch_.unknown_fields, true;
    batch_.has_rank = true;
    if (value.type == Type::nil) return true;
    std::int64_t rank = 0;
    if (!whole(value, rank)) return fail("the batch's rank is " + shown(value) + ", expected a whole number or nil");
    batch_.rank = rank;
    return true;
  }

  static bool whole(const Scalar& value, std::int64_t& number) {
    number = static_cast<std::int64_t>(value.number);
    return value.type == Type::negative || (value.type == Type::number && number >= 0);
  }

  bool key(const Scalar& value) {
    slot_ = kSkipped;
    if (value.type == Type::text && in() == In::map && value.bytes == "type") return slot_ = kKind, true;
    if (value.type == Type::text && !unknown_)
      for (std::size_t i = 0; i < kFields; ++i)
        if (value.bytes == wire::name_of(static_cast<Field>(i))) return slot_ = static_cast<int>(i), true;
    if (!unknown_) ++batch_.unknown_fields;
    return true;
  }

  int slot_at(std::size_t item) {
    if (item == 0) return kKind;
    if (unknown_) return kSkipped;
    const std::span<const Field> positions = positions_of(event_.kind);
    if (item <= positions.size()) return static_cast<int>(positions[item - 1]);
    return kSkipped;
  }

  bool event_scalar(const Scalar& value) {
    if (slot_ == kSkipped) {
      if (in() == In::array && !unknown_) ++batch_.unknown_fields;
      return true;
    }
    if (slot_ == kKind) return kind(value);
    const Field field = static_cast<Field>(slot_);
    if (!first_time(field)) return false;
    if (value.type == Type::nil) return event_.set_nil(field), true;
    event_.set_present(field);
    switch (shape_of(field)) {
      case Shape::hashes:
      case Shape::tokens:
        return unexpected(field, shown(value), "an array");
      case Shape::hash:
        return hash(value, event_.parent, wire::name_of(field));
      case Shape::number: {
        std::int64_t& number = number_of(event_, field);
        const bool is_size = field == Field::block_size;
        if (!whole(value, number) || (is_size && (number < 1 || number > kMostBlockSize)))
          return unexpected(field, shown(value), is_size ? "a whole number from 1 to 2^30" : "a whole number or nil");
        return true;
      }
      case Shape::text:
        if (value.type != Type::text) return unexpected(field, shown(value), "a text or nil");
        batch_.set_text(event_, field, value.bytes);
        return true;
      case Shape::any:
        keep_from(field);
        keep(value);
        kept();
        return true;
    }
    return false;
  }
  static constexpr std::int64_t kMostBlockSize = std::int64_t{1} << 30;

  bool unexpected(Field field, std::string_view found, std::string_view expected) {
    return fail(fmt::format("{} of {} is {}, expected {}", wire::name_of(field), kind_name(), found, expected));
  }

  bool first_time(Field field) {
    if (!event_.is_present(field)) return true;
    return fail(fmt::format("{} has {} twice", kind_name(), wire::name_of(field)));
  }

  bool kind(const Scalar& value) {
    if (kind_known_ || unknown_) return fail("an event has two types");
    if (value.type != Type::text) return fail("the type of an event is " + shown(value) + ", expected a text");
    const auto at = std::find(kKindNames.begin(), kKindNames.end(), value.bytes);
    if (at == kKindNames.end()) return unknown_ = true;
    event_.kind = static_cast<EventKind>(at - kKindNames.begin());
    return kind_known_ = true;
  }

  bool hash(const Scalar& value, BlockHash& hash, std::string_view what) {
    if (value.type == Type::number || value.type == Type::negative) {
      hash = {value.number, 0, 0, value.type == Type::negative};
      return true;
    }
    if (value.type != Type::bytes || value.bytes.empty() || value.bytes.size() > kMostDigestBytes)
      return fail(fmt::format("{} of {} is {}, expected a whole number or a digest of at most {} bytes", what,
                              kind_name(), shown(value), kMostDigestBytes));
    hash = batch_.add_digest(value.bytes);
    return true;
  }

  bool token(const Scalar& value) {
    if (value.type != Type::number || value.number > kMostToken)
      return fail("an entry of token_ids is " + shown(value) + ", expected a whole number below 2^32");
    batch_.tokens.push_back(static_cast<Token>(value.number));
    return true;
  }

  // ---- Arrays and maps ----
  bool open(bool map, std::uint32_t count) {
    const std::string_view found = map ? "a map" : "an array";
    switch (in()) {
      case In::nothing:
        if (map || count < 2)
          return fail(fmt::format("the payload is {} of {}, expected a batch: an array of time, events and rank", found,
                                  count));
        batch_.has_rank = false;
        return push(In::batch);
      case In::batch:
        if (batch_item_ == 2 && !map) return push(In::events);
        if (batch_item_ > 3) return ++batch_.unknown_fields, skip(map, count);
        return fail(fmt::format("element {} of the batch is {}, expected time, an array of events, and rank",
                                batch_item_, found));
      case In::events:
        begin_event(map ? Form::maps : Form::arrays);
        return push(map ? In::map : In::array);
      case In::array:
      case In::map:
      case In::names:
        return open_field(map, count, found);
      case In::tokens:
        if (map || count != 2)
          return fail(fmt::format("an entry of token_ids is {} of {}, expected a token or a pair", found, count));
        if (batch_.tokens.size() > event_.tokens.begin && !event_.token_pairs) return mixed_tokens();
        event_.token_pairs = true;
        return push(In::pair);
      case In::hashes:
      case In::pair:
        return fail(fmt::format("an entry of {} is {}, expected a whole number",
                                in() == In::pair ? "a pair of token_ids" : "block_hashes", found));
      case In::value:
        return nest(map, count);
    }
    return false;
  }

  bool open_field(bool map, std::uint32_t count, std::string_view found) {
    if (in_key_ || unknown_) return slot_ = kSkipped, skip(map, count);
    if (slot_ == kKind) return fail(fmt::format("the type of an event is {}, expected a text", found));
    // SGLang 0.5.19 has named fields behind the ones that have a position.
    const bool placed = slot_ == static_cast<int>(Field::block_hashes) || slot_ == static_cast<int>(Field::token_ids) ||
                        slot_ == static_cast<int>(Field::parent_block_hash) ||
                        slot_ == static_cast<int>(Field::block_size);
    if (in() == In::array && map && !placed) return push(In::names);
    if (slot_ == kSkipped) {
      if (in() == In::array) ++batch_.unknown_fields;
      return skip(map, count);
    }
    const Field field = static_cast<Field>(slot_);
    if (!first_time(field)) return false;
    event_.set_present(field);
    const Shape shape = shape_of(field);
    if (shape == Shape::any) return keep_from(field), push(In::value), nest(map, count);
    if (map || (shape != Shape::hashes && shape != Shape::tokens))
      return unexpected(field, found,
                        shape == Shape::text     ? "a text or nil"
                        : shape == Shape::number ? "a whole number"
                        : shape == Shape::hash   ? "a hash or nil"
                                                 : "an array");
    if (shape == Shape::hashes) {
      event_.hashes.begin = static_cast<std::uint32_t>(batch_.hashes.size());
      return push(In::hashes);
    }
    event_.tokens.begin = static_cast<std::uint32_t>(batch_.tokens.size());
    return push(In::tokens);
  }

  bool close() {
    switch (in()) {
      case In::value:
        if (--levels_ > 0) return true;
        if (keeping_) kept();
        break;
      case In::hashes:
        event_.hashes.count = static_cast<std::uint32_t>(batch_.hashes.size()) - event_.hashes.begin;
        break;
      case In::tokens:
        event_.tokens.count = static_cast<std::uint32_t>(batch_.tokens.size()) - event_.tokens.begin;
        break;
      case In::array:
      case In::map:
        if (!end_event()) return false;
        break;
      case In::batch:
        if (batch_item_ < 2) return fail("the batch has no events");
        break;
      default:
        break;
    }
    --depth_;
    return true;
  }

  void begin_event(Form form) {
    if (batch_.events.empty() && batch_.unknown_events == 0) batch_.form = form;
    event_ = {};
    event_item_ = 0, kind_known_ = unknown_ = false;
    hashes_before_ = batch_.hashes.size(), tokens_before_ = batch_.tokens.size(), bytes_before_ = batch_.bytes.size();
  }

  bool end_event() {
    if (unknown_) {
      ++batch_.unknown_events;
      batch_.hashes.resize(hashes_before_), batch_.tokens.resize(tokens_before_), batch_.bytes.resize(bytes_before_);
      return true;
    }
    if (!kind_known_) return fail("an event has no type");
    const auto needs = [&](Field field) {
      return event_.has(field) || fail(fmt::format("{} has no {}", kind_name(), wire::name_of(field)));
    };
    if (event_.kind != EventKind::cleared && !needs(Field::block_hashes)) return false;
    if (event_.kind == EventKind::stored && (!needs(Field::token_ids) || !needs(Field::block_size))) return false;
    batch_.events.push_back(event_);
    return true;
  }

  // ---- Values that are kept as they are, or skipped ----
  bool skip(bool map, std::uint32_t count) { return keeping_ = false, push(In::value), nest(map, count); }
  void keep_from(Field field) {
    keeping_ = true, kept_field_ = field;
    kept_at_ = batch_.bytes.size();
  }
  void kept() {
    event_.texts[static_cast<std::size_t>(kept_field_)] = {static_cast<std::uint32_t>(kept_at_),
                                                           static_cast<std::uint32_t>(batch_.bytes.size() - kept_at_)};
    keeping_ = false;
  }
  bool nest(bool map, std::uint32_t count) {
    if (++levels_ > kMostLevels)
      return fail(fmt::format("more than {} arrays and maps within each other", kMostLevels));
    if (keeping_) map ? pack_.pack_map(count) : pack_.pack_array(count);
    return true;
  }
  void keep(const Scalar& value) {
    if (keeping_) pack(value, pack_);
  }

  EventBatch& batch_;
  Event event_;
  Appended kept_;
  Packer pack_;
  In stack_[8] = {In::nothing};
  std::size_t depth_ = 0, levels_ = 0;
  std::size_t batch_item_ = 0, event_item_ = 0;  ///< how many elements have begun
  int slot_ = kSkipped;
  bool in_key_ = false, kind_known_ = false, unknown_ = false, keeping_ = false;
  Field kept_field_{};
  std::size_t kept_at_ = 0, hashes_before_ = 0, tokens_before_ = 0, bytes_before_ = 0;
  std::string problem_;
};

}  // namespace

Result<std::monostate> read_batch(std::string_view payload, EventBatch& batch) {
  batch.clear();
  Reader reader(batch);
  std::size_t at = 0;
  const bool whole = msgpack::parse(payload.data(), payload.size(), at, reader);
  if (whole && at == payload.size()) return std::monostate{};
  batch.clear();
  if (whole) return Error{fmt::format("byte {}: {} bytes follow the batch, expected none", at, payload.size() - at)};
  return Error{fmt::format("near byte {}: {}", at, reader.problem())};
}

}  // namespace canopy::wire
