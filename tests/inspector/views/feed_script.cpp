#include "feed_script.h"

#include <shell/theme.h>
#include <window/font_file.h>

#include <algorithm>
#include <string_view>

namespace canopy::test {

FeedScript::FeedScript(std::uint64_t pages) : pages_(pages), free_(pages) {
  header_.event_bytes = sizeof(Event);
  header_.page_size = 16;
  header_.groups = 1;
  header_.reaches[0] = kWholePath;
  header_.ring_events = 1024;
  header_.controls = 1;
  push(event::Keyframe{});
  push(event::PoolSized{.pages = pages, .limit = pages});
  say(TextKind::group, 0, "full");
  say(TextKind::policy, 0, "lru");
  say(TextKind::policy_rule, 0, "what was used longest ago is evicted first");
  say(TextKind::policy_rank, 0, "used {minor:ago}");
  name_space(0, "");
}

void FeedScript::say(TextKind kind, std::uint32_t index, const std::string& text) {
  std::string_view rest = text;
  event::TextPiece piece{.text = kind, .number = index};
  do {
    piece.bytes = {};
    piece.size = static_cast<std::uint8_t>(rest.copy(piece.bytes.data(), piece.bytes.size()));
    rest.remove_prefix(piece.size);
    piece.last = rest.empty();
    push(piece);
    piece.at += piece.size;
  } while (!piece.last);
}

void FeedScript::name_space(std::uint32_t space, const std::string& name) { say(TextKind::space, space, name); }

std::uint64_t FeedScript::add(std::uint64_t parent, std::uint32_t pages, std::uint32_t space, std::uint32_t hits,
                              Tick last_access) {
  const std::uint64_t slot = nodes_.size(), id = std::uint64_t{1} << 32 | slot;
  const Units begin = nodes_[slot_of(NodeId{parent})].end, length = pages * 16;
  nodes_.push_back({parent, begin + length, pages});
  push(event::NodeAdded{.resident = 1,
                        .space = NamespaceId{space},
                        .node = NodeId{id},
                        .parent = slot_of(NodeId{parent}),
                        .length = length});
  push(event::NodeHistory{.node = NodeId{id}, .last_access = last_access, .hits = hits});
  push(event::NodePages{.node = NodeId{id}, .runs = {Segment{static_cast<Page>(next_page_), pages}}});
  push(event::NodeRanked{.node = NodeId{id}, .rank = {0, last_access}});
  next_page_ += pages;
  free_ -= pages;
  return id;
}

void FeedScript::words(std::uint64_t node, const std::vector<Token>& tokens) {
  for (std::uint32_t at = 0; at < tokens.size(); at += 4) {
    event::NodeWords some{.first = at, .node = NodeId{node}};
    std::copy(tokens.begin() + at, tokens.begin() + std::min<std::ptrdiff_t>(at + 4, std::ssize(tokens)),
              some.words.begin());
    push(some);
  }
}

void FeedScript::name(std::uint64_t node, std::uint64_t digest) {
  push(event::NodeNamed{.node = NodeId{node}, .digest = digest});
}

void FeedScript::remove(std::uint64_t node) {
  Made& made = nodes_[slot_of(NodeId{node})];
  push(event::NodeRemoved{.node = NodeId{node}});
  free_ += std::exchange(made.pages, 0);
}

void FeedScript::lock(std::uint64_t node, std::uint32_t times) {
  if (commits_ == 0) events_ = commit();  // a keyframe reports locks in another way
  for (std::uint32_t i = 0; i < times; ++i) push(event::Locked{.node = NodeId{node}});
  for (std::uint64_t at = node; at != 0; at = nodes_[slot_of(NodeId{at})].parent)
    nodes_[slot_of(NodeId{at})].locks += times;
}

void FeedScript::begin_request(std::uint64_t id, std::uint32_t prompt, std::uint32_t matched, std::uint32_t own_pages,
                               std::uint32_t space) {
  push(event::RequestBegun{.prompt = prompt, .request = id, .matched = matched, .space = NamespaceId{space}});
  if (own_pages == 0) return;
  push(event::RequestPages{
      .place = matched / 16, .request = id, .runs = {Segment{static_cast<Page>(next_page_), own_pages}}});
  next_page_ += own_pages, owned_ += own_pages, free_ -= own_pages;
}

void FeedScript::end_request(std::uint64_t id) {
  push(event::RequestProgress{.phase = RequestPhase::finished, .request = id});
}

void FeedScript::pin(std::uint64_t node, bool pinned) { push(event::Pinned{.pinned = pinned, .node = NodeId{node}}); }

void FeedScript::pool(std::uint64_t pages, std::uint64_t limit) {
  push(event::PoolSized{.pages = pages, .limit = limit});
  free_ += pages - std::exchange(pages_, pages);
}

void FeedScript::commit_request(std::uint64_t id, std::uint32_t tokens) {
  push(event::RequestProgress{.phase = RequestPhase::committed,
                              .computed = tokens,
                              .request = id,
                              .committed = (tokens - 1) / 16 * 16,
                              .tokens = tokens});
}

void FeedScript::drain(std::uint8_t group, std::uint32_t pages) {
  push(event::PoolSized{
      .group = group, .segment_pages = static_cast<std::uint32_t>(pages_), .pages = pages_, .limit = pages_});
  push(event::SegmentChanged{.group = group,
                             .state = SegmentState::draining,
                             .offered = static_cast<std::uint32_t>(pages_),
                             .draining = pages});
}

void FeedScript::touch(std::uint64_t node) {
  if (commits_ == 0) events_ = commit();
  push(event::NodeUsed{.node = NodeId{node}, .tick = commits_ * 10});
  push(event::Unlocked{.node = NodeId{node}});
}

std::vector<Event> FeedScript::commit(Operation operation) {
  std::uint64_t evictable = 0, protected_ = 0;
  for (const Made& node : nodes_) (node.locks ? protected_ : evictable) += node.pages * 16;
  push(event::Totals{
      .owned = static_cast<std::uint32_t>(owned_), .free = free_, .evictable = evictable, .protected_ = protected_});
  ++commits_;
  push(event::Commit{.operation = operation, .tick = commits_ * 10, .operations = commits_, .us = commits_ * 1000});
  return std::exchange(events_, {});
}

Headless::Headless(float width, float height) {
  ImGui::CreateContext();
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.DisplaySize = {width, height};
  io.MousePos = {-1, -1};
  for (int key = 0; key < ImGuiKey_COUNT; ++key) io.KeyMap[key] = key;
}

void Headless::frame(inspector::App& app) {
  if (app.theme_changed()) {
    inspector::apply_theme(app.settings().light, app.settings().scale > 0 ? app.settings().scale : 1,
                           inspector::font_file());
    unsigned char* pixels = nullptr;
    int width = 0, height = 0;
    ImGui::GetIO().Fonts->GetTexDataAsAlpha8(&pixels, &width, &height);
  }
  ImGui::GetIO().DeltaTime = 1.F / 60;
  ImGui::NewFrame();
  app.draw();
  ImGui::Render();
}

void Headless::button(inspector::App& app, ImVec2 at, int which) {
  ImGuiIO& io = ImGui::GetIO();
  io.MousePos = at;
  frame(app);
  io.MouseDown[which] = true;
  frame(app);
  io.MouseDown[which] = false;
  frame(app);
}

void Headless::hold(inspector::App& app, ImVec2 at, float seconds) {
  ImGuiIO& io = ImGui::GetIO();
  io.MousePos = at;
  frame(app);
  io.MouseDown[0] = true;
  for (float passed = 0; passed < seconds; passed += io.DeltaTime) frame(app);
  io.MouseDown[0] = false;
  frame(app);
}

void Headless::click(inspector::App& app, ImVec2 at) { button(app, at, 0); }
void Headless::right_click(inspector::App& app, ImVec2 at) { button(app, at, 1); }

void Headless::drag(inspector::App& app, ImVec2 from, ImVec2 to) {
  ImGuiIO& io = ImGui::GetIO();
  io.MousePos = from;
  frame(app);
  io.MouseDown[0] = true;
  frame(app);
  io.MousePos = to;
  for (int i = 0; i < 3; ++i) frame(app);
  io.MouseDown[0] = false;
  frame(app);
}

void Headless::press(inspector::App& app, ImGuiKey key) {
  ImGui::GetIO().KeysDown[key] = true;
  frame(app);
  ImGui::GetIO().KeysDown[key] = false;
  frame(app);
}

void Headless::find(inspector::App& app, const char* words) {
  key(app, '/');
  for (int i = 0; i < 2; ++i) frame(app);
  ImGui::GetIO().AddInputCharactersUTF8(words);
  frame(app);
  press(app, ImGuiKey_Enter);
  for (int i = 0; i < 2; ++i) frame(app);
}

void Headless::key(inspector::App& app, char character) {
  ImGui::GetIO().AddInputCharacter(static_cast<unsigned char>(character));
  frame(app);
}

}  // namespace canopy::test
