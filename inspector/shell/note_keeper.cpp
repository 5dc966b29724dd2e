#include "note_keeper.h"

#include <views/scene.h>

#include <utility>

namespace canopy::inspector {

bool NoteKeeper::update(const std::string& recording, Timeline& time) {
  if (recording.empty() || !store_.load || time.end == 0) return false;
  if (std::exchange(loaded_, true) && time.notes == tried_) return false;
  time.notes_place = store_.place(recording);
  const auto complain = [&](const Error& error) {
    tried_ = time.notes;
    time.notes_complaint = error.text + ". Notes are not saved until this is mended.";
    return true;
  };
  const auto text = store_.load(recording);
  if (!text) return complain(text.error());
  const auto stored = Notes::parse(*text, time.notes_place, time.end);
  if (!stored) return complain(stored.error());
  // Another inspector may have changed notes meanwhile: only this one's changes are made to what is stored.
  Notes merged = *stored;
  for (const Note& note : kept_.all())
    if (!time.notes.at(note.commit)) merged.remove(note.commit);
  for (const Note& note : time.notes.all())
    if (const Note* const was = kept_.at(note.commit); !was || *was != note) merged.set(note.commit, note.text);
  if (merged != *stored)
    if (const auto done = store_.save(recording, merged.text()); !done) return complain(done.error());
  time.notes = tried_ = kept_ = std::move(merged);
  time.notes_complaint.clear();
  return false;
}

}  // namespace canopy::inspector
