#pragma once

#include <shell/note_keeper.h>

namespace canopy::inspector {

/// Returns the store that keeps the notes of a recording in a file beside it, FILE.notes.
NoteStore note_files();

}  // namespace canopy::inspector
