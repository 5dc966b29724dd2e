#pragma once

#include <canopy/base/doubts.h>
#include <nanobind/nanobind.h>

#include <string>

namespace canopy::python {

/// Returns a dictionary for each doubt: kind, count, sentence.
inline nanobind::list list_of(const Doubts& doubts) {
  nanobind::list all;
  for (const Doubt& doubt : doubts) {
    nanobind::dict row;
    row["kind"] = std::string(name_of(doubt.kind)).c_str();
    row["count"] = doubt.count;
    row["sentence"] = doubt.sentence.c_str();
    all.append(row);
  }
  return all;
}

}  // namespace canopy::python
