#pragma once

#include <chrono>
#include <functional>

#include "feed_script.h"

namespace canopy::test {

/// A script, the mirror that listens to it, and the index of what the mirror has.
struct Show {
  FeedScript script;
  inspector::Mirror mirror;
  inspector::TreeIndex index;
  explicit Show(std::uint64_t pages = 1000, bool tokens = false)
      : script(pages), mirror((script.header().tokens = tokens, script.header())) {}
  void look(const std::unordered_set<std::uint64_t>& folded = {}) {
    mirror.take(script.commit());
    index.update(mirror, 0, folded);
  }
  const inspector::TreeIndex::Node& at(std::uint64_t id) const { return index[index.place_of(slot_of(NodeId{id}))]; }
};

/// A script, the inspector that is attached to it, and a screen without a window.
struct Stage {
  FeedScript script;
  ScriptLink* link = nullptr;
  std::unique_ptr<inspector::App> app;
  Headless screen;
  explicit Stage(float width = 1600, float height = 900, std::uint64_t pages = 100'000)
      : script(pages), screen(width, height) {}
  /// Attaches; what the script has so far comes as the keyframe.
  void open() {
    auto made = std::make_unique<ScriptLink>(script, script.commit());
    link = made.get();
    app = std::make_unique<inspector::App>(std::move(made), inspector::Settings{});
    draw();
  }
  /// Brings the new events of the script as one operation.
  void turn(Operation operation = Operation::insert) {
    link->bring(script.commit(operation));
    draw();
  }
  void draw(int frames = 3) {
    app->pump(std::chrono::milliseconds(10));
    for (int i = 0; i < frames; ++i) screen.frame(*app);
  }
};

/// `nodes` nodes: a root with a hundred children, those with the rest. Returns one of the hundred.
inline std::uint64_t grow(FeedScript& script, std::size_t nodes) {
  const std::uint64_t root = script.add(0, 1);
  std::vector<std::uint64_t> middle;
  for (std::size_t made = 1; made < nodes; ++made)
    if (middle.size() < 100) middle.push_back(script.add(root, 2));
    else script.add(middle[made % 100], 1, 0, static_cast<std::uint32_t>(made % 7), made);
  return middle.empty() ? root : middle.front();
}

/// A path of so many levels with a leaf beside each step. Returns its end.
inline std::uint64_t grow_comb(FeedScript& script, int levels) {
  std::uint64_t last = 0;
  for (int i = 0; i < levels; ++i) {
    if (last != 0) script.add(last, 1);
    last = script.add(last, 1);
  }
  return last;
}

inline double seconds_of(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

}  // namespace canopy::test
