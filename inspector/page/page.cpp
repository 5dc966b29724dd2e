#include <imgui.h>
#include <shell/address.h>
#include <shell/app.h>
#include <shell/frame_pace.h>
#include <shell/mouse_queue.h>
#include <shell/other_reading.h>
#include <sources/feed_flaw.h>
#include <views/draw.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "found_feeds.h"
#include "paint.h"
#include "report.h"
#include "stream_link.h"
#include "web_import.h"

/// The inspector as a WebAssembly module: to a page in a browser what window.cpp is to a display. The scripts of the
/// page call the exported functions, and have the imported ones. All texts are UTF-8. A function that takes memory gets
/// it from web_alloc, and frees it.
#define WEB_EXPORT(name) extern "C" __attribute__((export_name(#name)))

/// ImGui's number of the mouse's shape; -1: none.
WEB_IMPORT(cursor) void page_cursor(int shape);
WEB_IMPORT(copy) void page_copy(const char* text, std::size_t bytes);
WEB_IMPORT(attach) void page_attach(const char* name, std::size_t bytes);
/// Gives the user a file to keep.
WEB_IMPORT(save) void page_save(const char* name, std::size_t name_bytes, const char* text, std::size_t bytes);
/// Gives the user the canvas's picture to keep, as a PNG file.
WEB_IMPORT(picture) void page_picture(const char* name, std::size_t bytes);
/// Calls web_notes with the notes that the browser keeps for the recording that is shown.
WEB_IMPORT(load_notes) void page_load_notes();
/// Keeps the notes of the recording that is shown. Returns 0 if the browser cannot.
WEB_IMPORT(keep_notes) int page_keep_notes(const char* text, std::size_t bytes);
WEB_IMPORT(command) void page_command(const void* command, std::size_t bytes);

namespace {
using namespace canopy;
using namespace canopy::inspector;

/// Memory from web_alloc.
struct Taken {
  char* at = nullptr;
  std::size_t size = 0;
  Taken(char* memory, std::size_t bytes) : at(memory), size(bytes) {}
  Taken(const Taken&) = delete;
  ~Taken() { std::free(at); }
  std::string text() const { return {at, size}; }
};

class HeldBytes final : public RecordedBytes {
 public:
  HeldBytes(char* memory, std::size_t bytes) : memory_(memory, bytes) {}
  std::span<const std::byte> bytes() const override {
    return {reinterpret_cast<const std::byte*>(memory_.at), memory_.size};
  }

 private:
  Taken memory_;
};

/// A key that went down or up, or a character.
struct KeyEvent {
  ImGuiKey key = ImGuiKey_COUNT;  ///< ImGuiKey_COUNT: one that ImGui does not name
  bool down = false;
  int modifiers = 0;       ///< 1 Ctrl, 2 Shift, 4 Alt
  unsigned character = 0;  ///< 0: none
};

struct InspectorPage {
  std::vector<char> font;
  Settings settings;
  std::unique_ptr<App> app;
  std::unique_ptr<OtherReading> beside;  ///< second recording; null unless it is being read
  StreamLink* stream = nullptr;          ///< the app's link, if it is a stream
  FramePace pace;
  std::vector<FoundFeed> feeds;
  std::deque<KeyEvent> keys;  ///< not yet passed to ImGui
  int keys_wait = 0;          ///< frames until the next one is passed
  MouseQueue mouse;
  std::chrono::milliseconds frame_took{0};
  float density = 0, width = 0, height = 0;
  double drawn_at = 0;
  std::string text;                   ///< the last text that was given to the page
  std::string clipboard;              ///< the text that the user pasted
  std::string notes;                  ///< those that the browser keeps, see page_load_notes
  std::optional<std::string> wanted;  ///< address to show as soon as there is a picture

  void show(std::unique_ptr<Link> link) {
    stream = nullptr;
    if (app) app->connect(std::move(link));
    else app = std::make_unique<App>(std::move(link), settings);
    offer();
  }
  void offer() {
    app->offer_exports([](const std::string& name, const std::string& content) {
      page_save(name.data(), name.size(), content.data(), content.size());
      return "downloaded as " + name;
    });
    app->offer_notes({[this](const std::string&) -> Result<std::string> { return page_load_notes(), notes; },
                      [](const std::string&, const std::string& content) -> Result<std::monostate> {
                        if (page_keep_notes(content.data(), content.size()) != 0) return std::monostate();
                        return Error{"this browser keeps nothing for the page: save a copy of the notes"};
                      },
                      [](const std::string&) { return "this browser"; }});
    if (!feeds.empty()) app->offer({[this] { return feeds; }, ask, {}});
  }
  /// Requests a feed from the server. Its link comes with the feed's header.
  static Result<std::unique_ptr<Link>> ask(const std::string& name) {
    page_attach(name.data(), name.size());
    return std::unique_ptr<Link>();
  }
  const char* give(std::string what) {
    text = std::move(what);
    return text.c_str();
  }
};
InspectorPage page;

struct NamedKey {
  std::string_view name;  ///< value of KeyboardEvent.key
  ImGuiKey key;
};
constexpr NamedKey kKeys[] = {{"Tab", ImGuiKey_Tab},
                              {"ArrowLeft", ImGuiKey_LeftArrow},
                              {"ArrowRight", ImGuiKey_RightArrow},
                              {"ArrowUp", ImGuiKey_UpArrow},
                              {"ArrowDown", ImGuiKey_DownArrow},
                              {"PageUp", ImGuiKey_PageUp},
                              {"PageDown", ImGuiKey_PageDown},
                              {"Home", ImGuiKey_Home},
                              {"End", ImGuiKey_End},
                              {"Insert", ImGuiKey_Insert},
                              {"Delete", ImGuiKey_Delete},
                              {"Backspace", ImGuiKey_Backspace},
                              {" ", ImGuiKey_Space},
                              {"Enter", ImGuiKey_Enter},
                              {"Escape", ImGuiKey_Escape},
                              {"a", ImGuiKey_A},
                              {"c", ImGuiKey_C},
                              {"v", ImGuiKey_V},
                              {"x", ImGuiKey_X},
                              {"y", ImGuiKey_Y},
                              {"z", ImGuiKey_Z}};

/// Passes keys to ImGui: one a frame, as ImGui would miss a press and a release within one. A field takes all
/// characters at once. After any other character the next key waits until a field that the character opened has the
/// keyboard.
void pass_keys() {
  constexpr int kFramesToOpen = 3;
  ImGuiIO& io = ImGui::GetIO();
  if (page.keys_wait > 0) --page.keys_wait;
  while (!page.keys.empty() && (page.keys_wait == 0 || io.WantTextInput)) {
    const KeyEvent next = page.keys.front();
    page.keys.pop_front();
    io.KeyCtrl = (next.modifiers & 1) != 0, io.KeyShift = (next.modifiers & 2) != 0;
    io.KeyAlt = (next.modifiers & 4) != 0;
    if (next.key != ImGuiKey_COUNT) io.KeysDown[next.key] = next.down;
    if (next.character != 0) io.AddInputCharacter(next.character);
    if (next.character != 0 && !io.WantTextInput) page.keys_wait = kFramesToOpen;
    if (next.character == 0 ? next.key != ImGuiKey_COUNT : !io.WantTextInput) break;
  }
  if (!page.keys.empty()) page.pace.wake();
}
}  // namespace

/// Returns memory for that many bytes, or null if there is none.
WEB_EXPORT(web_alloc) void* web_alloc(std::size_t bytes) { return std::malloc(bytes); }
WEB_EXPORT(web_free) void web_free(void* memory) { std::free(memory); }

/// Call once. Takes both: the font's file, and the text of web_settings() from an earlier visit.
WEB_EXPORT(web_start) void web_start(char* font, std::size_t font_bytes, char* settings, std::size_t settings_bytes) {
  const Taken file(font, font_bytes), lines(settings, settings_bytes);
  page.font.assign(file.at, file.at + file.size);
  page.settings = Settings::parse(lines.text());
  ImGui::CreateContext();
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset | ImGuiBackendFlags_HasMouseCursors;
  // Arbitrary distinct numbers: web_key uses ImGui's names.
  for (int key = 0; key < ImGuiKey_COUNT; ++key) io.KeyMap[key] = key;
  io.SetClipboardTextFn = [](void*, const char* text) { page_copy(text, std::string_view(text).size()); };
  io.GetClipboardTextFn = [](void*) { return page.clipboard.c_str(); };
}

/// Shows a recording. Takes both. Returns null, or the reason why it is not one.
WEB_EXPORT(web_open) const char* web_open(char* memory, std::size_t bytes, char* name, std::size_t name_bytes) {
  const Taken called(name, name_bytes);
  auto recording = Recording::begin(std::make_unique<HeldBytes>(memory, bytes), called.text());
  if (!recording) return page.give(recording.error().text);
  // The page may take as much memory again as the recording has, and 200 MB; the mirror needs the most of it.
  page.show(link_to(std::move(*recording), called.text(), std::size_t{24} << 20));
  return nullptr;
}

/// Answers page_load_notes. Takes the text.
WEB_EXPORT(web_notes) void web_notes(char* text, std::size_t bytes) { page.notes = Taken(text, bytes).text(); }
/// Adds the notes of a file to those of what is shown. Takes both. Returns null, or the reason why they cannot be read.
WEB_EXPORT(web_add_notes) const char* web_add_notes(char* text, std::size_t bytes, char* name, std::size_t name_bytes) {
  const Taken file(text, bytes), called(name, name_bytes);
  if (!page.app || page.app->time().end == 0) return "Notes belong to a recording: open it first.";
  const auto notes = Notes::parse(file.text(), called.text(), page.app->time().end);
  if (!notes) return page.give(notes.error().text);
  for (const Note& note : notes->all()) page.app->time().notes.set(note.commit, note.text);
  page.pace.wake();
  return nullptr;
}

/// Begins to read a second recording, to show beside the first. Takes both. Returns null, or the reason why it cannot
/// be read. REQUIRES: a recording is shown.
WEB_EXPORT(web_beside) const char* web_beside(char* memory, std::size_t bytes, char* name, std::size_t name_bytes) {
  const Taken called(name, name_bytes);
  auto recording = Recording::begin(std::make_unique<HeldBytes>(memory, bytes), called.text());
  if (!recording) return page.give(recording.error().text);
  while (!(*recording)->scan(std::uint64_t{1} << 20)) {
  }
  if ((*recording)->commits() == 0) return page.give(called.text() + ": " + Recording::kNothing);
  page.beside = std::make_unique<OtherReading>(std::move(*recording), called.text());
  return nullptr;
}
/// Continues to read the second recording. Returns the share that was read; with 1, both are shown.
WEB_EXPORT(web_beside_read) double web_beside_read() {
  if (!page.beside) return 1;
  // The first recording, and what the address says of it, come first.
  constexpr double kNearly = 0.99;
  if (!page.beside->read(std::chrono::milliseconds(30)) || page.wanted || page.app->loading())
    return std::min(page.beside->done(), kNearly);
  page.app->time().other = page.beside->past();
  page.beside.reset();
  if (page.app->full_window() == 0) page.app->show_panel('0');
  page.pace.wake();
  return 1;
}
WEB_EXPORT(web_beside_stop) void web_beside_stop() { page.beside.reset(); }

/// Shows a feed whose header arrived: FeedHeader::kBytes bytes. Takes both. Returns null, or why it cannot be shown.
/// `controls` is 0 if the server passes on no commands. `again` is 1 if this feed was shown before.
WEB_EXPORT(web_attached)
const char* web_attached(char* header, std::size_t bytes, char* name, std::size_t name_bytes, int controls, int again) {
  const Taken begin(header, bytes), called(name, name_bytes);
  FeedShape shape;
  if (bytes != FeedHeader::kBytes) return "The server sent a header of another size: it is another version of Canopy.";
  std::memcpy(static_cast<void*>(&shape), begin.at, sizeof(shape));
  if (std::string flaw = flaw_of(shape); !flaw.empty()) return page.give(called.text() + ": " + flaw);
  if (controls == 0) shape.controls = 0;
  auto link = std::make_unique<StreamLink>(shape, called.text(),
                                           [](const Command& command) { page_command(&command, sizeof(command)); });
  StreamLink* stream = link.get();
  if (again != 0 && page.app && page.app->session().feed != 0) page.app->connect_again(std::move(link)), page.offer();
  else page.show(std::move(link));
  page.stream = stream;
  return nullptr;
}

/// Adds events. Takes them. Returns 0 if too many wait: attach again.
WEB_EXPORT(web_events) int web_events(char* memory, std::size_t bytes) {
  const Taken events(memory, bytes);
  if (!page.stream) return 1;
  if (page.stream->add({reinterpret_cast<const Event*>(events.at), events.size / sizeof(Event)})) return 1;
  page.stream->lapped();
  return 0;
}
WEB_EXPORT(web_lapped) void web_lapped() {
  if (page.stream) page.stream->lapped();
}
/// Ends the feed or, if `server` is not 0, the connection to the server. Takes the reason.
WEB_EXPORT(web_gone) void web_gone(char* why, std::size_t bytes, int server) {
  const Taken reason(why, bytes);
  if (page.stream) page.stream->gone(reason.text(), server != 0);
}
WEB_EXPORT(web_answered) void web_answered(int accepted) {
  if (page.stream) page.stream->answered(accepted != 0);
}

/// Sets the feeds to choose from: a line each, of the fields of FoundFeed separated by tabs. Takes the text. Without a
/// source so far, shows the list.
WEB_EXPORT(web_feeds) void web_feeds(char* lines, std::size_t bytes) {
  const Taken all(lines, bytes);
  page.feeds = feeds_of(all.text());
  if (page.app) page.offer();
  else
    page.app =
        std::make_unique<App>(std::make_unique<Picker>([] { return page.feeds; }, InspectorPage::ask), page.settings),
    page.offer();
}

/// The mouse, in pixels of the canvas. buttons: a bit each, as in MouseEvent.buttons. wheel: steps, up is positive.
WEB_EXPORT(web_mouse) void web_mouse(float x, float y, unsigned buttons, float wheel) {
  ImGuiIO& io = ImGui::GetIO();
  page.pace.wake();
  page.mouse.add({x, y}, buttons);
  io.MouseWheel += wheel;
}
/// Returns the pixels by which one step of the wheel scrolls what was under the mouse in the last frame; 0 if that does
/// not scroll.
WEB_EXPORT(web_scroll_step) float web_scroll_step() { return page.app ? scroll_step() : 0; }
/// A key, by its name in KeyboardEvent.key. Takes the name. modifiers: 1 Ctrl, 2 Shift, 4 Alt. character: the one that
/// it writes; 0 if none.
WEB_EXPORT(web_key) void web_key(char* name, std::size_t bytes, int down, int modifiers, unsigned character) {
  const Taken called(name, bytes);
  page.pace.wake();
  KeyEvent event{.down = down != 0, .modifiers = modifiers, .character = character};
  for (const NamedKey& each : kKeys)
    if (each.name == called.text()) event.key = each.key;
  page.keys.push_back(event);
}
/// Sets the text that Ctrl V pastes. Takes it.
WEB_EXPORT(web_clipboard) void web_clipboard(char* text, std::size_t bytes) {
  page.clipboard = Taken(text, bytes).text();
}
/// Returns 1 while the keyboard writes into a field.
WEB_EXPORT(web_types) int web_types() { return ImGui::GetIO().WantTextInput ? 1 : 0; }
/// The page lost the keyboard: no key is down now.
WEB_EXPORT(web_blur) void web_blur() {
  ImGuiIO& io = ImGui::GetIO();
  page.keys.clear();
  for (bool& down : io.KeysDown) down = false;
  io.KeyCtrl = io.KeyShift = io.KeyAlt = false;
}
/// Makes the font's picture again and draws: the canvas lost what it had.
WEB_EXPORT(web_renew) void web_renew() { page.density = 0; }

/// Applies what has arrived, without drawing: for a page that is hidden.
WEB_EXPORT(web_pump) void web_pump() {
  if (page.app) page.app->pump(std::chrono::milliseconds(50));
}
/// Applies what has arrived, and draws if there is something to draw. Sizes in pixels; density: pixels of the display
/// in one of the page; now: seconds. Returns 1 if it drew.
WEB_EXPORT(web_frame) int web_frame(float width, float height, float density, double now) {
  if (!page.app) return 0;
  App& app = *page.app;
  if (width != page.width || height != page.height || density != page.density) page.pace.wake();
  const bool new_density = density != page.density;
  page.width = width, page.height = height, page.density = density;
  if (!app.resting()) app.pump(reading_time(app, page.frame_took));
  if (page.wanted && app.mirror().in_step() && !app.loading()) {
    go_to(app, *std::exchange(page.wanted, std::nullopt));
    page.pace.wake();
  }
  if (!page.pace.due(app, now)) return 0;
  const auto began = std::chrono::steady_clock::now();
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = {width, height};
  io.DeltaTime = static_cast<float>(std::clamp(now - page.drawn_at, 1e-3, 1.0));
  page.drawn_at = now;
  pass_keys();
  if (page.mouse.pass(io)) page.pace.wake();
  if (app.theme_changed() || new_density) make_textures(app.settings(), page.density, page.font);
  ImGui::NewFrame();
  app.draw();
  ImGui::Render();
  app.copy_wanted_text();
  paint(*ImGui::GetDrawData());
  if (app.picture_wanted()) {
    page_picture(App::kPictureFile, std::string_view(App::kPictureFile).size());
    app.saved(std::string("downloaded as ") + App::kPictureFile);
  }
  app.spent(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count(),
            std::uint64_t{__builtin_wasm_memory_size(0)} << 16);
  page_cursor(io.MouseDrawCursor ? -1 : ImGui::GetMouseCursor());
  page.frame_took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
  return 1;
}

/// Returns 1 while a recording is being read.
WEB_EXPORT(web_loading) int web_loading() { return page.app && page.app->loading() ? 1 : 0; }
WEB_EXPORT(web_settings) const char* web_settings() {
  return page.give(page.app ? page.app->settings().text() : std::string());
}
/// Returns the address of what is seen (shell/address.h).
WEB_EXPORT(web_view) const char* web_view() {
  if (page.wanted) return page.wanted->c_str();
  return page.give(page.app ? address_of(*page.app) : std::string());
}
/// Shows what an address says, as soon as there is a picture. Takes it.
WEB_EXPORT(web_go) void web_go(char* address, std::size_t bytes) { page.wanted = Taken(address, bytes).text(); }
/// Returns the main figures of what is shown as JSON: for a title, scripts and tests.
WEB_EXPORT(web_report) const char* web_report() {
  return page.give(page.app ? report_of(*page.app) : std::string("{}"));
}
