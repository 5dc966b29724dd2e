#pragma once

#include <mirror/mirror.h>

namespace canopy::inspector {

/// Rows of the storage's lanes in the table of lanes that is being drawn. Nothing if there is none.
void storage_lanes(const Mirror& mirror);
/// Whether the storage is called, what it has, and how it went. `column`: width of the labels in ems.
void storage_facts(const Mirror& mirror, float column);

}  // namespace canopy::inspector
