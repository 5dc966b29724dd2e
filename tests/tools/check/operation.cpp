#include "operation.h"

#include <canopy/base/nearest_name.h>
#include <canopy/base/yaml_document.h>

#include <conformance/model/line_words.h>

#include "faulty.h"

namespace canopy::check {
namespace {

using test::disagree;

/// The words of a line after its verb.
struct Shape {
  const char* name;
  const char* words;     ///< r request, g group, n name, t tokens, c count (C: optional)
  const char* settings;  ///< allowed settings, separated by blanks
};
constexpr Shape kShapes[kVerbs] = {
    {"begin", "rt", "space priority leave keep us"},
    {"serve", "t", "space output chunk commits"},
    {"reserve", "rc", "soon"},
    {"append", "rt", ""},
    {"advance", "rc", ""},
    {"commit", "rc", ""},
    {"rematch", "r", ""},
    {"finish", "rc", ""},
    {"abort", "r", ""},
    {"retract", "r", ""},
    {"resume", "r", ""},
    {"flush", "c", ""},
    {"policy", "gn", ""},
    {"resize", "gc", ""},
    {"room", "gc", ""},
    {"pin", "c", ""},
    {"unpin", "c", ""},
    {"poll", "", ""},
    {"fetch", "rt", "space leave"},
    {"turn", "c", ""},
    {"bring", "t", "space"},
    {"share", "nc", "pins ceiling"},
    {"flush_unknown", "", ""},
    {"reopen", "n", ""},
    {"fork", "", ""},
    {"refuse_pages", "gc", ""},
    {"refuse_memory", "gc", ""},
    {"refuse_insert", "c", ""},
    {"refuse_remap", "c", ""},
    {"refuse_new", "c", "times"},
    {"lie", "gnc", ""},
};

const Shape& shape_of(Verb verb) { return kShapes[static_cast<std::size_t>(verb)]; }

/// Returns the largest number that may follow a verb.
std::uint64_t most_of(Verb verb) {
  switch (verb) {
    case Verb::resize:
    case Verb::room:
    case Verb::pin:
    case Verb::unpin:
      return ~std::uint32_t{0} - 1;
    default:
      return kMostTokens;
  }
}

std::uint64_t number_of(std::string_view text, std::uint64_t most, const char* what) {
  std::uint64_t value = 0;
  if (!test::is_number(text, value) || value > most)
    disagree("{} is {}; expected a whole number from 0 to {}", what, in_quotes(text), most);
  return value;
}

template <class Names>
std::string nearest(std::string_view typed, const Names& known) {
  return did_you_mean(typed, std::vector<std::string>(known.begin(), known.end()));
}

Verb verb_of(std::string_view word) {
  std::vector<std::string> known;
  for (std::size_t v = 0; v < kVerbs; ++v) {
    if (word == kShapes[v].name) return static_cast<Verb>(v);
    known.emplace_back(kShapes[v].name);
  }
  disagree("{} is not an operation{}", in_quotes(word), nearest(word, known));
}

/// Sets a setting of an operation. Returns false if there is none with this name.
bool set(Operation& operation, std::string_view key, std::string_view value) {
  const auto number = [&](auto& to, std::uint64_t most) {
    to = static_cast<std::remove_reference_t<decltype(to)>>(number_of(value, most, std::string(key).c_str()));
    return true;
  };
  if (key == "space") return number(operation.space, kMostSpaces - 1);
  if (key == "priority") return number(operation.priority, 1000);
  if (key == "leave") return number(operation.leave, kMostTokens);
  if (key == "output") return number(operation.output, kMostTokens);
  if (key == "chunk") return number(operation.chunk, kMostTokens);
  if (key == "soon") return number(operation.soon, kMostTokens);
  if (key == "keep") return number(operation.keep, kMostTokens);
  if (key == "pins") return number(operation.pins, kMostTokens);
  if (key == "ceiling") return number(operation.ceiling, kMostTokens);
  if (key == "times") return number(operation.times, 1000);
  if (key == "us") return number(operation.us, ~std::uint64_t{0} >> 2);
  return false;
}

void take_word(Operation& operation, char what, std::string_view word, std::span<const std::string> groups) {
  switch (what) {
    case 'r':
      operation.request = number_of(word, ~std::uint64_t{0} - 1, "the request");
      return;
    case 'g':
      for (operation.group = 0; operation.group < groups.size(); ++operation.group)
        if (groups[operation.group] == word) return;
      disagree("the engine has no group {}{}", in_quotes(word), nearest(word, groups));
    case 'n':
      operation.name = word;
      if (operation.verb == Verb::lie && !lie_of(operation.name))
        disagree("{} is not a lie{}", in_quotes(word), nearest(word, lie_names()));
      return;
    default:
      operation.count = operation.verb == Verb::resize && word == "unlimited"
                            ? kUnlimited
                            : number_of(word, most_of(operation.verb), "the number after it");
      if (operation.verb == Verb::flush && operation.count >= kMostSpaces)
        disagree("{} is not a namespace; they are numbered from 0 to {}", operation.count, kMostSpaces - 1);
  }
}

}  // namespace

std::string text_of(const Operation& operation, std::span<const std::string> groups) {
  const Shape& shape = shape_of(operation.verb);
  std::string text = shape.name;
  for (const char* what = shape.words; *what; ++what) {
    if (*what == 't')
      for (const Token token : operation.tokens) text += ' ' + std::to_string(token);
    else if (*what == 'r') text += ' ' + std::to_string(operation.request);
    else if (*what == 'g') text += ' ' + groups[operation.group];
    else if (*what == 'n') text += ' ' + operation.name;
    else text += ' ' + (operation.count == kUnlimited ? "unlimited" : std::to_string(operation.count));
  }
  const auto setting = [&](const char* name, std::int64_t value) {
    if (value != 0) text += fmt::format(" {}={}", name, value);
  };
  setting("space", operation.space);
  setting("priority", operation.priority);
  setting("leave", operation.leave);
  setting("output", operation.output);
  setting("chunk", operation.chunk);
  setting("soon", static_cast<std::int64_t>(operation.soon));
  setting("keep", operation.keep);
  setting("pins", static_cast<std::int64_t>(operation.pins));
  setting("ceiling", static_cast<std::int64_t>(operation.ceiling));
  setting("times", static_cast<std::int64_t>(operation.times));
  setting("us", static_cast<std::int64_t>(operation.us));
  if (operation.commits) text += " commits";
  return text;
}

Operation operation_of(std::string_view line, std::span<const std::string> groups) {
  const auto words = test::split(line);
  if (words.empty()) disagree("the line has no operation; expected one such as 'begin 1 0 1 2'");
  Operation operation;
  operation.verb = verb_of(words[0]);
  const Shape& shape = shape_of(operation.verb);
  const auto allowed = test::split(shape.settings);
  const char* what = shape.words;
  for (const std::string_view word : std::span(words).subspan(1)) {
    const auto [key, value] = test::setting(word);
    const std::string_view named = key.empty() ? value : key;
    const bool is_setting = !key.empty() || (word == "commits" && operation.verb == Verb::serve);
    if (is_setting) {
      if (std::ranges::find(allowed, named) == allowed.end())
        disagree("'{}' has no setting {}{}", shape.name, in_quotes(named), nearest(named, allowed));
      if (word == "commits") operation.commits = true;
      else set(operation, key, value);
    } else if (*what == 't') {
      operation.tokens.push_back(static_cast<Token>(number_of(word, ~Token{0}, "a token")));
    } else if (*what == 0) {
      disagree("'{1}' has an unexpected word {0}", in_quotes(word), shape.name);
    } else {
      take_word(operation, *what++, word, groups);
    }
  }
  if (*what == 't' && operation.tokens.empty()) disagree("'{}' needs tokens", shape.name);
  if (*what != 0 && *what != 't')
    disagree("'{}' needs {}", shape.name,
             *what == 'r'   ? "the number of a request"
             : *what == 'g' ? "the name of a group"
             : *what == 'n' ? "a name"
                            : "a number");
  return operation;
}

}  // namespace canopy::check
