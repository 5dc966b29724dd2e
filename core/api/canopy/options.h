#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace canopy {

class Options;

/// An option whose value is a map from names of the user's choice to options of one shape.
class Entries {
 public:
  virtual std::size_t size() const = 0;
  virtual const char* key(std::size_t i) const = 0;
  /// Makes room for one more entry, i = size() - 1 afterwards. nullptr, or why it cannot be had.
  virtual const char* add(const char* key) = 0;
  virtual void visit(std::size_t i, Options& options) = 0;

 protected:
  ~Entries() = default;
};

/// Walks over a component's options. A component names each of them once, in `Config::visit`, with the range
/// and a line of help; the code that parses a file, prints help or dumps a configuration is a walker.
///
///   struct Config {
///     std::uint64_t protect_after = 2;
///     void visit(canopy::Options& o) { o.number("protect_after", protect_after, 1, 64, "hits that protect a prefix");
///     }
///   };
///
/// A value has its default when the walker comes and, if the walker parses, the user's value when it leaves.
/// Where a file gives a scalar in place of a component's or an entry's map, it sets the first option.
class Options {
 public:
  template <std::unsigned_integral T>
  void number(const char* name, T& value, std::uint64_t min, std::uint64_t max, const char* help) {
    std::uint64_t wide = value;
    on_number(name, wide, min, max, help);
    value = static_cast<T>(wide);
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
  void entries(const char* name, Entries& value, const char* help) { on_entries(name, value, help); }
  /// Text of at most `longest` bytes and no control characters: a name, or a path.
  void text(const char* name, std::string& value, std::size_t longest, const char* help) {
    on_text(name, value.c_str(), longest, help,
            {&value, [](void* to, const char* given) { *static_cast<std::string*>(to) = given; }});
  }

  /// False once something the user wrote cannot be used; the walker has already said what and where.
  virtual bool ok() const = 0;

 protected:
  /// Where a walker puts a text that it read. A std::string does not cross the border of a plugin.
  struct TextTarget {
    void* to;
    void (*put)(void* to, const char* given);
  };
  ~Options() = default;
  virtual void on_number(const char* name, std::uint64_t& value, std::uint64_t min, std::uint64_t max,
                         const char* help) = 0;
  virtual void on_real(const char* name, double& value, double min, double max, const char* help) = 0;
  virtual void on_flag(const char* name, bool& value, const char* help) = 0;
  virtual void on_choice(const char* name, std::uint32_t& index, std::span<const char* const> names,
                         const char* help) = 0;
  virtual void on_entries(const char* name, Entries& value, const char* help) = 0;
  virtual void on_text(const char* name, const char* value, std::size_t longest, const char* help,
                       TextTarget target) = 0;
};

}  // namespace canopy
