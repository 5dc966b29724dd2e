#include "script.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>
#include <thread>

#include <account/time_axis.h>
#include <mirror/names.h>

namespace canopy::inspector {
namespace {

/// One line of a script, read word by word. `complaint` is the first problem.
class Line {
 public:
  Line(const std::string& words, Canvas& canvas, App& app, const Script& script)
      : words_(words), canvas_(canvas), app_(app), script_(script) {}

  std::string run() {
    std::string verb;
    words_ >> verb;
    if (verb.empty() || verb[0] == '#') return {};
    if (verb == "wait") wait();
    else if (verb == "requests") run_to();
    else if (verb == "click") click(0, 1);
    else if (verb == "double") click(0, 2);
    else if (verb == "right") click(1, 1);
    else if (verb == "move") move(place());
    else if (verb == "drag") drag();
    else if (verb == "wheel") wheel();
    else if (verb == "key") key(word());
    else if (verb == "type") type();
    else if (verb == "select") select();
    else if (verb == "tab") tab();
    else if (verb == "colour") colour();
    else if (verb == "view") view();
    else if (verb == "seek") seek();
    else if (verb == "range") range();
    else if (verb == "zoom") zoom();
    else if (verb == "screenshot") screenshot();
    else complaint_ = fmt::format("'{}' is not a command", verb);
    if (complaint_.empty()) settle(canvas_, app_);
    return complaint_;
  }

 private:
  std::string word() {
    std::string text;
    if (!(words_ >> text)) complain("a word is missing");
    return text;
  }
  std::string rest() {
    std::string text;
    std::getline(words_ >> std::ws, text);
    return text;
  }
  float number() {
    float value = 0;
    if (!(words_ >> value)) complain("a number is missing");
    return value;
  }
  void complain(std::string why) {
    if (complaint_.empty()) complaint_ = std::move(why);
  }

  void wait() {
    if (std::string why = wait_until_shown(app_); !why.empty()) complain(std::move(why));
  }
  void run_to() {
    const float wanted = number();
    if (!script_.run_to) return complain("there is no demo engine to run");
    if (app_.mailbox().paused) return complain("the engine is paused");
    // Runs in steps, so that the ring has room for all events of a step.
    constexpr std::uint64_t kStep = 50;
    for (std::uint64_t next = 0, last = static_cast<std::uint64_t>(wanted); next < last;) {
      next = std::min(last, next + kStep);
      script_.run_to(next);
      while (!app_.pump(std::chrono::milliseconds(50))) continue;
    }
  }
  void frame() { canvas_.frame(app_); }
  ImVec2 place() {
    const float x = number();
    return {x, number()};
  }
  void move(ImVec2 to) {
    ImGui::GetIO().MousePos = to;
    frame();
  }
  void press(int mouse_button, int times) {
    bool& down = ImGui::GetIO().MouseDown[mouse_button];
    for (int i = 0; i < times; ++i) {
      down = true;
      frame();
      down = false;
      frame();
    }
  }
  void click(int mouse_button, int times) {
    std::string first = word();
    if (first == "node") {
      const MirrorNode* node = this->node();
      if (!node) return;
      ImVec2 at;
      frame();
      if (!app_.tree_panel().middle_of(app_.tree(), node->id, at)) return complain("the node has no box of its own");
      move(at);
    } else {
      float x = 0;
      const auto [end, error] = std::from_chars(first.data(), first.data() + first.size(), x);
      if (error != std::errc() || end != first.data() + first.size())
        return complain(fmt::format("'{}' is not a place; expected X Y or node N", first));
      move({x, number()});
    }
    if (complaint_.empty()) press(mouse_button, times);
  }
  void drag() {
    move(place());
    ImGui::GetIO().MouseDown[0] = true;
    frame();
    move(place());
    ImGui::GetIO().MouseDown[0] = false;
    frame();
  }
  void wheel() {
    move(place());
    ImGui::GetIO().MouseWheel = number();
    frame();
    ImGui::GetIO().MouseWheel = 0;
  }
  void key(const std::string& name) {
    static const std::map<std::string, ImGuiKey> kNamed = {{"Escape", ImGuiKey_Escape},    {"Left", ImGuiKey_LeftArrow},
                                                           {"Right", ImGuiKey_RightArrow}, {"Up", ImGuiKey_UpArrow},
                                                           {"Down", ImGuiKey_DownArrow},   {"Home", ImGuiKey_Home},
                                                           {"End", ImGuiKey_End},          {"Enter", ImGuiKey_Enter}};
    if (name.size() == 1) {
      ImGui::GetIO().AddInputCharacter(static_cast<unsigned char>(name[0]));
      return frame();
    }
    if (name == "Space") {
      ImGui::GetIO().AddInputCharacter(' ');
      return frame();
    }
    const auto found = kNamed.find(name);
    if (found == kNamed.end()) return complain(fmt::format("'{}' is not a key", name));
    bool& down = ImGui::GetIO().KeysDown[ImGui::GetKeyIndex(found->second)];
    down = true;
    frame();
    down = false;
    frame();
  }
  void type() {
    frame();
    ImGui::GetIO().AddInputCharactersUTF8(rest().c_str());
    frame();
  }
  const MirrorNode* node() {
    const std::string name = word();
    std::uint32_t slot = 0, life = 0;
    if (parse_node_name(name, slot, life) && slot < app_.mirror().slots()) {
      const MirrorNode& node = app_.mirror().node(slot);
      if (node.id != 0 && (life == 0 || life == life_of(node.id))) return &node;
    }
    complain(fmt::format("there is no node '{}'", name));
    return nullptr;
  }
  void select() {
    const std::string what = word();
    if (what == "node") {
      if (const MirrorNode* chosen = node()) app_.selection().select_node(chosen->id);
    } else if (what == "request") {
      const auto wanted = static_cast<std::uint64_t>(number());
      const MirrorRequest* request = app_.mirror().request(wanted);
      const std::vector<MirrorRequest>& known = app_.mirror().requests();
      if (!request && known.empty()) return complain("no request is known yet");
      if (!request)
        return complain(
            fmt::format("request {} is not known; known are {} to {}", wanted, known.front().id, known.back().id));
      app_.selection().select_request(*request);
    } else if (what == "heaviest") {
      const MirrorNode* heaviest = nullptr;
      for (std::uint32_t slot = 1; slot < app_.mirror().slots(); ++slot)
        if (const MirrorNode& here = app_.mirror().node(slot);
            here.id != 0 && here.children == 0 && (!heaviest || here.length > heaviest->length))
          heaviest = &here;
      if (heaviest) app_.selection().select_node(heaviest->id, false);
    } else {
      complain("expected node, request or heaviest after 'select'");
    }
  }
  void tab() {
    const std::string title = word();
    if (!app_.open_tab(title)) return complain(fmt::format("there is no tab '{}'", title));
    frame();
  }
  void colour() {
    const std::string name = rest();
    for (std::size_t i = 0; i < kColourNames.size(); ++i)
      if (name == kColourNames[i]) {
        app_.selection().colour = static_cast<ColourBy>(i);
        return;
      }
    complain(fmt::format("'{}' is not a meaning of colour; expected state, last use, hits, namespace or tier", name));
  }
  void view() {
    const std::string name = word();
    for (std::size_t i = 0; i < kTreeViewNames.size(); ++i)
      if (name == kTreeViewNames[i]) return app_.tree_panel().show(static_cast<TreeView>(i));
    complain(fmt::format("'{}' is not a view of the tree; expected icicle or nodes", name));
  }
  void seek() {
    std::string to = word();
    if (!app_.time().seekable) return complain("'seek' needs a recording, or a live feed whose past is kept");
    const bool share = to.ends_with('%');
    double value = 0;
    const auto [end, error] = std::from_chars(to.data(), to.data() + to.size() - share, value);
    if (error != std::errc() || end != to.data() + to.size() - share || value < 0)
      return complain(fmt::format("'{}' is not a moment; expected a commit, or a share such as 50%", to));
    app_.time().seek(static_cast<std::uint64_t>(share ? value / 100 * static_cast<double>(app_.time().end) : value));
  }
  /// Reads two commits, or shares of the time's length.
  CommitRange two_commits() {
    const std::string first = word();
    if (first == "none" || !complaint_.empty()) return {};
    const TimeAxis axis = app_.time().axis();
    const auto commit_of = [&](const std::string& text) -> std::uint64_t {
      double value = 0;
      const bool share = text.ends_with('%');
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size() - share, value);
      if (error != std::errc() || end != text.data() + text.size() - share || value < 0) {
        complain(fmt::format("'{}' is not a moment; expected a commit, or a share such as 50%", text));
        return 0;
      }
      if (!share) return static_cast<std::uint64_t>(value);
      return axis.commit_at(axis.first() + value / 100 * (axis.last() - axis.first()));
    };
    const std::uint64_t from = commit_of(first), to = commit_of(word());
    return {std::max<std::uint64_t>(from, 1), to};
  }
  void range() { app_.time().range = two_commits(); }
  void zoom() {
    const CommitRange window = two_commits();
    const TimeAxis axis = app_.time().axis();
    Timeline& time = app_.time();
    time.from = window.empty() ? 0 : axis.value_of(window.first);
    time.to = window.empty() ? 0 : axis.value_of(window.last);
  }
  void screenshot() {
    const std::string path = rest();
    settle(canvas_, app_);
    if (const std::string why = write_png(path, canvas_.pixels(), canvas_.width(), canvas_.height()); !why.empty())
      complain(why);
  }

  std::istringstream words_;
  Canvas& canvas_;
  App& app_;
  const Script& script_;
  std::string complaint_;
};

}  // namespace

std::string wait_until_shown(App& app) {
  using namespace std::chrono_literals;
  const auto until = std::chrono::steady_clock::now() + 10s;
  for (;;) {
    app.pump(50ms);
    if (app.mirror().in_step() || app.picker()) return {};
    const auto nothing = [&](const std::string& why) {
      return fmt::format("the feed '{}': {}", app.session().name, why);
    };
    if (app.session().state == Session::State::gone) return nothing(app.session().detail);
    if (std::chrono::steady_clock::now() > until)
      return nothing("no events came for 10 s: its engine is idle, and its process does not call Engine::poll()");
    std::this_thread::sleep_for(10ms);
  }
}

void settle(Canvas& canvas, App& app) {
  while (!app.pump(std::chrono::milliseconds(50))) continue;
  // ImGui knows the size of a table or a window only after it has drawn it once.
  for (int i = 0; i < 3; ++i) canvas.frame(app);
}

std::string Script::run(std::istream& lines, Canvas& canvas, App& app) const {
  ImGui::GetIO().MousePos = {-1, -1};
  settle(canvas, app);
  std::string words;
  for (int number = 1; std::getline(lines, words); ++number)
    if (const std::string why = Line(words, canvas, app, *this).run(); !why.empty())
      return fmt::format("{}: {}", number, why);
  return {};
}

}  // namespace canopy::inspector
