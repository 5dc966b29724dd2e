#pragma once

#include <array>
#include <cstdint>

#include "panel.h"

namespace canopy::inspector {

/// The notes of this past as a list, to go to, name and remove.
class NotesPanel final : public Panel {
 public:
  std::string note(const Scene& scene) const override;
  void draw(Scene& scene) override;
};

/// A field for the name of a note, above the time bar.
class NoteField {
 public:
  /// Draws it while Selection::naming is set, and clears that in the end. `bottom`: its lower edge.
  void draw(Scene& scene, float bottom);

 private:
  std::uint64_t commit_ = 0;  ///< 0: closed
  std::array<char, Notes::kMostBytes + 1> text_{};
};

}  // namespace canopy::inspector
