#include "app.h"

#include <fmt/format.h>

#include <algorithm>

namespace canopy::inspector {

App::App(std::unique_ptr<Link> link, const Settings& settings) : App(std::move(link), nullptr, settings) {}

App::App(std::unique_ptr<Picker> picker, const Settings& settings) : App(nullptr, std::move(picker), settings) {}

App::App(std::unique_ptr<Link> link, std::unique_ptr<Picker> picker, const Settings& settings)
    : picker_(std::move(picker)), settings_(settings), mirror_(FeedHeader{}) {
  selection_.colour = settings.colour;
  tree_.show(settings.tree);
  session_.state = Session::State::choosing;
  if (link) connect(std::move(link));
}

void App::connect(std::unique_ptr<Link> link) {
  picker_.reset();
  link_ = std::move(link);
  mirror_ = Mirror(link_->header());
  session_.state = Session::State::attaching;
  mailbox_.open = link_->header().controls != 0;
  time_.begun = [link = link_.get()](std::uint64_t request) { return link->begun(request); };
}

bool App::pump(std::chrono::milliseconds budget) {
  if (picker_)
    if (auto chosen = picker_->look()) connect(std::move(chosen));
  if (!link_) return true;
  std::erase_if(mailbox_.commands, [&](const Command& command) { return link_->send(command); });
  const bool all = link_->pump(mirror_, session_, time_, budget);
  mailbox_.hear(mirror_.paused());
  return all;
}

Settings App::settings() const {
  Settings now = settings_;
  now.colour = selection_.colour;
  now.tree = tree_.view();
  return now;
}

void App::draw() {
  ImGuiIO& io = ImGui::GetIO();
  selection_.cursor = 0;
  if (!io.WantTextInput) {
    for (const ImWchar character : io.InputQueueCharacters) press(character);
    arrows();
    if (ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Enter))) step_search(false);
  }
  if (ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Escape)) && !io.WantTextInput) {
    if (selection_.help) selection_.help = false;
    else if (!tree_.back()) selection_.select_node(0), selection_.request = 0;
  }
  if (std::exchange(selection_.pause_wanted, false)) toggle_pause();
  if (selection_.group >= mirror_.groups()) selection_.group = 0;
  if (selection_.request_wanted != 0 && (!time_.seekable || time_.at == time_.wanted))
    if (const MirrorRequest* wanted = mirror_.request(std::exchange(selection_.request_wanted, 0)))
      selection_.select_request(*wanted);
  const auto began = std::chrono::steady_clock::now();
  if (mirror_.groups() != 0 && index_.update(mirror_, selection_.group, tree_.folded()))
    if (const auto took = std::chrono::steady_clock::now() - began; took > std::chrono::milliseconds(10))
      rests_until_ = began + took * 6;

  Scene scene = this->scene();
  const Layout layout = lay_out_panels(io.DisplaySize.x, io.DisplaySize.y, em());
  ImGui::GetBackgroundDrawList()->AddRectFilled({0, 0}, io.DisplaySize, palette().background);
  draw_header(scene, layout.header);
  const Notice notice = notice_of(session_, mirror_);
  Area below = layout.health;
  below.height = io.DisplaySize.y - below.y - layout.header.y;
  if (picker_) {
    picker_->draw(below);
  } else if (!notice.what.empty()) {
    begin_panel("##notice", below);
    nothing_here(notice.what + "\n\n" + notice.next);
    end_panel();
  } else {
    draw_health(scene, layout.health);
    sizes_.draw(scene, layout.sizes);  // first, since its cursor is everybody's
    tree_.draw(scene, layout.tree);
    node_.draw(scene, layout.node);
    pool_.draw(scene, layout.pool);
    leave_.draw(scene, layout.leave);
    requests_.draw(scene, layout.requests);
    draw_tabs(scene, layout.tabs);
    draw_time_bar(scene, layout.time);
  }
  if (selection_.help) draw_help();
}

void App::draw_tabs(Scene& scene, const Area& area) {
  begin_panel("##tabs", area);
  if (ImGui::BeginTabBar("tabs")) {
    const auto shown = [&](const char* name) {
      return ImGui::BeginTabItem(name, nullptr, wanted_tab_ == name ? ImGuiTabItemFlags_SetSelected : 0);
    };
    if (shown("EVENTS")) {
      events_.draw(scene);
      ImGui::EndTabItem();
    }
    if (shown("CONTROLS")) {
      controls_.draw(scene);
      ImGui::EndTabItem();
    }
    const struct {
      const char* name;
      void (*draw)(Scene&);
    } tabs[] = {{"PLUGINS", draw_plugins}, {"CONFIG", draw_config}, {"COMPARE", draw_compare}};
    for (const auto& tab : tabs)
      if (shown(tab.name)) {
        tab.draw(scene);
        ImGui::EndTabItem();
      }
    wanted_tab_ = {};
    ImGui::EndTabBar();
  }
  end_panel();
}

void App::toggle_pause() {
  if (time_.seekable) time_.playing = !time_.playing;
  else if (session_.state == Session::State::held) session_.state = Session::State::attaching;
  else if (mailbox_.open) mailbox_.send(mailbox_.paused ? Command::Kind::go_on : Command::Kind::pause);
  else if (session_.state == Session::State::live) session_.state = Session::State::held;
}

bool App::step_search(bool back) {
  Scene scene = this->scene();
  return tree_.step_search(scene, back);
}

void App::next_bookmark() {
  std::vector<std::uint64_t> marks = time_.bookmarks;
  std::sort(marks.begin(), marks.end());
  const auto next = std::upper_bound(marks.begin(), marks.end(), time_.at);
  if (!marks.empty()) time_.seek(next == marks.end() ? marks.front() : *next);
}

void App::press(unsigned character) {
  if (picker_ && std::string_view("?t+-").find(static_cast<char>(character)) == std::string_view::npos) return;
  constexpr std::string_view kTabs[] = {"EVENTS", "CONTROLS", "PLUGINS", "CONFIG", "COMPARE"};
  if (character >= '1' && character < '1' + std::size(kTabs)) wanted_tab_ = kTabs[character - '1'];
  switch (character) {
    case '?':
      selection_.help = !selection_.help;
      break;
    case '/':
      tree_.focus_search();
      break;
    case ' ':
      toggle_pause();
      break;
    case 'c':
      selection_.colour =
          static_cast<ColourBy>((static_cast<std::size_t>(selection_.colour) + 1) % kColourNames.size());
      break;
    case 'f':
      tree_.fold(mirror_, selection_.node);
      break;
    case 'v':
      tree_.show(tree_.view() == TreeView::icicle ? TreeView::nodes : TreeView::icicle);
      selection_.reveal = selection_.node != 0;
      break;
    case 'z':
      tree_.zoom_to(scene(), index_.place_of(slot_of(static_cast<NodeId>(selection_.node))));
      break;
    case 'g':
      if (mirror_.groups() != 0) selection_.group = (selection_.group + 1) % mirror_.groups();
      break;
    case 'p':
      if (const std::uint64_t id = selection_.node; id != 0)
        mailbox_.send(mirror_.pins().contains(id) ? Command::Kind::unpin : Command::Kind::pin, id);
      break;
    case 'e':
      mailbox_.run_until(Condition::evicted, 0, static_cast<std::uint32_t>(selection_.group));
      break;
    case 'w':
      mailbox_.run_until(Condition::missed, kAnySpace, 0);
      break;
    case 't':
      settings_.light = !settings_.light;
      theme_changed_ = true;
      break;
    case '+':
    case '-':
      settings_.scale =
          std::clamp((settings_.scale > 0 ? settings_.scale : 1.F) + (character == '+' ? 0.25F : -0.25F), 0.75F, 4.F);
      theme_changed_ = true;
      break;
    case 'm':
      if (time_.seekable) time_.bookmarks.push_back(time_.at);
      break;
    case 'n':
      if (!step_search(false)) next_bookmark();
      break;
    case 'N':
      step_search(true);
      break;
    default:
      break;
  }
}

void App::arrows() {
  const auto pressed = [](ImGuiKey key) { return ImGui::IsKeyPressed(ImGui::GetKeyIndex(key)); };
  if (time_.seekable) {
    if (pressed(ImGuiKey_LeftArrow) && time_.at > Timeline::kFirst) time_.seek(time_.at - 1);
    if (pressed(ImGuiKey_RightArrow)) time_.seek(time_.at + 1);
    if (pressed(ImGuiKey_Home)) time_.seek(0);
    if (pressed(ImGuiKey_End)) time_.seek(time_.end);
  } else if (pressed(ImGuiKey_RightArrow)) {
    mailbox_.send(Command::Kind::step, 1);
  }
  const MirrorNode* node = selection_.node ? mirror_.find(selection_.node) : nullptr;
  const auto go = [&](std::uint32_t slot) {
    if (slot != 0) selection_.select_node(mirror_.node(slot).id);
  };
  if (!node) return;
  if (pressed(ImGuiKey_UpArrow)) go(node->parent);
  if (pressed(ImGuiKey_DownArrow)) go(node->first_child);
  if (pressed(ImGuiKey_PageUp)) go(node->prev);
  if (pressed(ImGuiKey_PageDown)) go(node->next);
}

void App::draw_help() {
  const struct {
    const char *key, *what;
  } keys[] = {
      {"?", "this sheet"},
      {"/", "find a node (#12), a request (r 4711), a namespace by a part of its name, or a prefix of tokens (12 845)"},
      {"Enter  n  N", "of several that were found, the next or the one before"},
      {"space", "pause and go on: the engine if it takes controls, the picture if not, a recording's play"},
      {"left  right", "a recording: one commit back, one on; a live engine that takes controls: one step"},
      {"Home  End", "a recording: its beginning, its end"},
      {"m  n", "a recording: mark this moment, go to the next mark"},
      {"up  down", "the selected node's parent, its first child"},
      {"Page Up  Page Down", "its sibling before, its sibling after"},
      {"v", "the tree as an icicle, or as nodes and links"},
      {"z", "the tree: go into the selected node; Esc shows all again"},
      {"f", "the tree: fold and unfold the selected node"},
      {"wheel, drag", "the tree: zoom and pan; with Ctrl the wheel goes up and down"},
      {"double click", "the tree: go into a node; right click folds it"},
      {"p", "pin the selected node's path, or unpin it, if the engine takes controls"},
      {"e  w", "the engine goes on until it evicts from this group, until a request misses"},
      {"c", "another meaning of colour: state, last use, hits, namespace"},
      {"g", "another KV cache group"},
      {"1 .. 5", "events, controls, plugins, config, compare"},
      {"t", "dark or light"},
      {"+  -", "larger or smaller"},
      {"Ctrl Q", "quit"},
      {"Esc", "back: close this, show all of the tree, select nothing"}};
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos({display.x / 2, display.y / 2}, ImGuiCond_Always, {0.5F, 0.5F});
  ImGui::SetNextWindowFocus();
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1);
  ImGui::Begin("keys", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_AlwaysAutoResize);
  text("KEYS", palette().dim);
  ImGui::Dummy({0, em() * 0.2F});
  for (const auto& each : keys) {
    text(each.key, palette().accent);
    ImGui::SameLine(em() * 11);
    text(each.what);
  }
  ImGui::Dummy({0, em() * 0.2F});
  dim("Hover anything for what it is and where it comes from. Click a node, a page, a request or a line to select it.");
  ImGui::End();
  ImGui::PopStyleVar();
}

}  // namespace canopy::inspector
