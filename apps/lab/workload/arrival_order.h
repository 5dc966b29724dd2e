#pragma once

#include <canopy/base/figures.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace canopy::workload {

/// Counts requests whose time of arrival is before that of an earlier request. The order of the file is the order of
/// arrival (traces are merged from frontends whose clocks differ), but a reader of figures by time should know.
class ArrivalOrder {
 public:
  void add(std::uint64_t ms) {
    early_ += ms < latest_;
    latest_ = std::max(latest_, ms);
  }
  /// Appends a note, if there are such requests.
  void add_note(std::vector<std::string>& notes) const {
    if (early_ > 0)
      notes.push_back(plural(early_, "request") +
                      " of the input arrived, by its times, before an earlier one: the order "
                      "of the input counts, and figures by time are less exact");
  }

 private:
  std::uint64_t latest_ = 0, early_ = 0;
};

}  // namespace canopy::workload
