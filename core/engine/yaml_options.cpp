#include <canopy/nearest_name.h>
#include <canopy/yaml_options.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <system_error>
#include <utility>

namespace canopy {
namespace {

using Kind = YamlNode::Kind;

constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string range_of(std::uint64_t min, std::uint64_t max) {
  if (max < kHuge) return fmt::format("{}..{}", min, max);
  return min == 0 ? "any whole number" : fmt::format("at least {}", min);
}

std::string in_brackets(std::string_view help) { return help.empty() ? "" : fmt::format(" ({})", help); }

/// What the user wrote, for a message.
std::string shown(const YamlNode& value) {
  switch (value.kind) {
    case Kind::null:
      return value.scalar.empty() ? "nothing" : value.scalar;
    case Kind::sequence:
      return "a list";
    case Kind::map:
      return "a map";
    case Kind::scalar:
      break;
  }
  const bool plain = !value.quoted && std::all_of(value.scalar.begin(), value.scalar.end(), [](char c) {
    return is_digit(c) || c == '-' || c == '.' || c == '_';
  });
  return plain && value.scalar.size() <= 40 ? value.scalar : in_quotes(value.scalar);
}

/// The power that a suffix stands for, 0 if it is none.
std::uint64_t factor_of(std::string_view suffix) {
  constexpr std::uint64_t kKilo = 1000, kKibi = 1024;
  constexpr std::pair<std::string_view, std::uint64_t> kSuffixes[] = {
      {"", 1},       {"k", kKilo},          {"M", kKilo * kKilo},         {"G", kKilo * kKilo * kKilo},
      {"Ki", kKibi}, {"Mi", kKibi * kKibi}, {"Gi", kKibi * kKibi * kKibi}};
  for (const auto& [name, factor] : kSuffixes)
    if (name == suffix) return factor;
  return 0;
}

enum class Written { number, too_large, negative, ambiguous, grouped_by_commas, unknown_suffix, no_number };

Written read_decimal(std::string_view text, std::uint64_t& value) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const auto end_of_digits = std::find_if(text.begin(), text.end(), [](char c) { return !is_digit(c) && c != '_'; });
  const auto count = static_cast<std::size_t>(end_of_digits - text.begin());
  const std::string_view digits = text.substr(0, count), suffix = text.substr(count);
  const bool grouped_well =
      !digits.starts_with('_') && !digits.ends_with('_') && digits.find("__") == std::string_view::npos;
  if (digits.empty() || !grouped_well) return Written::no_number;
  if (suffix.starts_with(',') &&
      std::all_of(suffix.begin(), suffix.end(), [](char c) { return c == ',' || is_digit(c); }))
    return Written::grouped_by_commas;
  const std::uint64_t factor = factor_of(suffix);
  if (factor == 0)
    return std::all_of(suffix.begin(), suffix.end(), [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }) &&
                   suffix[0] != 'e' && suffix[0] != 'x'
               ? Written::unknown_suffix
               : Written::no_number;
  if (digits.size() > 1 && digits[0] == '0') return Written::ambiguous;
  value = 0;
  for (const char c : digits) {
    if (c == '_') continue;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > (kHuge - digit) / 10) return negative ? Written::negative : Written::too_large;
    value = value * 10 + digit;
  }
  if (negative && value != 0) return Written::negative;
  if (value > kHuge / factor) return Written::too_large;
  value *= factor;
  return Written::number;
}

std::string why_no_number(Written written, const YamlNode& value) {
  switch (written) {
    case Written::ambiguous: {
      const std::size_t first = std::min(value.scalar.find_first_not_of("-0_"), value.scalar.size() - 1);
      return fmt::format("is ambiguous, octal to some and decimal to others; write {}", value.scalar.substr(first));
    }
    case Written::grouped_by_commas:
      return "has commas; group digits with '_', as in 3_000_000";
    case Written::unknown_suffix:
      return "has an unknown suffix; known are k, M, G (powers of 1000) and Ki, Mi, Gi (of 1024)";
    default:
      break;
  }
  return value.quoted ? "is text, because it is in quotes" : "is not a whole number in decimal digits";
}

using Names = std::span<const char* const>;

std::string joined(Names names, const char* between) { return fmt::format("{}", fmt::join(names, between)); }

/// Writes what a walk passes as YAML flow text.
class DumpWalker final : public Options {
 public:
  std::string text() const { return text_.empty() ? "{}" : "{ " + text_ + " }"; }
  bool ok() const override { return true; }

 protected:
  void on_number(const char* name, std::uint64_t& value, std::uint64_t, std::uint64_t, const char*) override {
    add(name, std::to_string(value));
  }
  void on_real(const char* name, double& value, double, double, const char*) override {
    add(name, fmt::format("{}", value));
  }
  void on_flag(const char* name, bool& value, const char*) override { add(name, value ? "true" : "false"); }
  void on_choice(const char* name, std::uint32_t& index, Names names, const char*) override {
    if (index < names.size()) add(name, to_yaml(names[index]));
  }
  void on_entries(const char* name, Entries& value, const char*) override {
    DumpWalker all;
    for (std::size_t i = 0; i < value.size(); ++i) {
      DumpWalker one;
      value.visit(i, one);
      all.add(value.key(i), one.text());
    }
    add(name, all.text());
  }

 private:
  void add(const char* name, const std::string& value) {
    text_ += fmt::format("{}{}: {}", text_.empty() ? "" : ", ", to_yaml(name), value);
  }
  std::string text_;
};

class HelpWalker final : public Options {
 public:
  HelpWalker(std::string prefix, std::vector<OptionHelp>& found) : prefix_(std::move(prefix)), found_(found) {}
  bool ok() const override { return true; }

 protected:
  void on_number(const char* name, std::uint64_t& value, std::uint64_t min, std::uint64_t max,
                 const char* help) override {
    add(name, range_of(min, max), std::to_string(value), help);
  }
  void on_real(const char* name, double& value, double min, double max, const char* help) override {
    add(name, fmt::format("{}..{}", min, max), fmt::format("{}", value), help);
  }
  void on_flag(const char* name, bool& value, const char* help) override {
    add(name, "true or false", value ? "true" : "false", help);
  }
  void on_choice(const char* name, std::uint32_t& index, Names names, const char* help) override {
    add(name, joined(names, " or "), index < names.size() ? names[index] : "none", help);
  }
  void on_entries(const char* name, Entries& value, const char* help) override {
    DumpWalker dump;
    dump.entries(name, value, help);
    const std::string all = dump.text();  // { name: ... }
    const std::size_t begin = all.find(": ") + 2;
    add(name, "a map with names of your choice", all.substr(begin, all.size() - begin - 2), help);
    // What an entry looks like can only be asked of one that is there.
    if (value.size() == 0 && value.add("name") != nullptr) return;
    if (value.size() == 0) return;
    HelpWalker inner(prefix_ + name + ".<name>.", found_);
    value.visit(0, inner);
  }

 private:
  void add(const char* name, std::string range, std::string value, const char* help) {
    found_.push_back({prefix_ + name, std::move(range), std::move(value), help});
  }
  std::string prefix_;
  std::vector<OptionHelp>& found_;
};

/// Shows each option to a reader first and then, with the value it has now, to somebody else.
class ThenWalker final : public Options {
 public:
  ThenWalker(Options& first, Options& then) : first_(first), then_(then) {}
  bool ok() const override { return first_.ok() && then_.ok(); }

 protected:
  void on_number(const char* name, std::uint64_t& value, std::uint64_t min, std::uint64_t max,
                 const char* help) override {
    first_.number(name, value, min, max, help);
    then_.number(name, value, min, max, help);
  }
  void on_real(const char* name, double& value, double min, double max, const char* help) override {
    first_.real(name, value, min, max, help);
    then_.real(name, value, min, max, help);
  }
  void on_flag(const char* name, bool& value, const char* help) override {
    first_.flag(name, value, help);
    then_.flag(name, value, help);
  }
  void on_choice(const char* name, std::uint32_t& index, Names names, const char* help) override {
    first_.choice(name, index, names, help);
    then_.choice(name, index, names, help);
  }
  void on_entries(const char* name, Entries& value, const char* help) override {
    first_.entries(name, value, help);
    then_.entries(name, value, help);
  }

 private:
  Options& first_;
  Options& then_;
};

}  // namespace

std::optional<std::uint64_t> read_number(const YamlNode& value, std::string_view name, std::uint64_t min,
                                         std::uint64_t max, std::string_view help, Complaints& complaints) {
  const auto complain = [&](const std::string& what) {
    complaints.push_back(
        fmt::format("{}: {} = {} {}{}", value.mark.text(), name, shown(value), what, in_brackets(help)));
    return std::nullopt;
  };
  std::uint64_t number = 0;
  const bool may_be = value.kind == Kind::scalar && !value.quoted;
  const Written written = may_be ? read_decimal(value.scalar, number) : Written::no_number;
  const bool outside = written == Written::number && (number < min || number > max);
  if (outside || written == Written::too_large || written == Written::negative)
    return complain("is outside " + range_of(min, max));
  if (written != Written::number)
    return complain(fmt::format("{}; expected {}", why_no_number(written, value), range_of(min, max)));
  return number;
}

YamlOptions::YamlOptions(const YamlNode& node, std::string owner, Complaints& complaints)
    : node_(node), owner_(std::move(owner)), complaints_(complaints), complaints_before_(complaints.size()) {
  if (node_.kind != Kind::sequence) return;
  complain(node_, fmt::format("{} has a list; expected its options as a map, {{ name: value }}", owner_));
  came_from(0);
}

YamlOptions::~YamlOptions() = default;

bool YamlOptions::ok() const { return complaints_.size() == complaints_before_; }

void YamlOptions::complain(const YamlNode& about, const std::string& sentence) {
  complaints_.push_back(about.mark.text() + ": " + sentence);
}

void YamlOptions::came_from(std::size_t entry) {
  origin_.resize(std::max(origin_.size(), complaints_.size() - complaints_before_), entry);
}

const YamlNode* YamlOptions::take(const char* name) {
  const bool first = known_.empty();
  known_.emplace_back(name);
  taken_ = 0;
  if (node_.kind == Kind::scalar) return first ? &node_ : nullptr;
  for (; taken_ < node_.entries.size(); ++taken_)
    if (node_.entries[taken_].first.scalar == name) return &node_.entries[taken_].second;
  return nullptr;
}

void YamlOptions::on_number(const char* name, std::uint64_t& value, std::uint64_t min, std::uint64_t max,
                            const char* help) {
  const YamlNode* given = take(name);
  if (given == nullptr) return;
  value = read_number(*given, called(name), min, max, help, complaints_).value_or(value);
  came_from(taken_);
}

void YamlOptions::on_real(const char* name, double& value, double min, double max, const char* help) {
  const YamlNode* given = take(name);
  if (given == nullptr) return;
  const std::string& text = given->scalar;
  double number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = given->kind == Kind::scalar && !given->quoted && failed != std::errc::invalid_argument &&
                         end == text.data() + text.size() && text.find_first_of("nN") == std::string::npos;
  if (!is_number) {
    complain(*given, fmt::format("{} = {} is not a number; expected {}..{}{}", called(name), shown(*given), min, max,
                                 in_brackets(help)));
  } else if (failed != std::errc{} || !(number >= min && number <= max)) {
    complain(*given, fmt::format("{} = {} is outside {}..{}{}", called(name), text, min, max, in_brackets(help)));
  } else {
    value = number;
  }
  came_from(taken_);
}

void YamlOptions::on_flag(const char* name, bool& value, const char* help) {
  const YamlNode* given = take(name);
  if (given == nullptr) return;
  const bool plain = given->kind == Kind::scalar && !given->quoted;
  if (plain && (given->scalar == "true" || given->scalar == "false")) {
    value = given->scalar == "true";
  } else {
    complain(*given,
             fmt::format("{} = {} is neither true nor false{}", called(name), shown(*given), in_brackets(help)));
  }
  came_from(taken_);
}

void YamlOptions::on_choice(const char* name, std::uint32_t& index, Names names, const char* help) {
  const YamlNode* given = take(name);
  if (given == nullptr) return;
  const auto found = std::find(names.begin(), names.end(), std::string_view(given->scalar));
  if (given->kind == Kind::scalar && found != names.end()) {
    index = static_cast<std::uint32_t>(found - names.begin());
  } else {
    const std::vector<std::string> known(names.begin(), names.end());
    const std::string hint = given->kind == Kind::scalar ? did_you_mean(given->scalar, known)
                                                         : fmt::format("; expected {}", joined(names, " or "));
    complain(*given, fmt::format("{} = {} is no choice{}{}", called(name), shown(*given), in_brackets(help), hint));
  }
  came_from(taken_);
}

void YamlOptions::on_entries(const char* name, Entries& value, const char* help) {
  const YamlNode* given = take(name);
  if (given == nullptr) return;
  if (given->kind != Kind::map) {
    complain(*given, fmt::format("{} = {} is not a map; expected {{ name: ... }}{}", called(name), shown(*given),
                                 in_brackets(help)));
  } else {
    for (const auto& [key, options] : given->entries) {
      std::size_t i = 0;
      while (i < value.size() && key.scalar != value.key(i)) ++i;
      if (i == value.size()) {
        if (const char* why = value.add(key.scalar.c_str())) {
          complain(key, fmt::format("{} cannot have {}: {}", called(name), in_quotes(key.scalar), why));
          continue;
        }
      }
      if (i >= value.size()) continue;
      YamlOptions inner(options, called(name) + "." + key.scalar, complaints_);
      value.visit(i, inner);
      inner.finish();
    }
  }
  came_from(taken_);
}

void YamlOptions::finish() {
  const std::string none = fmt::format("{} takes no options", owner_);
  if (node_.kind == Kind::scalar && known_.empty()) {
    complain(node_, fmt::format("{}, and has {}", none, shown(node_)));
    came_from(0);
  }
  for (std::size_t i = 0; i < node_.entries.size(); ++i) {
    const YamlNode& key = node_.entries[i].first;
    if (std::find(known_.begin(), known_.end(), key.scalar) != known_.end()) continue;
    if (known_.empty()) complain(key, fmt::format("{}, and has {}", none, in_quotes(key.scalar)));
    else
      complain(key,
               fmt::format("{} has no option {}{}", owner_, in_quotes(key.scalar), did_you_mean(key.scalar, known_)));
    came_from(i);
  }

  std::vector<std::size_t> order(origin_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return std::pair(origin_[a], a) < std::pair(origin_[b], b); });
  Complaints sorted;
  for (const std::size_t i : order) sorted.push_back(std::move(complaints_[complaints_before_ + i]));
  std::move(sorted.begin(), sorted.end(), complaints_.begin() + static_cast<std::ptrdiff_t>(complaints_before_));
}

std::vector<OptionHelp> help_of(const std::function<void(Options&)>& walk) {
  std::vector<OptionHelp> found;
  HelpWalker walker({}, found);
  walk(walker);
  return found;
}

std::string dump_options(const std::function<void(Options&)>& walk) {
  DumpWalker walker;
  walk(walker);
  return walker.text();
}

std::string dump_options(const std::function<void(Options&)>& walk, const YamlNode& node) {
  Complaints complaints;
  YamlOptions reader(node, {}, complaints);
  DumpWalker dump;
  ThenWalker both(reader, dump);
  walk(both);
  return dump.text();
}

}  // namespace canopy
