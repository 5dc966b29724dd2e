#pragma once

#include <canopy/words.h>

#include <cstdint>
#include <string>
#include <vector>

namespace canopy {

/// A reason why figures are not those of what was asked for, or may not be. An engine, an input and a reader of a feed
/// each return theirs. A command that prints figures prints all doubts of them, and ends with exit code 1 if there is
/// one.
struct Doubt {
  enum class Kind : std::uint8_t {
    memory,     ///< A component was refused memory, so the figures are those of a smaller one.
    component,  ///< A component failed, and was replaced or is no longer called.
    input,      ///< An input changed while it was read, or from one reading to the next.
    cut,        ///< An input ends before its end.
    damaged,    ///< An input has values that its writer did not write.
    lost,       ///< Events came faster than they were read, or never arrived.
  };
  Kind kind{};
  std::uint64_t count = 0;  ///< number of what the sentence counts, such as pages or events; at least 1
  std::string sentence;

  bool operator==(const Doubt&) const = default;
};
using Doubts = std::vector<Doubt>;

template <>
struct NamesOf<Doubt::Kind> {
  static constexpr const char* kAll[] = {"memory", "component", "input", "cut", "damaged", "lost"};
};

/// Appends doubts that are not in the list yet.
inline void add_doubts(Doubts& to, const Doubts& more) {
  for (const Doubt& doubt : more) {
    bool known = false;
    for (const Doubt& other : to) known |= other == doubt;
    if (!known) to.push_back(doubt);
  }
}

inline std::vector<std::string> sentences_of(const Doubts& doubts) {
  std::vector<std::string> sentences;
  for (const Doubt& doubt : doubts) sentences.push_back(doubt.sentence);
  return sentences;
}

}  // namespace canopy
