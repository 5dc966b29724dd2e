#pragma once

#include <canopy/feed/events.h>
#include <mirror/mirror.h>
#include <shell/app.h>
#include <shell/live_link.h>
#include <window/ring_link.h>

#include <memory>
#include <vector>

namespace canopy::test {

/// Writes the events of an engine that does not exist, one group with pages of 16: the tree is what a test wants.
class FeedScript {
 public:
  explicit FeedScript(std::uint64_t pages = 1000);

  /// A node of `pages` pages below `parent` (0: its namespace), with pages of its own. Returns its id.
  std::uint64_t add(std::uint64_t parent, std::uint32_t pages, std::uint32_t space = 0, std::uint32_t hits = 0,
                    Tick last_access = 0);
  /// Adds the node's tokens, as a feed with `tokens: true` does. REQUIRES: header().tokens, and as many as its pages.
  void words(std::uint64_t node, const std::vector<Token>& tokens);
  /// Sets the digest by which the node is recognised when it comes again.
  void name(std::uint64_t node, std::uint64_t digest);
  void remove(std::uint64_t node);
  void lock(std::uint64_t node, std::uint32_t times = 1);
  void begin_request(std::uint64_t id, std::uint32_t prompt, std::uint32_t matched, std::uint32_t own_pages = 0,
                     std::uint32_t space = 0);
  void end_request(std::uint64_t id);
  void pin(std::uint64_t node, bool pinned);
  /// A pool of so many pages, with this limit.
  void pool(std::uint64_t pages, std::uint64_t limit);
  /// Counts an operation without events.
  void skip() { ++commits_; }
  /// The request has inserted all but the last page.
  void commit_request(std::uint64_t id, std::uint32_t tokens);
  /// So many pages of a segment drain.
  void drain(std::uint8_t group, std::uint32_t pages);
  void touch(std::uint64_t node);
  void name_space(std::uint32_t space, const std::string& name);
  void say(TextKind kind, std::uint32_t index, const std::string& text);
  /// Ends an operation, and gives all events since the last one.
  std::vector<Event> commit(Operation operation = Operation::insert);

  FeedHeader& header() { return header_; }
  /// Any other event.
  template <class T>
  void push(const T& event) {
    events_.push_back(std::bit_cast<Event>(event));
  }

 private:
  struct Made {
    std::uint64_t parent;
    Units end;
    std::uint32_t pages;
    std::uint32_t locks = 0;  ///< on it or below it
  };
  FeedHeader header_{};
  std::vector<Event> events_;
  std::vector<Made> nodes_{{0, 0, 0}};
  std::uint64_t pages_, free_, next_page_ = 1, owned_ = 0, commits_ = 0;
};

/// A link that brings prepared events and keeps the commands it is sent.
class ScriptLink final : public inspector::LiveLink {
 public:
  ScriptLink(FeedScript& script, std::vector<Event> events, std::size_t past_bytes = std::size_t{32} << 20)
      : LiveLink("a script", "test", past_bytes), script_(script), events_(std::move(events)) {}
  const FeedHeader& header() const override { return script_.header(); }
  bool can_come_again() const override { return true; }
  bool send(const Command& command) override {
    sent.push_back(command);
    return true;
  }
  void bring(std::vector<Event> events) { events_ = std::move(events), brought_ = false; }
  /// Events were lost: those of the next bring() are a keyframe.
  void lap() { lapped_ = true; }
  std::vector<Command> sent;
  std::string gone;  ///< the reason why its engine has ended; empty: it has not

 private:
  Arrived next(std::span<const Event>& events) override {
    if (std::exchange(lapped_, false)) return Arrived::lapped;
    if (std::exchange(brought_, true) || events_.empty()) return Arrived::nothing;
    events = events_;
    return Arrived::events;
  }
  std::string ended() const override { return gone; }

  FeedScript& script_;
  std::vector<Event> events_;
  bool brought_ = false, lapped_ = false;
};

/// ImGui without a window and without OpenGL: frames are computed and not shown.
class Headless {
 public:
  explicit Headless(float width = 1600, float height = 900);
  ~Headless() { ImGui::DestroyContext(); }
  void frame(inspector::App& app);
  void click(inspector::App& app, ImVec2 at);
  /// Presses a place for a time, and lets go.
  void hold(inspector::App& app, ImVec2 at, float seconds = 1);
  void drag(inspector::App& app, ImVec2 from, ImVec2 to);
  void right_click(inspector::App& app, ImVec2 at);
  void key(inspector::App& app, char character);
  void press(inspector::App& app, ImGuiKey key);
  /// `/`, the words, and Enter.
  void find(inspector::App& app, const char* words);
  static int vertices() { return ImGui::GetDrawData()->TotalVtxCount; }

 private:
  void button(inspector::App& app, ImVec2 at, int which);
};

}  // namespace canopy::test
