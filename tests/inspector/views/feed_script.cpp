#include "feed_script.h"

#include <shell/theme.h>

#include <algorithm>
#include <cstring>

namespace canopy::test {

FeedScript::FeedScript(std::uint64_t pages) : free_(pages) {
  header_.event_bytes = sizeof(Event);
  header_.page_size = 16;
  header_.groups = 1;
  header_.reaches[0] = kWholePath;
  header_.capacity = 1024;
  header_.controls = 1;
  events_.push_back({EventKind::keyframe});
  events_.push_back({EventKind::pool_sized, 0, 0, 0, 0, pages, pages});
  say(TextKind::group, 0, "full");
  say(TextKind::policy, 0, "lru");
  name_space(0, "");
}

void FeedScript::say(TextKind kind, std::uint32_t index, const std::string& text) {
  for (std::size_t at = 0;; at += 16) {
    const std::string piece = text.substr(at, 16);
    const bool last = at + 16 >= text.size();
    Event event{EventKind::text,
                0,
                static_cast<std::uint16_t>(piece.size()),
                static_cast<std::uint32_t>(at) | (last ? std::uint32_t{1} << 31 : 0),
                static_cast<std::uint64_t>(kind) | std::uint64_t{index} << 8,
                0,
                0};
    char bytes[16] = {};
    piece.copy(bytes, sizeof(bytes));
    std::memcpy(&event.a, bytes, 8);
    std::memcpy(&event.b, bytes + 8, 8);
    events_.push_back(event);
    if (last) return;
  }
}

void FeedScript::name_space(std::uint32_t space, const std::string& name) { say(TextKind::space, space, name); }

std::uint64_t FeedScript::add(std::uint64_t parent, std::uint32_t pages, std::uint32_t space, std::uint32_t hits,
                              Tick last_access) {
  const std::uint64_t slot = nodes_.size(), id = std::uint64_t{1} << 32 | slot;
  const Units begin = nodes_[slot_of(NodeId{parent})].end, length = pages * 16;
  nodes_.push_back({parent, begin + length, pages});
  events_.push_back({EventKind::node_added, 0, 1, space, id, slot_of(NodeId{parent}) | std::uint64_t{length} << 32, 0});
  events_.push_back({EventKind::node_facts, 0, 0, 0, id, last_access, hits});
  events_.push_back({EventKind::node_pages, 0, 0, 0, id, run_of(static_cast<Page>(next_page_), pages), 0});
  events_.push_back({EventKind::node_ranked, 0, 0, 0, id, 0, last_access});
  next_page_ += pages;
  free_ -= pages;
  return id;
}

void FeedScript::words(std::uint64_t node, const std::vector<Token>& tokens) {
  for (std::uint32_t at = 0; at < tokens.size(); at += 4) {
    std::uint64_t some[4] = {};
    std::copy(tokens.begin() + at, tokens.begin() + std::min<std::ptrdiff_t>(at + 4, std::ssize(tokens)), some);
    events_.push_back({EventKind::node_words, 0, 0, at, node, some[0] | some[1] << 32, some[2] | some[3] << 32});
  }
}

void FeedScript::remove(std::uint64_t node) {
  Made& made = nodes_[slot_of(NodeId{node})];
  events_.push_back({EventKind::node_removed, 0, 0, 0, node, 0, 0});
  free_ += std::exchange(made.pages, 0);
}

void FeedScript::lock(std::uint64_t node, std::uint32_t times) {
  if (commits_ == 0) events_ = commit();  // a keyframe tells of locks in another way
  for (std::uint32_t i = 0; i < times; ++i) events_.push_back({EventKind::locked, 0, 0, 0, node, 0, 0});
  for (std::uint64_t at = node; at != 0; at = nodes_[slot_of(NodeId{at})].parent)
    nodes_[slot_of(NodeId{at})].locks += times;
}

void FeedScript::begin_request(std::uint64_t id, std::uint32_t prompt, std::uint32_t matched, std::uint32_t own_pages,
                               std::uint32_t space) {
  events_.push_back({EventKind::request_begun, 0, 0, prompt, id, matched | std::uint64_t{space} << 32, 0});
  if (own_pages == 0) return;
  events_.push_back(
      {EventKind::request_pages, 0, 0, matched / 16, id, run_of(static_cast<Page>(next_page_), own_pages), 0});
  next_page_ += own_pages, held_ += own_pages, free_ -= own_pages;
}

void FeedScript::end_request(std::uint64_t id) {
  events_.push_back({EventKind::request_moved, 0, static_cast<std::uint16_t>(RequestPhase::finished), 0, id, 0, 0});
}

void FeedScript::pin(std::uint64_t node, bool pinned) { events_.push_back({EventKind::pinned, 0, 0, 0, node, pinned}); }

void FeedScript::touch(std::uint64_t node) {
  if (commits_ == 0) events_ = commit();
  events_.push_back({EventKind::node_used, 0, 0, 0, node, commits_ * 10, 0});
  events_.push_back({EventKind::unlocked, 0, 0, 0, node, 0, 0});
}

std::vector<Event> FeedScript::commit(Operation operation) {
  std::uint64_t evictable = 0, protected_ = 0;
  for (const Made& node : nodes_) (node.locks ? protected_ : evictable) += node.pages * 16;
  events_.push_back({EventKind::totals, 0, 0, static_cast<std::uint32_t>(held_), free_, evictable, protected_});
  ++commits_;
  events_.push_back(
      {EventKind::commit, 0, 0, static_cast<std::uint32_t>(operation), commits_ * 10, commits_, commits_ * 1000});
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
    inspector::apply_theme(app.settings().light, app.settings().scale > 0 ? app.settings().scale : 1);
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

void Headless::click(inspector::App& app, ImVec2 at) { button(app, at, 0); }
void Headless::right_click(inspector::App& app, ImVec2 at) { button(app, at, 1); }

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
