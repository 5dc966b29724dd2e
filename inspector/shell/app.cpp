#include "app.h"

#include <fmt/format.h>

#include <algorithm>

#include <canopy/base/figures.h>
#include <views/draw.h>
#include <views/screen_text.h>
#include "keys.h"

namespace canopy::inspector {

namespace {

/// Index of the panel that a small window shows first.
constexpr std::size_t kFirstInSmall = 2;  // the tree, behind the two bars

}  // namespace

App::App(std::unique_ptr<Link> link, const Settings& settings) : App(std::move(link), nullptr, settings) {}

App::App(std::unique_ptr<Picker> picker, const Settings& settings) : App(nullptr, std::move(picker), settings) {}

App::App(std::unique_ptr<Link> link, std::unique_ptr<Picker> picker, const Settings& settings)
    : picker_(std::move(picker)), settings_(settings), mirror_(FeedHeader{}) {
  make_panels();
  selection_.colour = settings.colour;
  tree_panel().show(settings.tree);
  time_.axis_by = settings.axis;
  session_.state = Session::State::choosing;
  if (link) connect(std::move(link));
}

void App::make_panels() {
  panels_.clear();
  for (const PanelInfo& info : panels()) panels_.push_back(info.make());
}

/// Replaces the source. Only the user's way of viewing survives: colour, view, read-only.
void App::connect(std::unique_ptr<Link> link) {
  picker_.reset();
  next_link_.reset();
  link_ = std::move(link);
  mirror_ = Mirror(link_->header());
  index_ = {};
  figures_ = {};
  Session session;
  session.state = Session::State::attaching;
  session.feed = session_.feed + 1;
  session_ = std::move(session);
  Selection selection;
  selection.colour = selection_.colour;
  selection.exports.possible = selection_.exports.possible;
  selection_ = std::move(selection);
  const TreeView view = tree_panel().view();
  make_panels();
  tree_panel().show(view);
  Mailbox mailbox;
  mailbox.open = link_->header().controls != 0;
  mailbox.read_only = mailbox_.read_only, mailbox.locked = mailbox_.locked;
  mailbox_ = std::move(mailbox);
  const AxisBy axis_by = time_.axis_by;
  time_ = {};
  time_.axis_by = axis_by;
  time_.begun = [link = link_.get()](std::uint64_t request) { return link->begun(request); };
  behind_ = false;
  notes_.forget();
}

void App::offer(Sources sources) { sources_ = std::move(sources); }

void App::offer_exports(Save save) {
  save_ = std::move(save);
  selection_.exports.possible = save_ != nullptr;
}

void App::saved(std::string message) {
  constexpr double kShown = 8;  // seconds
  selection_.exports.result = std::move(message);
  selection_.exports.until = ImGui::GetTime() + kShown;
}

void App::attach(const std::string& name) {
  if (!sources_.attach) return;
  auto link = sources_.attach(name);
  if (!link) saved(link.error().text);
  else if (*link) connect(std::move(*link));
}

void App::spent(double frame_ms, std::uint64_t memory) {
  constexpr std::uint64_t kCounted = 100;
  if (cost_.frames++ % kCounted == 0) cost_.worst_ms = 0;
  cost_.frame_ms = frame_ms, cost_.worst_ms = std::max(cost_.worst_ms, frame_ms), cost_.memory = memory;
}

void App::choose() {
  if (picker_ && link_) picker_.reset();
  else if (!picker_ && sources_.find)
    picker_ = std::make_unique<Picker>(sources_.find, sources_.attach, sources_.open, false);
}

/// Looks every half second for an engine with the name of the one that has ended.
void App::attach_again() {
  constexpr auto kEvery = std::chrono::milliseconds(500);
  if (next_link_ && !time_.held) return connect_again(std::move(next_link_));
  if (!link_->can_come_again()) return;
  session_.waits_for_again = session_.state == Session::State::gone && sources_.attach && !session_.name.empty();
  const auto now = std::chrono::steady_clock::now();
  if (!session_.waits_for_again || next_link_ || now < next_look_) return;
  next_look_ = now + kEvery;
  if (auto link = sources_.attach(session_.name)) connect_again(std::move(*link));
}

void App::connect_again(std::unique_ptr<Link> link) {
  // While the user looks at the past of the engine that has ended, the next one waits.
  if (time_.held) return void(next_link_ = std::move(link));
  const std::uint64_t again = session_.again + 1;
  std::unique_ptr<Picker> picker = std::move(picker_);
  connect(std::move(link));
  picker_ = std::move(picker);
  session_.again = again;
}

bool App::pump(std::chrono::milliseconds budget) {
  if (picker_)
    if (auto chosen = picker_->look()) connect(std::move(chosen));
  if (!link_) return true;
  std::erase_if(mailbox_.commands, [&](const Command& command) { return link_->send(command); });
  const bool all = link_->pump(mirror_, session_, time_, budget);
  behind_ = !session_.reading.empty();
  mailbox_.in_past = time_.held;
  if (!time_.held) mailbox_.follow_pause(mirror_.paused());
  if (notes_.update(link_->recording(), time_)) saved(time_.notes_complaint);
  attach_again();
  return all;
}

std::uint64_t App::changes() const {
  std::uint64_t sum = mirror_.commits();
  for (const std::uint64_t part :
       {std::uint64_t{mirror_.in_step()}, static_cast<std::uint64_t>(session_.state), session_.feed, session_.laps,
        std::uint64_t{mailbox_.paused}, std::uint64_t{picker_ != nullptr}, time_.at, time_.wanted, time_.end,
        std::uint64_t{time_.held}})
    sum = sum * 31 + part;
  return sum;
}

void App::stop_loading() {
  if (time_.end == 0) return choose();  // no operation has been found yet
  time_.seek(time_.at);
  behind_ = false;
}

Settings App::settings() const {
  Settings now = settings_;
  now.colour = selection_.colour;
  now.tree = tree_panel().view();
  now.axis = time_.axis_by;
  return now;
}

/// Handles the input since the last frame, and updates the index for the current moment.
void App::update() {
  const ImGuiIO& io = ImGui::GetIO();
  if (!io.WantTextInput && !commands_.is_open()) {
    for (const ImWchar character : io.InputQueueCharacters) press_character(*this, character);
    press_named_keys(*this);
  }
  if (std::exchange(selection_.pause_wanted, false)) toggle_pause();
  if (std::exchange(selection_.choose_wanted, false)) choose();
  for (const Exports::File& file : std::exchange(selection_.exports.wanted, {}))
    if (save_) saved(save_(file.name, file.text));
  if (selection_.group >= mirror_.groups()) selection_.group = 0;
  if (!mirror_.below()) selection_.show_tier(false);
  if (selection_.request_wanted != 0 && (!time_.seekable || time_.at == time_.wanted))
    if (const MirrorRequest* wanted = mirror_.request(std::exchange(selection_.request_wanted, 0)))
      selection_.select_request(*wanted);
  if (behind_) return;
  time_.snap_range();
  figures_.update(time_, selection_);
  const auto began = std::chrono::steady_clock::now();
  if (mirror_.groups() != 0 && index_.update(shown(), selection_.group, tree_panel().folded()))
    if (const auto took = std::chrono::steady_clock::now() - began; took > std::chrono::milliseconds(10))
      rests_until_ = began + took * 6;
  if (mirror_.groups() != 0 && selection_.colour == ColourBy::tier)
    shares_.update(shown(), selection_.tier ? &mirror_ : mirror_.below(), selection_.group);
}

void App::draw() {
  update();
  // Files are offered by the panels that are drawn: the list of commands shows those of the frame before.
  selection_.exports.offers.clear();
  Scene scene = this->scene();
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  under_mouse_ = {0, 0, display.x, display.y}, title_under_mouse_ = "all";
  const Layout layout = lay_out_panels(panels(), display.x, display.y, em(), settings_.shares);
  small_ = layout.chooser.height > 0;
  if (small_ && !full_window_) full_window_ = front_.value_or(kFirstInSmall);
  if (small_ && front_) shown_tab_ = std::exchange(front_, std::nullopt);
  ImGui::GetBackgroundDrawList()->AddRectFilled({0, 0}, display, palette().background);
  const Notice notice = notice_of(session_, mirror_);
  const bool shown = !picker_ && !behind_ && notice.what.empty();
  if (shown && !full_window_ && !selection_.help) splitters_.update(layout, settings_.shares);
  draw_panels(scene, layout, shown);
  if (picker_) {
    picker_->draw(layout.body);
  } else if (behind_) {
    if (loading_.draw(session_, layout.body)) stop_loading();
  } else if (!shown) {
    begin_panel("##notice", layout.body);
    nothing_here(notice.what + "\n\n" + notice.next);
    end_panel();
  }
  if (shown) note_field_.draw(scene, layout.rows.to().y);
  if (selection_.help) draw_key_sheet(*this);
  commands_.draw(*this);
}

namespace {

/// Draws a panel. Shows unknown content as unknown, not as empty.
void draw_panel(Panel& panel, const PanelInfo& info, Scene& scene) {
  if (info.not_in_events != nullptr && scene.mirror.is_from_events()) nothing_here(info.not_in_events);
  else if (info.needs_nodes && !scene.mirror.no_nodes().empty())
    nothing_here("Not known: " + scene.mirror.no_nodes() + ".");
  else panel.draw(scene);
}

/// Returns true if a panel's title was double-clicked. REQUIRES: called between begin_panel and end_panel.
bool title_double_clicked(const Area& area) {
  return ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left) && ImGui::IsWindowHovered() && !ImGui::IsAnyItemHovered() &&
         ImGui::GetIO().MousePos.y < area.y + 1.8F * em();
}

/// Returns true if the feed reports what the panel shows.
bool is_known(const PanelInfo& info, const Scene& scene) {
  const bool known = info.not_in_events == nullptr || !scene.mirror.is_from_events();
  return known && (!info.needs_nodes || scene.mirror.no_nodes().empty());
}

/// Returns what stands beside a panel's title: what its figures are of, and its note.
std::string note_of(const Panel& panel, const PanelInfo& info, const Scene& scene) {
  if (!is_known(info, scene)) return {};
  const std::string_view of = figures_word(info.figures, scene);
  const std::string note = panel.note(scene);
  return fmt::format("{}{}{}", of, of.empty() || note.empty() ? "" : "   ", note);
}

/// Draws what the figures of a tab are of at the right end of the tabs' line, where there is room.
void draw_figures_word(std::string_view of, float tabs_end, float top) {
  const float end = ImGui::GetWindowPos().x + ImGui::GetWindowWidth() - ImGui::GetStyle().WindowPadding.x;
  const float left = end - ImGui::CalcTextSize(of.data(), of.data() + of.size()).x;
  if (of.empty() || left < tabs_end + em() * 0.5F) return;
  ImGui::GetWindowDrawList()->AddText({left, top}, palette().text, of.data(), of.data() + of.size());
}

}  // namespace

/// Draws a panel. While the tree shows the tier below, the other panels show the pools: a node selected in one of them
/// is a node of the pools, and switches the tree back to them.
void App::draw_content(std::size_t panel, Scene& scene) {
  const PanelInfo& info = panels()[panel];
  if (!selection_.tier || info.shows_tier) return draw_panel(*panels_[panel], info, scene);
  const std::uint64_t node = std::exchange(selection_.node, 0);
  Scene pools{mirror_, index_, selection_, mailbox_, session_, time_, mirror_, figures_, shares_};
  draw_panel(*panels_[panel], info, pools);
  if (selection_.node != 0) selection_.tier = false;
  else if (selection_.tier) selection_.node = node;
}

/// Draws the panels; only the header if there is nothing to show below it.
void App::draw_panels(Scene& scene, const Layout& layout, bool bars_below) {
  const std::span<const PanelInfo> infos = panels();
  std::optional<std::size_t> tab;
  char maximised = 0;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const PanelInfo& info = infos[i];
    if (!bars_below && info.row != Row::header) continue;
    if (info.row == Row::tab) tab = i;
    if ((info.row == Row::tab || info.row == Row::page) && i != full_window_) continue;
    if (full_window_ && !info.is_bar() && i != *full_window_) continue;
    const std::string title = info.is_bar() ? fmt::format("##{}", info.title) : info.title;
    const Area& area = i == full_window_ ? layout.rows : layout.panels[i];
    look_under_mouse(area, info.title);
    begin_panel(title.c_str(), area, note_of(*panels_[i], info, scene), info.help);
    draw_content(i, scene);
    if (!info.is_bar() && title_double_clicked(area)) maximised = info.key;
    end_panel();
  }
  if (tab && !full_window_) draw_tabs(scene, layout.panels[*tab]);
  if (small_ && bars_below) draw_chooser(scene, layout.chooser);
  if (maximised != 0) show_panel(maximised);
}

void App::look_under_mouse(const Area& area, std::string_view title) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (selection_.help || mouse.x < area.x || mouse.y < area.y || mouse.x >= area.to().x || mouse.y >= area.to().y)
    return;
  under_mouse_ = area, title_under_mouse_ = title;
}

void App::draw_tabs(Scene& scene, const Area& area) {
  look_under_mouse(area, front_tab());
  begin_panel("##tabs", area);
  // Shows all titles in full, even in a narrow window.
  const ImVec2 padding = ImGui::GetStyle().FramePadding;
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {std::min(padding.x, area.width / em() / 12), padding.y});
  const bool bar = ImGui::BeginTabBar("tabs");
  if (bar) {
    const std::span<const PanelInfo> infos = panels();
    std::string_view of;
    float tabs_end = 0, top = 0;
    for (std::size_t i = 0; i < infos.size(); ++i) {
      if (infos[i].row != Row::tab) continue;
      const bool open = ImGui::BeginTabItem(infos[i].title, nullptr, i == front_ ? ImGuiTabItemFlags_SetSelected : 0);
      explain(infos[i].help);
      tabs_end = std::max(tabs_end, ImGui::GetItemRectMax().x);
      top = ImGui::GetItemRectMin().y + ImGui::GetStyle().FramePadding.y;
      if (!open) continue;
      shown_tab_ = i;
      if (is_known(infos[i], scene)) of = figures_word(infos[i].figures, scene);
      ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, padding);
      draw_content(i, scene);
      ImGui::PopStyleVar();
      ImGui::EndTabItem();
    }
    front_.reset();
    draw_figures_word(of, tabs_end, top);
    ImGui::EndTabBar();
  }
  ImGui::PopStyleVar();
  end_panel();
}

namespace {

/// Returns the index of the panel with a key; nothing if there is none.
std::optional<std::size_t> panel_of(char key) {
  const std::span<const PanelInfo> infos = panels();
  for (std::size_t i = 0; key != 0 && i < infos.size(); ++i)
    if (infos[i].key == key) return i;
  return {};
}

}  // namespace

void App::copy_wanted_text() {
  if (!std::exchange(selection_.copy, false)) return;
  const std::string words = ScreenText().text_in(under_mouse_);
  ImGui::SetClipboardText(words.c_str());
  saved(fmt::format("copied {}: {}", title_under_mouse_,
                    plural(static_cast<std::uint64_t>(std::count(words.begin(), words.end(), '\n')), "line")));
}

void App::show_panel(char key) {
  const auto panel = panel_of(key);
  if (!panel) return;
  const bool filled = full_window_ == panel;
  leave_full_window();
  if (panels()[*panel].row == Row::tab && (filled || shown_tab_ != panel)) front_ = panel;
  else if (!filled) full_window_ = panel;
}

bool App::leave_full_window() {
  const bool filled = full_window_ && !(small_ && full_window_ == kFirstInSmall);
  full_window_.reset();
  return filled;
}

void App::fill_window(char key) {
  const auto panel = panel_of(key);
  if (!panel) return;
  full_window_ = panel;
  bring_to_front(key);
}

void App::bring_to_front(char key) {
  const auto panel = panel_of(key);
  if (panel && panels()[*panel].row == Row::tab && tab_in_front() != key) front_ = shown_tab_ = panel;
}

char App::first_tab() {
  const std::span<const PanelInfo> infos = panels();
  return std::find_if(infos.begin(), infos.end(), [](const PanelInfo& info) { return info.row == Row::tab; })->key;
}

bool App::open_tab(std::string_view title) {
  for (const PanelInfo& info : panels())
    if (info.row == Row::tab && info.title == title) return show_panel(info.key), true;
  return false;
}

void App::toggle_pause() {
  if (!time_.live) time_.playing = !time_.playing;
  else if (time_.held) time_.seek(time_.end);
  else if (mailbox_.obeyed()) mailbox_.send(mailbox_.paused ? Command::Kind::go_on : Command::Kind::pause);
  else time_.held = true;
}

bool App::step_search(bool back) {
  Scene scene = this->scene();
  return tree_panel().step_search(scene, back);
}

void App::go_back() {
  if (picker_ && link_) return choose();
  if (behind_) return stop_loading();
  if (std::exchange(selection_.help, false) || leave_full_window() || tree_panel().back()) return;
  if (selection_.node != 0 || selection_.request != 0) return selection_.select_node(0), void(selection_.request = 0);
  if (!time_.range.empty()) return void(time_.range = {});
  if (selection_.space) return selection_.space.reset();
  time_.from = time_.to = 0;
}

void App::turn_theme() {
  settings_.light = !settings_.light;
  theme_changed_ = true;
}

void App::scale_by(float step) {
  settings_.scale = std::clamp((settings_.scale > 0 ? settings_.scale : 1.F) + step, 0.75F, 4.F);
  theme_changed_ = true;
}

}  // namespace canopy::inspector
