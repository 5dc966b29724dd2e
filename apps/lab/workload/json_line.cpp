#include "json_line.h"

#include "counting_iterator.h"
#include "hints.h"
#include "random.h"
#include "shown.h"
#include "text.h"

#include <canopy/base/nearest_name.h>
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace canopy::workload {
namespace {

using nlohmann::json;
using Kind = JsonField::Kind;

constexpr std::size_t kKeptNames = 8;  ///< Unknown keys that are kept, to find a mistyped one.
constexpr std::size_t kNone = ~std::size_t{0};

/// Receives the events of the JSON reader. Keeps the path of the current value and the field that it belongs to.
class Handler final : public nlohmann::json_sax<json> {
 public:
  /// `read`: bytes of the line that the JSON reader has taken so far. Null where columns are not wanted.
  Handler(std::span<const JsonField> fields, std::vector<JsonValue>& values, const JsonStyle& style,
          std::size_t line_size, const std::size_t* read)
      : fields_(fields), values_(values), style_(style), line_size_(line_size), read_(read) {}

  std::optional<LineProblem> problem;

  bool null() override { return in_list_ || at_rows() || depth() == 0 ? refuse("null") : true; }
  bool boolean(bool value) override { return refuse(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) override {
    if (skipping()) return true;
    if (value >= 0) return number_unsigned(static_cast<std::uint64_t>(value));
    if (is(Kind::ids) && in_list_) return add(id_print(static_cast<std::uint64_t>(value), fields_[field_].most));
    if (is(Kind::name)) return found().text = std::to_string(value), true;
    if (!is(Kind::integer) || value < -static_cast<std::int64_t>(fields_[field_].most))
      return refuse(std::to_string(value));
    return found().integer = value, true;
  }
  bool number_unsigned(std::uint64_t value) override {
    if (skipping()) return true;
    if (is(Kind::name)) return found().text = std::to_string(value), true;
    if (is(Kind::ids) && in_list_ && value > fields_[field_].most) value = id_print(value, fields_[field_].most);
    if (field_ == kNone || is(Kind::text) || is(Kind::rows) || value > fields_[field_].most || is_list() != in_list_)
      return refuse(std::to_string(value));
    if (in_list_) return add(value);
    JsonValue& to = found();
    to.whole = value;
    to.integer = static_cast<std::int64_t>(value);
    to.number = static_cast<double>(value);
    return true;
  }
  bool number_float(double value, const std::string& text) override {
    if (!is(Kind::number) || !(value >= 0 && value <= static_cast<double>(fields_[field_].most)))
      return refuse(shown(text));
    return found().number = value, true;
  }
  bool string(std::string& text) override {
    if (is(Kind::hints) && in_list_) return hint(text);
    if (is(Kind::ids) && in_list_ && !text.empty()) return add(id_print(text, fields_[field_].most));
    if (!is(Kind::text) && !is(Kind::name)) return refuse('"' + shown(text) + '"');
    found().text = std::move(text);
    return true;
  }
  bool binary(json::binary_t&) override { return refuse("binary"); }

  bool start_object(std::size_t) override {
    if (field_ != kNone) return refuse("an object");
    return at_rows() ? begin_row() : descend();
  }
  bool start_array(std::size_t) override {
    if (skipping()) return descend("[]");
    if (is(Kind::rows)) {
      rows_ = std::exchange(field_, kNone);
      values_[rows_].seen = true;
      values_[rows_].whole = 0;
      rows_depth_ = depth() + 1;
      return descend("[]");
    }
    if (in_list_ || !(is_list() || is(Kind::hints))) return refuse("a list");
    found().wholes.clear();
    values_[field_].whole = 0;
    return in_list_ = true;
  }
  bool end_object() override {
    if (in_row() && !end_row()) return false;
    return ascend(), true;
  }
  bool end_array() override {
    if (std::exchange(in_list_, false)) return true;
    if (at_rows()) rows_ = kNone;
    return ascend(), true;
  }

  bool key(std::string& name) override {
    path_.resize(levels_.back());
    // A key with one of these is no path of ours.
    const bool plain = name.find_first_of(".[") == name.npos;
    if (depth() > 1) path_ += '.';
    path_ += plain ? name : std::string(".");
    field_ = 0;
    while (field_ < fields_.size() && path_ != fields_[field_].path &&
           (fields_[field_].other == nullptr || path_ != fields_[field_].other))
      ++field_;
    if (field_ == fields_.size()) {
      field_ = kNone;
      if (depth() == 1 && unknown_.size() < kKeptNames) unknown_.push_back(shown(name));
      if (in_row() || (style_.closed && depth() == 1 && name != "extra")) return refuse_key(name);
      return true;
    }
    JsonValue& value = values_[field_];
    if (read_) value.column = *read_ - std::min(*read_, name.size() + 1);
    if (keys_.size() < fields_.size()) keys_.resize(fields_.size());
    const std::uint8_t named = path_ == fields_[field_].path ? kFirstName : kOtherName;
    if (keys_[field_] & named) return say(fmt::format("'{}' is there twice; expected it once", path_), value.column);
    if (value.seen) {
      firsts_.emplace_back(field_, value);
      value.seen = false;
    }
    keys_[field_] |= named;
    return true;
  }

  bool parse_error(std::size_t position, const std::string& last, const json::exception& why) override {
    constexpr int kNumberOverflow = 406;
    if (why.id == kNumberOverflow && skipping())
      return say(fmt::format("{} is too large for a number", shown(last)), position);
    if (why.id == kNumberOverflow) return refuse(shown(last));
    if (position > line_size_) return say("ends in the middle of its JSON; was the file cut off?", line_size_ + 1);
    return say(fmt::format("not JSON, at '{}'; {}", shown(last), style_.wanted), position);
  }

  /// Returns false if a required field is missing, or the two names of one have two values.
  bool complete() {
    for (const auto& [i, first] : firsts_) {
      if (values_[i].seen && !is_same(fields_[i].kind, values_[i], first))
        return say(fmt::format("'{}' and '{}' differ; expected one value", fields_[i].path, fields_[i].other),
                   values_[i].column);
      const std::size_t column = values_[i].column;
      values_[i] = first;
      values_[i].column = column;
    }
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const JsonField& field = fields_[i];
      if (values_[i].seen || !(field.required || field.guarded || field.filled) || is_of_rows(i)) continue;
      if (i < keys_.size() && keys_[i]) {
        if (!field.required && !field.filled) continue;
        return say(fmt::format("'{}' is null; expected {}", field.path, wanted(field)), values_[i].column);
      }
      if (!field.required && !field.guarded) continue;
      const std::string near = nearest_name(field.path, unknown_);
      if (near.empty() && !field.required) continue;
      return say(
          fmt::format("'{}' is missing{}", field.path, near.empty() ? "" : "; is '" + near + "' a misspelling of it?"));
    }
    return true;
  }

 private:
  std::size_t depth() const { return levels_.size(); }
  bool skipping() const { return field_ == kNone && depth() > 0 && !at_rows(); }
  /// Returns true within the list of a Kind::rows, between its objects.
  bool at_rows() const { return rows_ != kNone && depth() == rows_depth_; }
  /// Returns true within one of its objects, but not deeper.
  bool in_row() const { return rows_ != kNone && depth() == rows_depth_ + 1; }
  bool is_of_rows(std::size_t field) const {
    return std::string_view(fields_[field].path).find("[].") != std::string_view::npos;
  }
  bool is_of_row(std::size_t field) const {
    return is_of_rows(field) && std::string_view(fields_[field].path).starts_with(fields_[rows_].path);
  }
  bool begin_row() {
    const JsonField& field = fields_[rows_];
    if (values_[rows_].whole++ == field.most)
      return say(fmt::format("'{}' has more than {} items", field.path, field.most), values_[rows_].column);
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if (!is_of_row(i)) continue;
      values_[i].seen = false;
      keys_[i] = 0;
    }
    return descend();
  }
  bool end_row() {
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if (!is_of_row(i)) continue;
      if (fields_[i].required && !values_[i].seen)
        return say(fmt::format("'{}' is missing in item {}", fields_[i].path, values_[rows_].whole),
                   values_[rows_].column);
      values_[rows_].items.push_back(values_[i]);
    }
    return true;
  }
  static bool is_same(Kind kind, const JsonValue& a, const JsonValue& b) {
    switch (kind) {
      case Kind::number:
        return a.number == b.number;
      case Kind::integer:
        return a.integer == b.integer;
      case Kind::text:
      case Kind::name:
        return a.text == b.text;
      case Kind::whole:
      case Kind::hints:
        return a.whole == b.whole;
      case Kind::ids:
      case Kind::wholes:
        return a.whole == b.whole && a.wholes == b.wholes;
      case Kind::rows:
        break;
    }
    return false;
  }
  bool is(Kind kind) const { return field_ != kNone && fields_[field_].kind == kind; }
  bool is_list() const { return is(Kind::wholes) || is(Kind::ids); }
  JsonValue& found() {
    values_[field_].seen = true;
    return values_[field_];
  }
  bool add(std::uint64_t value) {
    const JsonField& field = fields_[field_];
    JsonValue& to = values_[field_];
    if (to.whole == kMaxPromptTokens && field.kept == 0)
      return say(fmt::format("'{}' has more than {} {}s", field.path, kMaxPromptTokens, field.item), to.column);
    if (to.whole++ < field.kept || field.kept == 0) to.wholes.push_back(value);
    return true;
  }

  bool hint(const std::string& name) {
    const auto bits = hint_named(name);
    if (!bits)
      return say(fmt::format("'{}' has \"{}\"; {}", fields_[field_].path, shown(name), known_hints(name)),
                 values_[field_].column);
    values_[field_].whole |= *bits;
    return true;
  }

  bool descend(const char* step = "") {
    if (depth() == style_.deepest) return say(fmt::format("nested deeper than {} levels", style_.deepest));
    path_ += step;
    levels_.push_back(path_.size());
    return true;
  }
  void ascend() {
    levels_.pop_back();
    field_ = kNone;
    path_.resize(levels_.empty() ? 0 : levels_.back());
  }

  bool say(std::string text, std::size_t column = 0) {
    problem = LineProblem{column, std::move(text)};
    return false;
  }
  /// Refuses a value that is wrong in its field or is the whole line. Within an unknown key, everything is allowed.
  bool refuse(const std::string& found) {
    if (skipping()) return true;
    if (at_rows())
      return say(fmt::format("'{}' has {}; expected objects", fields_[rows_].path, found), values_[rows_].column);
    if (field_ == kNone) return say(fmt::format("the line is {}; {}", found, style_.wanted), 1);
    const JsonField& field = fields_[field_];
    const bool of_list = in_list_ && is_list();
    const std::string item = of_list ? fmt::format("{} {} of ", field.item, values_[field_].whole + 1) : std::string();
    return say(fmt::format("{}'{}' {} {}; expected {}", item, field.path, in_list_ && !of_list ? "has" : "is", found,
                           !of_list                  ? wanted(field)
                           : field.kind == Kind::ids ? "a whole number or a text"
                                                     : range_of(field)),
               values_[field_].column);
  }
  bool refuse_key(const std::string& name) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const std::string_view path = fields_[i].path;
      if (is_of_rows(i) ? in_row() && is_of_row(i) : !in_row()) names.emplace_back(path.substr(path.rfind('.') + 1));
    }
    const std::string near = nearest_name(name, names);
    const std::string of = in_row() ? fmt::format("an item of '{}'", fields_[rows_].path) : "this format";
    const std::string rest =
        in_row() ? fmt::format("; expected {}", fmt::join(names, ", ")) : "; put your own keys into \"extra\"";
    return say(fmt::format("'{}' is not a key of {}{}", shown(name), of,
                           near.empty() ? rest : "; did you mean '" + near + "'?"),
               read_ ? *read_ - std::min(*read_, name.size() + 1) : 0);
  }
  static std::string range_of(const JsonField& field) {
    return fmt::format("a whole number{}{} from 0 to {}", *field.what ? " of " : "", field.what, field.most);
  }
  static std::string wanted(const JsonField& field) {
    switch (field.kind) {
      case Kind::whole:
        return range_of(field);
      case Kind::integer:
        return fmt::format("a whole number from -{0} to {0}", field.most);
      case Kind::number:
        return fmt::format("a number{}{} from 0 to {}", *field.what ? " of " : "", field.what, field.most);
      case Kind::text:
        return "a text";
      case Kind::name:
        return "a text or a whole number";
      case Kind::ids:
      case Kind::wholes:
        return "a list of whole numbers";
      case Kind::hints:
        return "a whole number, or a list of names";
      case Kind::rows:
        return "a list of objects";
    }
    return {};
  }

  std::span<const JsonField> fields_;
  std::vector<JsonValue>& values_;
  const JsonStyle& style_;
  std::size_t line_size_;
  const std::size_t* read_;
  std::string path_;
  std::vector<std::size_t> levels_;  ///< Lengths of the paths of the enclosing objects and lists.
  std::size_t field_ = kNone;
  bool in_list_ = false;                       ///< Within the list of a field.
  std::size_t rows_ = kNone, rows_depth_ = 0;  ///< Field whose objects are read, and the depth of its list.
  static constexpr std::uint8_t kFirstName = 1, kOtherName = 2;
  std::vector<std::uint8_t> keys_;                         ///< names under which each field was found
  std::vector<std::pair<std::size_t, JsonValue>> firsts_;  ///< Values of fields that came again by another name.
  std::vector<std::string> unknown_;
};

}  // namespace

std::uint64_t id_print(std::uint64_t id, std::uint64_t most) { return splitmix64(id ^ 0xA5A5A5A5A5A5A5A5u) % most; }

std::uint64_t id_print(std::string_view id, std::uint64_t most) {
  std::uint64_t print = splitmix64(id.size());
  for (const char c : id) print = splitmix64(print ^ static_cast<unsigned char>(c));
  return print % most;
}

JsonLine::JsonLine(std::span<const JsonField> fields, const JsonStyle& style)
    : fields_(fields), values_(fields.size()), style_(style) {}

std::optional<LineProblem> JsonLine::parse(std::string_view line, bool columns) {
  for (JsonValue& value : values_) {
    value.seen = false;
    value.column = 0;
    value.wholes.clear();
    value.items.clear();
  }
  std::size_t read = 0;
  Handler handler(fields_, values_, style_, line.size(), columns ? &read : nullptr);
  const char *first = line.data(), *end = first + line.size();
  const bool whole = columns ? json::sax_parse(CountingIterator{first, &read}, CountingIterator{end, &read}, &handler)
                             : json::sax_parse(first, end, &handler);
  if (whole) handler.complete();
  if (!whole && !handler.problem) return LineProblem{0, std::string("not JSON; ") + style_.wanted};
  return std::move(handler.problem);
}

std::optional<LineProblem> JsonLine::read(std::string_view line) {
  // The JSON reader would take a NUL for the end of its input and ignore the rest.
  if (const std::size_t nul = line.find('\0'); nul != line.npos)
    return LineProblem{nul + 1, "a NUL byte; expected text"};
  auto problem = parse(line, false);
  if (!problem || problem->column != 0) return problem;
  // Reads the line again, with columns: counting takes time, which good lines save.
  return parse(line, true);
}

LineProblem JsonLine::about(std::string_view line, std::size_t field, const std::string& text) {
  parse(line, true);
  return {values_[field].column, fmt::format("'{}' {}", fields_[field].path, text)};
}

}  // namespace canopy::workload
