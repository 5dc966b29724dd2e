#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace canopy {

class Options;

/// The unit of a number's value. A file writes it with the number: `50ms`, `12GB/s`, `64KiB`; only 0 and a number of
/// bytes may stand without it.
enum class Unit : std::uint32_t { none, bytes, bytes_per_s, s, ms, us, ns, ps };

/// The values that a number may have.
struct NumberRange {
  std::uint64_t min = 0, max = std::numeric_limits<std::uint64_t>::max();
  Unit unit = Unit::none;
  const char* word = nullptr;  ///< Stands for `special`. May be null (no value is special).
  std::uint64_t special = 0;
  bool is_written = false;  ///< The word may stand in a file. Else it explains what holds without the key.
};

/// An option whose value is a map from names of the user's choice to options of one shape.
class Entries {
 public:
  virtual std::size_t size() const = 0;
  virtual const char* key(std::size_t i) const = 0;
  /// Makes room for one more entry, i = size() - 1 afterwards. Returns null, or the reason for which there can be no
  /// such entry.
  virtual const char* add(const char* key) = 0;
  virtual void visit(std::size_t i, Options& options) = 0;

 protected:
  ~Entries() = default;
};

/// An option whose value names a component, and has the options of that: `lru`, or `{ slru: { protect_after: 3 } }`.
class Component {
 public:
  virtual const char* interface() const = 0;
  virtual const char* name() const = 0;
  virtual const char* options() const = 0;  ///< YAML flow text, or empty.
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

/// Walks over the options of a component, or of a part of an engine. Each of them is named once, in `visit`, with the
/// range and a line of help; the code that parses a file, prints help or dumps a configuration is a walker.
///
///   struct Config {
///     std::uint64_t protect_after = 2;
///     void visit(canopy::Options& o) { o.number("protect_after", protect_after, 1, 64, "hits that protect a prefix");
///     }
///   };
///
/// On entry a value holds its default. After a parsing walk it holds the user's value. Where a file gives a scalar in
/// place of a component's or an entry's map, it sets the first option.
///
/// Thread: the visitor's. Errors: ok(). Exceptions: none cross the border. Memory: strings stay on their side of it.
class Options {
 public:
  template <std::unsigned_integral T>
  void number(const char* name, T& value, std::uint64_t min, std::uint64_t max, const char* help,
              Unit unit = Unit::none) {
    number_in(name, value, {min, max, unit}, help);
  }
  /// A number, or `word` for one value.
  template <std::unsigned_integral T>
  void number_or_word(const char* name, T& value, const char* word, T special, std::uint64_t min, std::uint64_t max,
                      const char* help) {
    number_in(name, value, {min, max, Unit::none, word, special, true}, help);
  }
  /// A number of which one value means that it is not given; `otherwise` explains what holds then.
  template <std::unsigned_integral T>
  void optional(const char* name, T& value, T not_given, const char* otherwise, std::uint64_t min, std::uint64_t max,
                const char* help) {
    number_in(name, value, {min, max, Unit::none, otherwise, not_given}, help);
  }
  void real(const char* name, double& value, double min, double max, const char* help) {
    on_real(name, value, min, max, help);
  }
  void flag(const char* name, bool& value, const char* help) { on_flag(name, value, help); }
  /// `names[i]` stands for the enumerator with value i.
  template <class Enum>
  void choice(const char* name, Enum& value, std::span<const char* const> names, const char* help) {
    auto index = static_cast<std::uint32_t>(value);
    on_choice(name, index, names, help);
    value = static_cast<Enum>(index);
  }
  /// A choice whose names have options: `off`, or `{ shm: { name: serve-3 } }`. `visit` sees the chosen one in `value`.
  /// A dump has the first one only if it is `always` there.
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
  /// A map of its own, left out of a dump unless it is `given`. Without help it has no line of its own there.
  template <class Visit>
  void section(const char* name, bool given, const char* help, Visit&& visit) {
    on_section(name, given, help, part(visit));
  }
  /// `otherwise`: what holds without the key; `none` may then be written. May be null (there must be a component).
  void component(const char* name, Component& value, const char* help, const char* otherwise = nullptr) {
    on_component(name, value, help, otherwise);
  }
  /// Text of at most `longest` bytes and no control characters: a name, or a path.
  void text(const char* name, std::string& value, std::size_t longest, const char* help) {
    on_text(name, value.c_str(), longest, help, target(value));
  }
  /// Text that is left out of a dump where it is empty.
  void optional(const char* name, std::string& value, const char* help) {
    on_text(name, value.c_str(), 0, help, target(value));
  }

  /// The option named next must be given; `expected` stands in the error message.
  void required(const char* name, const char* expected) { on_required(name, expected); }
  /// Names a removed option; `instead` says what holds now.
  void gone(const char* name, const char* instead) { on_gone(name, instead); }
  /// Reports a flaw between options that were visited: "start = 9 is more than ...", which begins with the option's
  /// name. An empty text reports nothing.
  void rule(const std::string& flaw) { on_rule(flaw.c_str()); }

  /// Returns false once something the user wrote cannot be used; the walker has reported what and where.
  virtual bool ok() const = 0;

  /// Receives a text that a walker read. A std::string does not cross the border of a plugin.
  struct TextTarget {
    void* to;
    void (*put)(void* to, const char* given);
  };
  static TextTarget target(std::string& value) {
    return {&value, [](void* to, const char* given) { *static_cast<std::string*>(to) = given; }};
  }

  // For walkers. An option is named by the functions above.
  virtual void on_number(const char* name, std::uint64_t& value, const NumberRange& range, const char* help) = 0;
  virtual void on_real(const char* name, double& value, double min, double max, const char* help) = 0;
  virtual void on_flag(const char* name, bool& value, const char* help) = 0;
  virtual void on_choice(const char* name, std::uint32_t& index, std::span<const char* const> names,
                         const char* help) = 0;
  virtual void on_entries(const char* name, Entries& value, const char* help) = 0;
  /// `longest` 0: text of any length, which need not be given.
  virtual void on_text(const char* name, const char* value, std::size_t longest, const char* help,
                       TextTarget target) = 0;
  virtual void on_variant(const char* name, std::uint32_t& index, std::span<const char* const> names, bool always,
                          const char* help, const Part& part) = 0;
  virtual void on_section(const char* name, bool given, const char* help, const Part& part) = 0;
  virtual void on_component(const char* name, Component& value, const char* help, const char* otherwise) = 0;
  virtual void on_required(const char*, const char*) {}
  virtual void on_gone(const char*, const char*) {}
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
