#include <canopy/base/nearest_name.h>
#include <canopy/base/printable.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "commands.h"
#include "terminal.h"

namespace canopy::app {

void print_offers(const Registry& registry, const Terminal& terminal) {
  std::vector<const Offer*> offers;
  std::size_t widest_interface = 0, widest_name = 0;
  for (const Offer& offer : registry.offers()) {
    offers.push_back(&offer);
    widest_interface = std::max(widest_interface, offer.interface.size());
    widest_name = std::max(widest_name, offer.name.size());
  }
  std::sort(offers.begin(), offers.end(), [](const Offer* a, const Offer* b) {
    return a->interface != b->interface ? a->interface < b->interface : a->name < b->name;
  });
  for (const Offer* offer : offers) {
    fmt::print("  {:<{}}  {}  {}  {}\n", printable(offer->interface), widest_interface,
               terminal.bold(fmt::format("{:<{}}", offer->name, widest_name)), printable(offer->summary),
               terminal.dim(fmt::format("({} {})", offer->file.filename().string(), offer->version)));
    std::string what;
    const bool here = offer->available(what);
    if (!what.empty())
      fmt::print("  {:<{}}  {}\n", "", widest_interface + 2 + widest_name,
                 here ? terminal.dim("here: " + what) : terminal.yellow("not on this machine: " + what));
  }
}

void print_refusals(const Registry& registry, const Terminal& terminal) {
  for (const Refusal& refusal : registry.refusals())
    fmt::print("  {} {}: {}\n", terminal.red("refused"), printable(refusal.file.string()), printable(refusal.why));
}

void print_options(const std::vector<OptionHelp>& options, const Terminal& terminal) {
  std::size_t widest = 0;
  for (const OptionHelp& option : options) widest = std::max(widest, option.name.size());
  for (const OptionHelp& option : options) {
    const std::string value = option.value.empty() ? "required" : "default " + option.value;
    fmt::print("  {:<{}}  {}  {}\n", printable(option.name), widest, printable(option.help),
               terminal.dim(fmt::format("({}; {})", option.range, value)));
  }
}

int list_plugins(const PluginFolders& folders) {
  const Terminal terminal = Terminal::of_stdout();
  const Registry registry = load_plugins(folders);
  print_offers(registry, terminal);
  print_refusals(registry, terminal);
  return registry.refusals().empty() ? kFine : kViolations;
}

int describe_plugin(const std::string& name, const PluginFolders& folders) {
  const Terminal terminal = Terminal::of_stdout();
  const Registry registry = load_plugins(folders);
  bool found = false;
  std::vector<std::string> known;
  for (const Offer& offer : registry.offers()) {
    known.push_back(offer.name);
    if (offer.name != name) continue;
    found = true;
    fmt::print("{}  {}\n  {}\n  {} {}\n", terminal.bold(offer.name), printable(offer.interface),
               printable(offer.summary), printable(offer.file.filename().string()), printable(offer.version));
    std::string what;
    const bool here = offer.available(what);
    if (!what.empty())
      fmt::print("  {}\n", here ? printable("here: " + what) : terminal.yellow("not on this machine: " + what));
    const auto options = help_of(offer.component->options);
    if (options.empty()) fmt::print("  no options\n");
    print_options(options, terminal);
  }
  std::sort(known.begin(), known.end());
  if (!found) return unusable("no component is called '" + name + "'" + did_you_mean(name, known));
  return kFine;
}

}  // namespace canopy::app
