#include "changes.h"

#include <utility>

namespace canopy::python {

void Changes::name(NamespaceId space, nb::object given) {
  const auto number = static_cast<std::size_t>(space);
  if (spaces_.size() <= number) spaces_.resize(number + 1, nb::none());
  spaces_[number] = std::move(given);
}

std::string Changes::begin(const Facts& facts) {
  overlap_ = facts.shape.overlap;
  return {};
}

void Changes::added(const event::NodeAdded& node, const std::uint32_t* words) {
  const std::uint32_t count = node.length + overlap_;
  changes_.push_back({Kind::added, slot_of(node.node), node.parent, static_cast<std::uint32_t>(node.space), count});
  words_.insert(words_.end(), words, words + count);
}

void Changes::split(const event::NodeSplit& node) {
  changes_.push_back({Kind::split, slot_of(node.node), slot_of(node.upper), 0, node.units});
}

void Changes::removed(const event::NodeRemoved& node) { changes_.push_back({Kind::removed, slot_of(node.node)}); }

void Changes::cleared(const event::Cleared&) {
  changes_.clear(), words_.clear();
  changes_.push_back({Kind::cleared});
}

nb::list Changes::take() {
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
}

}  // namespace canopy::python
