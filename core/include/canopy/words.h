#pragma once
/// The names of enumerators. An enumeration whose values people read has its names beside it, and nowhere else:
///
///   enum class Ending : std::uint32_t { none, finished, aborted };
///   template <>
///   struct NamesOf<Ending> {
///     static constexpr const char* kAll[] = {"none", "finished", "aborted"};
///   };
///
/// Options of files, messages, labels of metrics, reports, C and Python take them from there. A name is a label value:
/// it stays the same when the wording of a help text changes.

#include <cstddef>
#include <iterator>
#include <span>

namespace canopy {

/// The names of an enumeration's values, in their order.
template <class Enum>
struct NamesOf;

template <class Enum>
  requires requires { NamesOf<Enum>::kAll; }
constexpr std::span<const char* const> all_names() {
  return NamesOf<Enum>::kAll;
}

/// Returns the name of a value; "unknown" for a number that is no value, as another process may write it into a feed.
template <class Enum>
  requires requires { NamesOf<Enum>::kAll; }
constexpr const char* name_of(Enum value) {
  const auto place = static_cast<std::size_t>(value);
  return place < std::size(NamesOf<Enum>::kAll) ? NamesOf<Enum>::kAll[place] : "unknown";
}

}  // namespace canopy
