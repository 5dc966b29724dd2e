#include <canopy/base/atomic_file.h>
#include <canopy/base/file.h>
#include <canopy/base/printable.h>
#include <canopy/base/reason.h>
#include <demo/live_demo.h>
#include <fmt/format.h>
#include <shell/other_reading.h>
#include <window/canvas.h>
#include <window/note_files.h>
#include <window/ring_link.h>
#include <window/script.h>
#include <window/settings_file.h>

#include <cli_options.h>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace {

using namespace canopy;
using namespace canopy::inspector;

constexpr int kUnusable = 2;

const char* const kAbout =
    "The inspector of Canopy: the live radix tree of an engine, its pools, its requests, and what is evicted next.\n"
    "Without a subcommand it runs a demo engine in this process.";

struct Arguments {
  std::string name, file;  ///< for attach, open
  std::string beside;      ///< second recording; empty: none
  std::string screenshot, script, size = "1600x900", theme;
  double scale = 0;
  bool read_only = false;
  std::uint64_t requests = 600;  ///< requests of the demo before the picture is drawn
};

int unusable(const std::string& why) {
  fmt::print(stderr, "canopy-inspector: {}\n", printable_lines(why));
  return kUnusable;
}

/// Draws a picture or runs a script, without a window.
int draw_in_memory(App& app, const Arguments& arguments, const Script& script) {
  int width = 0, height = 0;
  char rest = 0;
  if (std::sscanf(arguments.size.c_str(), "%dx%d%c", &width, &height, &rest) != 2 || width < 320 || height < 240 ||
      width > 16384 || height > 16384)
    return unusable(
        fmt::format("--size {}: expected a size from 320x240 to 16384x16384, such as 1600x900", arguments.size));
  std::string why;
  const auto canvas = Canvas::make(width, height, why);
  if (!canvas) return unusable("cannot draw a picture: " + why);
  std::ifstream file;
  std::istringstream only;
  if (!arguments.script.empty()) {
    if (open_regular(arguments.script).descriptor) file.open(arguments.script);
    if (!file.is_open()) return unusable(fmt::format("the script '{}' cannot be read", arguments.script));
  } else {
    only.str((script.run_to ? fmt::format("requests {}\nselect heaviest\n", arguments.requests) : std::string()));
  }
  const std::string complaint =
      script.run(arguments.script.empty() ? static_cast<std::istream&>(only) : file, *canvas, app);
  if (!complaint.empty())
    return unusable(arguments.script.empty() ? complaint : fmt::format("{}:{}", arguments.script, complaint));
  if (arguments.screenshot.empty()) return 0;
  why = write_png(arguments.screenshot, canvas->pixels(), width, height);
  if (!why.empty()) return unusable(why);
  return 0;
}

Result<std::unique_ptr<Link>> attach_to(const std::string& name) {
  auto attachment = Attachment::attach(name);
  if (!attachment) return attachment.error();
  return link_to(std::move(*attachment), name);
}

/// Opens a recording. In a window, the progress of reading is shown.
Result<std::unique_ptr<Link>> recording_at(const std::string& path, bool whole) {
  auto recording = whole ? Recording::open(path) : Recording::begin(path);
  if (!recording) return recording.error();
  return link_to(std::move(*recording), path);
}

/// Reads a recording to its end.
Result<std::shared_ptr<const OtherPast>> past_of(const std::string& path) {
  auto recording = Recording::open(path);
  if (!recording) return recording.error();
  OtherReading reading(std::move(*recording), path);
  while (!reading.read(std::chrono::seconds(1))) {
  }
  return reading.past();
}

int look(const Arguments& arguments, bool attach, bool open) {
  const bool in_memory = !arguments.screenshot.empty() || !arguments.script.empty();
  // A picture is the same on every machine: it does not use the settings that a window saves.
  Settings settings = in_memory ? Settings{} : load_settings(settings_path());
  if (!arguments.theme.empty()) settings.light = arguments.theme == "light";
  if (arguments.scale > 0) settings.scale = static_cast<float>(arguments.scale);

  std::unique_ptr<demo::LiveDemo> demo;  // declared before the link, which reads from it
  std::unique_ptr<Link> link;
  if (attach) {
    if (!arguments.name.empty()) {
      auto attached = attach_to(arguments.name);
      if (!attached) return unusable(attached.error().text);
      link = std::move(*attached);
    }
  } else if (open) {
    auto opened = recording_at(arguments.file, in_memory);
    if (!opened) return unusable(opened.error().text);
    link = std::move(*opened);
  } else {
    auto made = demo::LiveDemo::make();
    if (!made) return unusable(made.error().text);
    demo = std::move(*made);
    link = link_to(demo->header(), in_memory ? "demo, as fast as it goes" : "demo");
    demo->start(!in_memory);
  }

  const auto open_recording = [in_memory](const std::string& path) { return recording_at(path, in_memory); };
  App app = link ? App(std::move(link), settings)
                 : App(std::make_unique<Picker>(Attachment::found, attach_to, open_recording), settings);
  app.offer_exports([](const std::string& name, const std::string& text) {
    const auto done = write_file_atomically(name, text);
    return done ? "wrote " + name : done.error().text;
  });
  app.offer_notes(note_files());
  app.offer({Attachment::found, attach_to, open_recording});
  if (!arguments.beside.empty()) {
    auto other = past_of(arguments.beside);
    if (!other) return unusable(other.error().text);
    app.time().other = std::move(*other);
    app.show_panel('0');
  }
  app.mailbox().read_only = app.mailbox().locked = arguments.read_only;
  if (!in_memory) {
    const std::string why = show_in_window(app, settings);
    if (why.empty()) return 0;
    return unusable(why + "\nWithout a display, --screenshot FILE.png draws a picture, and --script FILE drives it.");
  }
  if (attach)
    if (const std::string why = wait_until_shown(app); !why.empty()) return unusable(why);
  Script script;
  if (demo) script.run_to = [&](std::uint64_t requests) { demo->run_to(requests); };
  return draw_in_memory(app, arguments, script);
}

int run(int argc, char** argv) {
  CLI::App program(kAbout, "canopy-inspector");
  program.require_subcommand(0, 1);
  program.fallthrough();
  program.set_version_flag("--version", CANOPY_VERSION);
  Arguments arguments;
  program.add_option("--screenshot", arguments.screenshot, "draw one picture to this PNG file, without a display");
  program.add_option("--script", arguments.script,
                     "run the commands of this file, without a display (inspector/window/script.h)");
  program.add_option("--size", arguments.size, "size of the picture, in pixels")->capture_default_str();
  program
      .add_option("--scale", arguments.scale, "scale of letters and distances; 2 for a display with twice the density")
      ->check(app::real(0.5, 4));
  program.add_option("--theme", arguments.theme, "dark or light theme")->check(CLI::IsMember({"dark", "light"}));
  program
      .add_option("--requests", arguments.requests, "requests that the demo engine serves before its picture is drawn")
      ->capture_default_str()
      ->check(app::whole(1, 1'000'000));
  program.add_flag("--read-only", arguments.read_only, "never send anything to the engine");
  auto* attach = program.add_subcommand("attach", "Show an engine of another process");
  attach->add_option("name", arguments.name,
                     "name of its feed; without one, choose from a list, or wait for the first feed");
  auto* open = program.add_subcommand("open", "Show a recording");
  open->add_option("file", arguments.file, "recording made with `feed: { file: { path: FILE } }`")->required();
  open->add_option("--beside", arguments.beside, "another recording of the same requests, to compare with it (key 0)");
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? 0 : kUnusable;
  }
  return look(arguments, attach->parsed(), open->parsed());
}

}  // namespace

int main(int argc, char** argv) {
  hold_standard_descriptors();
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    return unusable(reason_of(error));
  }
}
