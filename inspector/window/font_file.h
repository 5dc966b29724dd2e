#pragma once

#include <span>

namespace canopy::inspector {

/// Returns the bytes of DejaVu Sans if the system has it, or of the file that $CANOPY_FONT names; empty if neither can
/// be read. They are read once and live as long as the process.
std::span<const char> font_file();

}  // namespace canopy::inspector
