#pragma once

#include <functional>
#include <string>

#include "scene.h"

namespace canopy::inspector {

/// Draws a button that writes a file, after the last item of the line. Draws nothing where files cannot be written.
/// `text`: makes the content when the button is clicked. `help`: the content, in words.
void export_button(Scene& scene, const char* label, const std::string& file, const char* help,
                   const std::function<std::string()>& text);

}  // namespace canopy::inspector
