#include "rank_words.h"

#include <fmt/format.h>

namespace canopy::hazard {
namespace {

/// Returns the edges of the bins from `first` on, each followed by a bar.
std::string edges_from(std::size_t first, const char* unit) {
  std::string words;
  for (std::size_t edge = first; edge < first + kBins; ++edge)
    words += fmt::format("{:.2g}{}|", kBinEdges[edge] / kAgesPerTurnover, unit);
  return words;
}

}  // namespace

const std::string& rank_form() {
  static const std::string form = fmt::format(
      "{{major:real}} hits expected per token and turnover, discounted for age, used {{minor.22-63:ago}}; "
      "{{minor.0-2:never used|used once|used twice|used 3 to 5 times|used 6 times or more}}, "
      "{{minor.3-5:below 640|640 to 1,279|1,280 to 3,071|3,072 to 8,191|8,192 or more}} new tokens, "
      "{{minor.6-6:short|long}} answer{{minor.7-8:|, tool call pending|, session ended}}"
      "{{minor.9-11:|, class 1|, class 2|, class 3|, class 4|, class 5|, class 6|, class 7}}; "
      "age from {{minor.12-16:{}more than 8}} turnovers; {{minor.17-21:{}nothing learned yet}}",
      edges_from(0, ""), edges_from(1, " turnovers is the best age to give it up"));
  return form;
}

}  // namespace canopy::hazard
