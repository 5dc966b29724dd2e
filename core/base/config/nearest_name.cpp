#include <canopy/base/nearest_name.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace canopy {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Returns the number of typing errors between two names: a letter added, missing or wrong, or two neighbors swapped
/// (Damerau-Levenshtein distance). Upper and lower case are equal.
std::size_t slips(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before_last, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0U : 1U)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view typed, std::span<const std::string> known) {
  std::size_t allowed = std::max<std::size_t>(1, typed.size() / 3);
  std::string nearest;
  bool found = false;
  for (const std::string& name : known) {
    const std::size_t longer = std::max(typed.size(), name.size());
    // Also avoids a comparison of a megabyte of text letter by letter.
    if (longer - std::min(typed.size(), name.size()) > allowed) continue;
    const std::size_t distance = slips(typed, name);
    if (distance >= longer || distance > allowed || (found && distance == allowed)) continue;
    allowed = distance;
    nearest = name;
    found = true;
  }
  return nearest;
}

std::string did_you_mean(std::string_view typed, std::span<const std::string> known) {
  std::string out;
  if (const std::string nearest = nearest_name(typed, known); !nearest.empty())
    out += ". Did you mean '" + nearest + "'?";
  out += "\n  known here:";
  for (const std::string& name : known) out += ' ' + name;
  if (known.empty()) out += " none";
  return out;
}

}  // namespace canopy
