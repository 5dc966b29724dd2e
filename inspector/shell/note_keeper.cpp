#include "note_keeper.h"

#include <views/scene.h>

namespace canopy::inspector {

bool NoteKeeper::update(const std::string& recording, Timeline& time) {
  if (recording.empty() || !store_.load || time.end == 0 || !time.notes_complaint.empty()) return false;
  const auto stored = [&]() -> Result<Notes> {
    const auto text = store_.load(recording);
    if (!text) return text.error();
    return Notes::parse(*text, store_.place(recording), time.end);
  };
  if (!loaded_) {
    loaded_ = true;
    time.notes_place = store_.place(recording);
    if (const auto notes = stored()) time.notes = kept_ = *notes;
    else time.notes_complaint = notes.error().text + ". Notes are not saved until this is mended.";
  }
  if (time.notes == kept_ || !time.notes_complaint.empty()) return !time.notes_complaint.empty();
  // Another inspector may have added notes meanwhile.
  if (const auto others = stored())
    for (const Note& note : others->all())
      if (!kept_.at(note.commit) && !time.notes.at(note.commit)) time.notes.set(note.commit, note.text);
  kept_ = time.notes;
  if (const auto done = store_.save(recording, kept_.text()); !done) time.notes_complaint = done.error().text;
  return !time.notes_complaint.empty();
}

}  // namespace canopy::inspector
