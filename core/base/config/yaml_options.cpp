#include <canopy/base/nearest_name.h>
#include <canopy/base/printable.h>
#include <canopy/base/yaml_options.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <system_error>
#include <utility>

#include "option_words.h"

namespace canopy {

namespace {

using Kind = YamlNode::Kind;

}  // namespace

void complain(const Mark& mark, std::string_view sentence, Complaints& complaints) {
  complaints.push_back(mark.text() + ": " + printable_lines(sentence));
}

std::optional<bool> read_flag(const YamlNode& value, std::string_view name, std::string_view help,
                              Complaints& complaints) {
  const bool plain = value.kind == YamlNode::Kind::scalar && !value.quoted;
  if (plain && (value.scalar == "true" || value.scalar == "false")) return value.scalar == "true";
  complain(value.mark, fmt::format("{} = {} is neither true nor false{}", name, shown(value), in_brackets(help)),
           complaints);
  return std::nullopt;
}

YamlOptions::YamlOptions(const YamlNode& node, std::string owner, Complaints& complaints, const Components* components)
    : node_(node),
      owner_(std::move(owner)),
      complaints_(complaints),
      components_(components),
      complaints_before_(complaints.size()) {
  if (node_.kind != Kind::sequence) return;
  complain(node_.mark, fmt::format("{} has a list; expected its options as a map, {{ name: value }}", owner_));
  complained_of(0);
}

YamlOptions::~YamlOptions() = default;

bool YamlOptions::ok() const { return complaints_.size() == complaints_before_; }

void YamlOptions::complain(const Mark& mark, const std::string& sentence) {
  canopy::complain(mark, sentence, complaints_);
}

void YamlOptions::complained_of(std::size_t entry) {
  origin_.resize(std::max(origin_.size(), complaints_.size() - complaints_before_), entry);
}

const YamlNode* YamlOptions::take(const char* name) {
  const bool first = known_.empty();
  if (std::ranges::find(known_, name) == known_.end()) known_.emplace_back(name);
  taken_ = 0;
  if (node_.kind == Kind::scalar) return first ? &node_ : nullptr;
  for (; taken_ < node_.entries.size(); ++taken_)
    if (node_.entries[taken_].first.scalar == name) return &node_.entries[taken_].second;
  return nullptr;
}

void YamlOptions::on_number(const char* name, std::uint64_t& value, const NumberRange& range, const char* help) {
  const YamlNode* given = take(name);
  if (given == nullptr) return;
  if (range.is_written && given->kind == Kind::scalar && given->scalar == range.word) {
    value = range.special;
  } else {
    value = read_number(*given, called(name), range.min, range.max, help, complaints_, range.unit).value_or(value);
    if (range.is_written && value == range.special) --value;  // only the word stands for the special value
  }
  done();
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
    complain(given->mark, fmt::format("{} = {} is not a number; expected {}..{}{}", called(name), shown(*given), min,
                                      max, in_brackets(help)));
  } else if (failed != std::errc{} || !(number >= min && number <= max)) {
    complain(given->mark, fmt::format("{} = {} is outside {}..{}{}", called(name), text, min, max, in_brackets(help)));
  } else {
    value = number;
  }
  done();
}

void YamlOptions::on_flag(const char* name, bool& value, const char* help) {
  const YamlNode* given = take(name);
  if (given == nullptr) return;
  value = read_flag(*given, called(name), help, complaints_).value_or(value);
  done();
}

bool YamlOptions::choose(const YamlNode& word, const char* name, std::uint32_t& index,
                         std::span<const char* const> names, const char* help) {
  const auto found = std::ranges::find(names, std::string_view(word.scalar));
  if (word.kind == Kind::scalar && found != names.end()) {
    index = static_cast<std::uint32_t>(found - names.begin());
    return true;
  }
  const std::vector<std::string> known(names.begin(), names.end());
  const std::string hint = word.kind == Kind::scalar ? did_you_mean(word.scalar, known)
                                                     : fmt::format("; expected {}", fmt::join(names, " or "));
  complain(word.mark, fmt::format("{} = {} is not a choice{}{}", called(name), shown(word), in_brackets(help), hint));
  return false;
}

void YamlOptions::on_choice(const char* name, std::uint32_t& index, std::span<const char* const> names,
                            const char* help) {
  if (const YamlNode* given = take(name)) choose(*given, name, index, names, help), done();
}

void YamlOptions::on_entries(const char* name, Entries& value, const char* help) {
  const YamlNode* given = take(name);
  if (given == nullptr) return;
  if (given->kind != Kind::map) {
    complain(given->mark, fmt::format("{} = {} is not a map; expected {{ name: ... }}{}", called(name), shown(*given),
                                      in_brackets(help)));
  } else {
    for (const auto& [key, options] : given->entries) {
      std::size_t i = 0;
      while (i < value.size() && key.scalar != value.key(i)) ++i;
      if (i == value.size()) {
        if (const char* why = value.add(key.scalar.c_str())) {
          complain(key.mark, fmt::format("{} cannot have {}: {}", called(name), in_quotes(key.scalar), why));
          continue;
        }
      }
      if (i >= value.size()) continue;
      inside(options, called(name) + "." + key.scalar, [&](Options& inner) { value.visit(i, inner); });
    }
  }
  done();
}

void YamlOptions::on_text(const char* name, const char*, std::size_t longest, const char* help, TextTarget target) {
  const YamlNode* given = take(name);
  if (given == nullptr) return;
  const std::string& text = given->scalar;
  const auto is_control = [](unsigned char c) { return c < ' ' || c == 0x7F; };
  if (given->kind != Kind::scalar) {
    complain(given->mark, fmt::format("{} = {} is not a text{}", called(name), shown(*given), in_brackets(help)));
  } else if (longest > 0 && text.size() > longest) {
    complain(given->mark, fmt::format("{} has {} bytes; expected at most {}{}", called(name), text.size(), longest,
                                      in_brackets(help)));
  } else if (std::ranges::any_of(text, is_control)) {
    complain(given->mark,
             fmt::format("{} = {} has control characters{}", called(name), shown(*given), in_brackets(help)));
  } else {
    target.put(target.to, text.c_str());
  }
  done();
}

void YamlOptions::finish() {
  const std::string none = fmt::format("{} takes no options", owner_);
  if (node_.kind == Kind::scalar && known_.empty()) {
    complain(node_.mark, fmt::format("{}, but has {}", none, shown(node_)));
    complained_of(0);
  }
  for (std::size_t i = 0; i < node_.entries.size(); ++i) {
    const YamlNode& key = node_.entries[i].first;
    if (std::find(known_.begin(), known_.end(), key.scalar) != known_.end()) continue;
    complain(key.mark, known_.empty() ? fmt::format("{}, but has {}", none, in_quotes(key.scalar))
                                      : fmt::format("{} has no option {}{}", owner_, in_quotes(key.scalar),
                                                    did_you_mean(key.scalar, known_)));
    complained_of(i);
  }

  std::vector<std::size_t> order(origin_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return std::pair(origin_[a], a) < std::pair(origin_[b], b); });
  Complaints sorted;
  for (const std::size_t i : order) sorted.push_back(std::move(complaints_[complaints_before_ + i]));
  std::move(sorted.begin(), sorted.end(), complaints_.begin() + static_cast<std::ptrdiff_t>(complaints_before_));
}

}  // namespace canopy
