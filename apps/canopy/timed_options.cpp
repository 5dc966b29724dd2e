#include "timed_options.h"

#include <map>

#include "cli_options.h"

namespace canopy::app {

std::vector<CLI::Option*> add_mode(CLI::App& command, replay::Options& options) {
  command
      .add_option("--mode", options.mode, "serial: one request after another; timed: requests overlap, as in a server")
      ->transform(one_of<replay::Mode>({{"serial", replay::Mode::serial}, {"timed", replay::Mode::timed}}));
  const char* const timed = "Timed mode";
  std::vector<CLI::Option*> all;
  const auto add = [&](const char* name, std::uint32_t& value, const char* help, std::uint64_t least,
                       std::uint64_t most) {
    all.push_back(
        command.add_option(name, value, help)->capture_default_str()->check(whole(least, most))->group(timed));
  };
  add("--running", options.running, "maximum number of concurrent requests", 1, 100000);
  add("--prefill", options.prefill_tokens, "maximum prompt tokens computed per step", 1, 100000000);
  add("--step-ms", options.step_ms, "simulated milliseconds per step", 1, 1000000);
  add("--abort-permille", options.abort_permille, "requests per 1000 that their client aborts", 0, 1000);
  std::map<std::string, scheduling::Schedule> schedules;
  for (std::size_t i = 0; i < all_names<scheduling::Schedule>().size(); ++i)
    schedules[all_names<scheduling::Schedule>()[i]] = static_cast<scheduling::Schedule>(i);
  all.push_back(command
                    .add_option("--schedule", options.order.schedule,
                                "order in which waiting requests start, as in SGLang; fcfs: by arrival")
                    ->transform(one_of(schedules))
                    ->group(timed));
  using scheduling::Priorities;
  all.push_back(command
                    .add_option("--priorities", options.order.priorities,
                                "fcfs and lof start waiting requests by their priority before anything else; "
                                "high-first: the largest number first; default: ignored")
                    ->transform(one_of<Priorities>({{"ignored", Priorities::ignored},
                                                    {"high-first", Priorities::high_first},
                                                    {"low-first", Priorities::low_first}}))
                    ->group(timed));
  all.push_back(command
                    .add_flag("--rematch", options.rematch,
                              "before each step of a prefill, reuse what other requests have committed meanwhile")
                    ->group(timed));
  add("--schedule-limit", options.order.most_matched,
      "lpm and hrrn use the order of arrival while more requests than this wait; 0: never", 0, 1000000);
  return all;
}

std::string flaw_of_mode(const replay::Options& options, const std::vector<CLI::Option*>& timed) {
  if (options.mode == replay::Mode::timed) return {};
  for (const CLI::Option* option : timed)
    if (option->count() > 0) return option->get_name() + " needs --mode timed";
  return {};
}

}  // namespace canopy::app
