#include "changes.h"

#include <new>
#include <utility>

namespace canopy::python {

void Changes::name(NamespaceId space, nb::object given) { spaces_[static_cast<std::size_t>(space)] = std::move(given); }

std::string Changes::begin(const Facts& facts) {
  overlap_ = facts.shape.overlap;
  return {};
}

void Changes::lose() noexcept {
  lost_ = true;
  changes_ = {};
  words_ = {};
}

/// Records a change with the words of the node that it adds. It is called in the middle of an operation of the index.
void Changes::record(const Change& change, const std::uint32_t* words) noexcept {
  if (lost_) return;
  try {
    changes_.push_back(change);
    if (change.kind == Kind::added) words_.insert(words_.end(), words, words + change.words);
  } catch (const std::bad_alloc&) {
    lose();
  }
}

void Changes::added(const event::NodeAdded& node, const std::uint32_t* words) {
  record({Kind::added, slot_of(node.node), node.parent, static_cast<std::uint32_t>(node.space), node.length + overlap_},
         words);
}

void Changes::split(const event::NodeSplit& node) {
  record({Kind::split, slot_of(node.node), slot_of(node.upper), 0, node.units});
}

void Changes::removed(const event::NodeRemoved& node) { record({Kind::removed, slot_of(node.node)}); }

void Changes::cleared(const event::Cleared&) {
  if (!lost_) changes_.clear(), words_.clear();
  record({Kind::cleared});
}

void Changes::resync() {
  lost_ = false;
  cleared({});
}

nb::list Changes::take() try {
  nb::list taken;
  // To make objects may run the garbage collector, and so the end of a hold, which records further changes.
  const std::vector<Change> changes = std::exchange(changes_, {});
  const std::vector<std::int64_t> all_words = std::exchange(words_, {});
  const std::int64_t* words = all_words.data();
  for (const Change& change : changes) {
    switch (change.kind) {
      case Kind::added: {
        nb::object space = change.space < spaces_.size() ? spaces_[change.space] : nb::none();
        taken.append(nb::make_tuple("added", change.node, change.other, std::move(space),
                                    nb::bytes(words, change.words * sizeof *words)));
        words += change.words;
        break;
      }
      case Kind::split:
        taken.append(nb::make_tuple("split", change.node, change.other, change.words));
        break;
      case Kind::removed:
        taken.append(nb::make_tuple("removed", change.node));
        break;
      case Kind::cleared:
        taken.append(nb::make_tuple("cleared"));
        break;
    }
  }
  return taken;
} catch (...) {
  lose();  // the next operation begins the record again
  throw;
}

}  // namespace canopy::python
