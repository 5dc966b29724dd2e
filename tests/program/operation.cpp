#include "operation.h"

#include <canopy/base/nearest_name.h>
#include <canopy/base/printable.h>

#include <iterator>
#include <span>
#include <variant>

#include "line_words.h"

namespace canopy::program {
namespace {

using test::add_numbers, test::disagree, test::is_number, test::split;

constexpr std::uint64_t kMost32 = ~std::uint32_t{0} - 1, kMost64 = ~std::uint64_t{0} >> 2;
/// Most tokens that a number may stand for.
constexpr std::uint64_t kMostTokens = 1'000'000;

/// A setting of operations: `name=value`, or a bare name if it is a bool.
struct Setting {
  std::string_view name;
  std::variant<std::string Operation::*, bool Operation::*, NamespaceId Operation::*,
               std::optional<TenantId> Operation::*, std::optional<std::uint32_t> Operation::*,
               std::int32_t Operation::*, std::uint32_t Operation::*, std::uint64_t Operation::*>
      field;
  std::uint64_t most = kMostTokens;
};
constexpr Setting kSettings[] = {
    {"as", &Operation::as},
    {"below", &Operation::name},
    {"to", &Operation::to},
    {"in", &Operation::space, kMost32},
    {"of", &Operation::of, kMost32},
    {"most", &Operation::most, kMost32},
    {"priority", &Operation::priority, 1000},
    {"chunked", &Operation::chunked},
    {"finished", &Operation::finished},
    {"commits", &Operation::commits},
    {"leave", &Operation::leave},
    {"output", &Operation::output},
    {"chunk", &Operation::chunk},
    {"soon", &Operation::soon},
    {"keep", &Operation::keep},
    {"us", &Operation::us, kMost64},
    {"pins", &Operation::pins},
    {"ceiling", &Operation::ceiling},
    {"times", &Operation::times, 1000},
};

constexpr unsigned kIndex = static_cast<unsigned>(Runner::index), kRequests = static_cast<unsigned>(Runner::requests),
                   kEngine = static_cast<unsigned>(Runner::engine), kBoth = kRequests | kEngine;

/// The words of a line after its verb.
struct Shape {
  std::string_view name;
  unsigned runners;
  const char* words;  ///< n name, g group (may be left out), c number (C: may be left out), w words (W: at least one)
  const char* settings;              ///< allowed settings, separated by blanks; "in:ie": only of runners i, r, e
  std::uint64_t most = kMostTokens;  ///< largest number
};
/// In the order of Verb.
constexpr Shape kShapes[] = {
    {"match", kIndex, "w", "as in priority"},
    {"insert", kIndex, "w", "as below in priority chunked from"},
    {"release", kIndex, "n", "finished"},
    {"relax", kIndex, "ngC", "", kMost32},
    {"find", kIndex, "w", "as in"},
    {"hold", kIndex, "n", "as"},
    {"keep", kIndex, "n", ""},
    {"unkeep", kIndex, "n", ""},
    {"own", kIndex, "gC", "as", kMost32},
    {"drop", kIndex, "n", ""},
    {"evict", kIndex, "gC", "of most", kMost32},
    {"remap", kIndex, "gC", "", kMost32},
    {"clear", kIndex, "", ""},
    {"assign", kIndex, "", "in of"},
    {"peek", kIndex | kRequests, "w", "in:i"},
    {"state", kIndex | kRequests, "", ""},
    {"tree", kIndex | kRequests, "", ""},
    {"flush", kIndex | kBoth, "", "in:ie"},
    {"policy", kIndex | kEngine, "g", "of:i to"},
    {"begin", kBoth, "nW", "in:e priority leave keep:e us:e"},
    {"serve", kBoth, "W", "in:e priority:r leave:r output chunk commits:e"},
    {"admits", kRequests, "W", "priority leave output chunk"},
    {"reserve", kBoth, "nC", "soon"},
    {"append", kBoth, "nW", ""},
    {"advance", kBoth, "nC", ""},
    {"commit", kBoth, "nC", ""},
    {"rematch", kEngine, "n", ""},
    {"finish", kBoth, "nC", ""},
    {"abort", kBoth, "n", ""},
    {"retract", kBoth, "n", ""},
    {"resume", kBoth, "n", ""},
    {"row", kRequests, "n", ""},
    {"room", kBoth, "gc", "", kMost32},
    {"resize", kEngine, "gc", "", kMost32},
    {"pin", kEngine, "c", "", kMost32},
    {"unpin", kEngine, "c", "", kMost32},
    {"poll", kEngine, "", ""},
    {"fetch", kEngine, "nW", "in leave"},
    {"turn", kEngine, "c", ""},
    {"bring", kEngine, "W", "in"},
    {"share", kEngine, "nc", "pins ceiling"},
    {"flush_unknown", kEngine, "", ""},
    {"reopen", kEngine, "n", ""},
    {"fork", kEngine, "", ""},
    {"refuse_pages", kEngine, "gc", ""},
    {"refuse_memory", kEngine, "gc", ""},
    {"refuse_insert", kEngine, "c", ""},
    {"refuse_remap", kEngine, "c", ""},
    {"refuse_new", kEngine, "c", "times"},
    {"lie", kEngine, "ngc", ""},
};
static_assert(std::size(kShapes) == kVerbs);

constexpr std::string_view kUnlimitedWord = "unlimited";

const Shape& shape_of(Verb verb) { return kShapes[static_cast<std::size_t>(verb)]; }

/// Returns the names of the settings that a line may have; of a runner, or of any.
std::vector<std::string_view> settings_of(const Shape& shape, std::optional<Runner> runner = {}) {
  std::vector<std::string_view> names;
  for (const std::string_view word : split(shape.settings)) {
    const std::size_t end = std::min(word.find(':'), word.size());
    const char letter = runner == Runner::index ? 'i' : runner == Runner::requests ? 'r' : 'e';
    if (!runner || end == word.size() || word.find(letter, end) != word.npos) names.push_back(word.substr(0, end));
  }
  return names;
}

bool allows(const Shape& shape, std::string_view name, std::optional<Runner> runner = {}) {
  return std::ranges::count(settings_of(shape, runner), name) > 0;
}

const Setting* setting_of(const Shape& shape, std::string_view name, Runner runner) {
  const auto* const found = std::ranges::find(kSettings, name, &Setting::name);
  return found != std::end(kSettings) && allows(shape, name, runner) ? found : nullptr;
}

std::string nearest(std::string_view typed, const std::vector<std::string_view>& known) {
  return did_you_mean(typed, std::vector<std::string>(known.begin(), known.end()));
}

Verb verb_of(std::string_view word, Runner runner) {
  std::vector<std::string_view> known;
  for (std::size_t v = 0; v < kVerbs; ++v) {
    if ((kShapes[v].runners & static_cast<unsigned>(runner)) == 0) continue;
    if (word == kShapes[v].name) return static_cast<Verb>(v);
    known.push_back(kShapes[v].name);
  }
  disagree("{} is not an operation{}", in_quotes(word), nearest(word, known));
}

template <class Number>
Number number_of(std::string_view text, std::uint64_t most, std::string_view what) {
  const auto most_signed = static_cast<std::int64_t>(most);
  std::int64_t value = 0;
  if (!is_number(text, value) || value > most_signed || value < (std::is_signed_v<Number> ? -most_signed : 0))
    disagree("{} is {}; expected a whole number from {} to {}", what, in_quotes(text),
             std::is_signed_v<Number> ? -most_signed : 0, most);
  return static_cast<Number>(value);
}

template <class Field>
struct Inside {
  using type = Field;
};
template <class Field>
struct Inside<std::optional<Field>> {
  using type = Field;
};

void set(Operation& operation, const Setting& setting, std::string_view value) {
  std::visit(
      [&](auto member) {
        auto& field = operation.*member;
        using Field = std::remove_reference_t<decltype(field)>;
        if constexpr (std::is_same_v<Field, std::string>) field = value;
        else if constexpr (std::is_same_v<Field, bool>) field = true;
        else field = number_of<typename Inside<Field>::type>(value, setting.most, setting.name);
      },
      setting.field);
}

/// Returns a setting as text, with a blank before it; nothing if it has its default.
std::string text_of(const Operation& operation, const Setting& setting) {
  return std::visit(
      [&](auto member) -> std::string {
        const auto& field = operation.*member;
        using Field = std::remove_cvref_t<decltype(field)>;
        if (field == Field{}) return {};
        if constexpr (std::is_same_v<Field, std::string>) return fmt::format(" {}={}", setting.name, field);
        else if constexpr (std::is_same_v<Field, bool>) return fmt::format(" {}", setting.name);
        else if constexpr (requires { *field; })
          return fmt::format(" {}={}", setting.name, static_cast<std::uint64_t>(*field));
        else return fmt::format(" {}={}", setting.name, static_cast<std::int64_t>(field));
      },
      setting.field);
}

/// Takes a word that is no setting. `what`: what the line may have here; moved on.
void take_word(Operation& operation, const char*& what, std::string_view word) {
  const Shape& shape = shape_of(operation.verb);
  std::uint64_t number = 0;
  if (*what == 'g') {
    ++what;
    if (!is_number(word, number) && (word != kUnlimitedWord || operation.verb != Verb::resize)) {
      operation.group = word;
      return;
    }
  }
  switch (*what) {
    case 'n':
      ++what;
      operation.name = word;
      return;
    case 'c':
    case 'C':
      ++what;
      operation.count = operation.verb == Verb::resize && word == kUnlimitedWord
                            ? kUnlimited
                            : number_of<std::uint64_t>(word, shape.most, "the number after it");
      return;
    case 'w':
    case 'W':
      return add_numbers(word, operation.words);
    default:
      disagree("'{}' has an unexpected word {}", shape.name, in_quotes(word));
  }
}

}  // namespace

bool takes_group(Verb verb) { return std::string_view(shape_of(verb).words).find('g') != std::string_view::npos; }

std::size_t least_words(Verb verb) {
  return std::string_view(shape_of(verb).words).find('W') != std::string_view::npos;
}

std::string text_of(const Operation& operation) {
  const Shape& shape = shape_of(operation.verb);
  std::string text(shape.name);
  for (const char* what = shape.words; *what; ++what) {
    if (*what == 'n') text += ' ' + operation.name;
    if (*what == 'g' && !operation.group.empty()) text += ' ' + operation.group;
    if ((*what == 'c' || *what == 'C') && operation.count)
      text += *operation.count == kUnlimited ? " unlimited" : fmt::format(" {}", *operation.count);
  }
  for (const Setting& setting : kSettings)
    if (allows(shape, setting.name)) text += text_of(operation, setting);
  for (const auto& [group, depth] : operation.from) text += fmt::format(" {}.from={}", group, depth);
  for (const std::uint32_t word : operation.words) text += fmt::format(" {}", word);
  return text;
}

Operation operation_of(std::string_view line, Runner runner) {
  const auto words = split(line);
  if (words.empty()) disagree("the line has no operation; expected one such as 'begin 1 0 1 2'");
  Operation operation;
  operation.verb = verb_of(words[0], runner);
  const Shape& shape = shape_of(operation.verb);
  const char* what = shape.words;
  for (const std::string_view word : std::span(words).subspan(1)) {
    const auto [key, value] = test::setting(word);
    const auto [group, of_it] = test::of_group(key);
    const Setting* const found = setting_of(shape, key.empty() ? word : key, runner);
    const bool bare = found && std::holds_alternative<bool Operation::*>(found->field);
    if (found && bare == key.empty()) set(operation, *found, value);
    else if (key.empty()) take_word(operation, what, word);
    else if (of_it == "from" && allows(shape, of_it, runner))
      operation.from[std::string(group)] = test::number<std::uint32_t>(value);
    else disagree("'{}' has no setting {}{}", shape.name, in_quotes(key), nearest(key, settings_of(shape, runner)));
  }
  if (*what == 'n') disagree("'{}' needs a name", shape.name);
  if (*what == 'g') ++what;
  if (*what == 'c') disagree("'{}' needs a number", shape.name);
  if (*what == 'W' && operation.words.empty()) disagree("'{}' needs tokens", shape.name);
  const bool of_tenant = operation.most || (runner == Runner::index && !operation.to.empty());
  if (of_tenant && !operation.of) disagree("'{}' has 'most' or 'to' of a tenant only; expected 'of'", shape.name);
  return operation;
}

std::vector<Operation> smaller(const Operation& operation) {
  std::vector<Operation> all;
  for (const Setting& setting : kSettings) {
    if (!allows(shape_of(operation.verb), setting.name)) continue;
    Operation without = operation;
    std::visit([&](auto member) { without.*member = {}; }, setting.field);
    if (text_of(without) != text_of(operation)) all.push_back(std::move(without));
  }
  if (operation.number() > 0 && operation.number() != kUnlimited) {
    all.push_back(operation);
    *all.back().count /= 2;
  }
  return all;
}

}  // namespace canopy::program
