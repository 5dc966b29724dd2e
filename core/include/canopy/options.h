#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace canopy {

class Options;

/// The unit of a number. In a file it follows the number: `50ms`, `12GB/s`, `64KiB`. Only 0 and a number of bytes need
/// no unit.
enum class Unit : std::uint32_t { none, bytes, bytes_per_s, s, ms, us, ns, ps };

/// The values that a number may have.
struct NumberRange {
  std::uint64_t min = 0, max = std::numeric_limits<std::uint64_t>::max();
  Unit unit = Unit::none;
  const char* word = nullptr;  ///< Word for the value `special`. May be null (no value is special).
  std::uint64_t special = 0;
  bool is_written = false;  ///< True if a file may contain the word; else it only describes the value without the key.
};

/// An option whose value is a map from names that the user chooses to options of one shape.
class Entries {
 public:
  virtual std::size_t size() const = 0;
  virtual const char* key(std::size_t i) const = 0;
  /// Adds an entry, whose number is then size() - 1. Returns null, or an error message if there can be no such entry.
  virtual const char* add(const char* key) = 0;
  virtual void visit(std::size_t i, Options& options) = 0;

 protected:
  ~Entries() = default;
};

/// An option whose value is a component with its options: `lru`, or `{ slru: { protect_after: 3 } }`.
class Component {
 public:
  virtual const char* interface() const = 0;
  virtual const char* name() const = 0;
  virtual const char* options() const = 0;  ///< YAML flow text; empty: the defaults
  /// Sets name and options. `where`: source of the name for messages, "engine.yaml:5:12".
  virtual void set(const char* name, const char* options, const char* where) = 0;

 protected:
  ~Component() = default;
};

/// Options inside an option, and the function that visits them.
struct Part {
  void* what;
  void (*visit)(void* what, Options& options);
  void operator()(Options& options) const { visit(what, options); }
};

/// Walks over the options of a component, or of a part of an engine. A function `visit` names each option once, with
/// its range and a line of help. The code that parses a file, prints help or dumps a configuration is a walker.
///
///   struct Config {
///     std::uint64_t protect_after = 2;
///     void visit(canopy::Options& o) { o.number("protect_after", protect_after, 1, 64, "hits that protect a prefix");
///     }
///   };
///
/// Before a walk a value is the default; after a walk that parses, it is the user's value. If a file has a scalar in
/// place of the map of a component or an entry, the scalar is the value of the first option.
///
/// Thread: the visitor's.
/// Errors: in ok().
/// Exceptions: none may escape.
/// Memory: a string never crosses the boundary of a plugin.
class Options {
 public:
  template <std::unsigned_integral T>
  void number(const char* name, T& value, std::uint64_t min, std::uint64_t max, const char* help,
              Unit unit = Unit::none) {
    number_in(name, value, {min, max, unit}, help);
  }
  /// Visits a number. In a file, `word` stands for the value `special`.
  template <std::unsigned_integral T>
  void number_or_word(const char* name, T& value, const char* word, T special, std::uint64_t min, std::uint64_t max,
                      const char* help) {
    number_in(name, value, {min, max, Unit::none, word, special, true}, help);
  }
  /// Visits a number whose value `not_given` means that the key is missing. `otherwise` describes the effect of that.
  template <std::unsigned_integral T>
  void optional(const char* name, T& value, T not_given, const char* otherwise, std::uint64_t min, std::uint64_t max,
                const char* help) {
    number_in(name, value, {min, max, Unit::none, otherwise, not_given}, help);
  }
  void real(const char* name, double& value, double min, double max, const char* help) {
    on_real(name, value, min, max, help);
  }
  void flag(const char* name, bool& value, const char* help) { on_flag(name, value, help); }
  /// Visits an enumerator; `names[i]` is the name of value i.
  template <class Enum>
  void choice(const char* name, Enum& value, std::span<const char* const> names, const char* help) {
    auto index = static_cast<std::uint32_t>(value);
    on_choice(name, index, names, help);
    value = static_cast<Enum>(index);
  }
  /// Visits a choice whose names have options: `off`, or `{ shm: { name: serve-3 } }`. `visit` is called with the
  /// choice in `value`. A dump omits the first choice unless `always` is set.
  template <class Enum, class Visit>
  void variant(const char* name, Enum& value, std::span<const char* const> names, bool always, const char* help,
               Visit&& visit) {
    auto index = static_cast<std::uint32_t>(value);
    auto chosen = [&](Options& o) {
      value = static_cast<Enum>(index);
      visit(o);
    };
    on_variant(name, index, names, always, help, part(chosen));
    value = static_cast<Enum>(index);
  }
  void entries(const char* name, Entries& value, const char* help) { on_entries(name, value, help); }
  /// Visits a map of options. A dump omits it unless it is `given`. `help` may be null (a list of options then has no
  /// line for the map itself).
  template <class Visit>
  void section(const char* name, bool given, const char* help, Visit&& visit) {
    on_section(name, given, help, part(visit));
  }
  /// Visits a component. `otherwise`: text for its absence, in which case a file may have `none`. May be null (the
  /// component is required).
  void component(const char* name, Component& value, const char* help, const char* otherwise = nullptr) {
    on_component(name, value, help, otherwise);
  }
  /// Visits a text of at most `longest` bytes without control characters: a name, or a path.
  void text(const char* name, std::string& value, std::size_t longest, const char* help) {
    on_text(name, value.c_str(), longest, help, target(value));
  }
  /// Visits a text of any length that need not be given. A dump omits it if it is empty.
  void optional(const char* name, std::string& value, const char* help) {
    on_text(name, value.c_str(), 0, help, target(value));
  }

  /// Requires the option `name`, which is visited next. `expected` is a part of the error message.
  void required(const char* name, const char* expected) { on_required(name, expected); }
  /// Reports a conflict between visited options: "start = 9 is more than ...", which begins with an option's name.
  /// Empty: no conflict.
  void rule(const std::string& flaw) { on_rule(flaw.c_str()); }

  /// Returns false once a value of the user is not valid. The walker has reported it with its place.
  virtual bool ok() const = 0;

  /// Receives a text that a walker has read. A std::string does not cross the boundary of a plugin.
  struct TextTarget {
    void* to;
    void (*put)(void* to, const char* given);
  };
  static TextTarget target(std::string& value) {
    return {&value, [](void* to, const char* given) { *static_cast<std::string*>(to) = given; }};
  }

  // For walkers. Components call the functions above.
  virtual void on_number(const char* name, std::uint64_t& value, const NumberRange& range, const char* help) = 0;
  virtual void on_real(const char* name, double& value, double min, double max, const char* help) = 0;
  virtual void on_flag(const char* name, bool& value, const char* help) = 0;
  virtual void on_choice(const char* name, std::uint32_t& index, std::span<const char* const> names,
                         const char* help) = 0;
  virtual void on_entries(const char* name, Entries& value, const char* help) = 0;
  /// Visits a text. `longest`: bytes; 0: any length, and the text need not be given.
  virtual void on_text(const char* name, const char* value, std::size_t longest, const char* help,
                       TextTarget target) = 0;
  virtual void on_variant(const char* name, std::uint32_t& index, std::span<const char* const> names, bool always,
                          const char* help, const Part& part) = 0;
  virtual void on_section(const char* name, bool given, const char* help, const Part& part) = 0;
  virtual void on_component(const char* name, Component& value, const char* help, const char* otherwise) = 0;
  virtual void on_required(const char*, const char*) {}
  virtual void on_rule(const char*) {}

 protected:
  ~Options() = default;

 private:
  template <class T>
  void number_in(const char* name, T& value, const NumberRange& range, const char* help) {
    std::uint64_t wide = value;
    on_number(name, wide, range, help);
    value = static_cast<T>(wide);
  }
  template <class Visit>
  static Part part(Visit& visit) {
    return {&visit, [](void* what, Options& options) { (*static_cast<Visit*>(what))(options); }};
  }
};

}  // namespace canopy
