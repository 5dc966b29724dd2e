#include <canopy/base/nearest_name.h>
#include <canopy/base/yaml_options.h>
#include <canopy/engine/engine_file.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include <canopy/base/atomic_file.h>
#include <canopy/base/random.h>
#include <workload/generator.h>
#include <workload/trace_formats.h>
#include "commands.h"
#include "interrupt.h"
#include "publish_events.h"
#include "request_file.h"

namespace canopy::app {
namespace {

/// Returns the short options as assignments, which precede those of --set.
std::vector<std::string> assignments_of(const ReplayArguments& arguments, const YamlNode& engine) {
  std::vector<std::string> all;
  if (!arguments.page_size.empty()) all.push_back("page_size=" + arguments.page_size);
  if (!arguments.index.empty()) all.push_back("index=" + arguments.index);
  if (const YamlNode* groups = engine.find("groups")) {
    for (const auto& [group, value] : groups->entries) {
      if (!arguments.capacity.empty() && &group == &groups->entries[0].first)
        all.push_back(fmt::format("groups.{}.capacity={}", group.scalar, arguments.capacity));
      if (!arguments.policy.empty())
        all.push_back(fmt::format("groups.{}.eviction={}", group.scalar, arguments.policy));
    }
  }
  if (!arguments.feed.empty())
    all.push_back(fmt::format("feed={{shm: {{name: {}, controls: true}}}}", to_yaml(arguments.feed)));
  if (!arguments.record.empty()) all.push_back(fmt::format("feed={{file: {{path: {}}}}}", to_yaml(arguments.record)));
  if (!arguments.publish.empty()) all.push_back("events.zmq.publish=" + to_yaml(arguments.publish));
  if (!arguments.publish_replay.empty()) all.push_back("events.zmq.replay=" + to_yaml(arguments.publish_replay));
  if (!arguments.dialect.empty()) all.push_back("events.zmq.dialect=" + to_yaml(arguments.dialect));
  all.insert(all.end(), arguments.assignments.begin(), arguments.assignments.end());
  return all;
}

/// Returns the configuration of the engine's file with the changes of the command line.
Result<EngineConfig> config_of(const ReplayArguments& arguments, const Registry& registry) {
  auto engine = parse_yaml_file(arguments.config);
  if (!engine) return engine.error();
  for (const std::string& assignment : assignments_of(arguments, *engine))
    if (auto set = set_value(*engine, assignment); !set) return set.error();
  if (!arguments.store.empty()) use_store(*engine, arguments.store);
  auto config = read_engine_config(*engine, registry);
  if (config) config->host_tier.kv_bytes = arguments.kv_bytes;
  return config;
}

Result<std::unique_ptr<workload::RequestSource>> source_of(const ReplayArguments& arguments) {
  if (!arguments.trace.empty()) return open_requests(arguments.trace, arguments.block);
  if (!arguments.workload.empty()) return workload::open_generator(arguments.workload, arguments.seed.value_or(0));
  return Error{
      "canopy replay: nothing to replay; expected a trace with --trace FILE or a workload with --workload FILE"};
}

/// Parses REQUEST:TOKENS or REQUEST:GROUP:TOKENS.
Result<std::vector<replay::Resize>> resizes_of(const ReplayArguments& arguments, const EngineConfig& config) {
  std::vector<replay::Resize> all;
  for (const std::string& text : arguments.resizes) {
    const std::size_t first = text.find(':'), last = text.rfind(':');
    if (first == std::string::npos)
      return Error{fmt::format("--resize {}: expected REQUEST:TOKENS or REQUEST:GROUP:TOKENS, such as 500:3M", text)};
    Complaints complaints;
    const auto number = [&](const std::string& digits, const char* what, std::uint64_t least) {
      YamlNode node;
      node.kind = YamlNode::Kind::scalar;
      node.scalar = digits;
      node.mark.source = "--resize " + text;
      return read_number(node, what, least, kUnlimited, what, complaints).value_or(0);
    };
    replay::Resize resize{number(text.substr(0, first), "the request that it precedes", 1),
                          first == last ? "" : text.substr(first + 1, last - first - 1),
                          number(text.substr(last + 1), "tokens", config.page_size)};
    if (!complaints.empty()) return Error{complaints.front()};
    std::vector<std::string> groups;
    for (const GroupConfig& group : config.groups) groups.push_back(group.name);
    if (!resize.group.empty() && std::find(groups.begin(), groups.end(), resize.group) == groups.end())
      return Error{fmt::format("--resize {}: the engine has no group '{}'{}", text, resize.group,
                               did_you_mean(resize.group, groups))};
    all.push_back(std::move(resize));
  }
  return all;
}

std::string base_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

/// Returns a digest of the engine's configuration after all options. Leaves out feed and events, which do not influence
/// decisions.
std::uint64_t digest_of(EngineConfig config, const Registry& registry) {
  config.feed = {};
  config.events = {};
  std::uint64_t digest = config.host_tier.kv_bytes;
  for (const char c : dump_engine_config(config, registry)) digest = splitmix64(digest ^ static_cast<unsigned char>(c));
  return digest;
}

}  // namespace

int replay_trace(const ReplayArguments& arguments, const PluginFolders& folders) {
  const Registry registry = load_plugins(folders);
  auto config = config_of(arguments, registry);
  if (!config) return unusable(config.error().text);
  auto resizes = resizes_of(arguments, *config);
  if (!resizes) return unusable(resizes.error().text);
  std::vector<RunFile> outputs{{"--json", arguments.json}};
  if (config->feed.kind == FeedConfig::Kind::file)
    outputs.insert(outputs.end(), {{"the recording", config->feed.name},
                                   {"the recording, until it is whole,", FeedSink::part_of(config->feed.name)}});
  if (auto apart = check_files(registry,
                               {{"the engine file", arguments.config},
                                {"--trace", arguments.trace.empty() ? "" : workload::trace_path(arguments.trace)},
                                {"--workload", arguments.workload}},
                               outputs);
      !apart)
    return unusable(apart.error().text);
  if (!arguments.json.empty())
    if (auto can = can_write_file(arguments.json); !can) return unusable(can.error().text);
  auto source = source_of(arguments);
  if (!source) return unusable(source.error().text);
  const Interrupt interrupt;  // before the engine, which has shared memory and files to remove
  auto publisher = open_publisher(config->events);
  if (!publisher) return unusable(config->message(publisher.error().text));
  auto engine = Engine::create(*config, registry, *publisher ? &(*publisher)->listener() : nullptr);
  if (!engine) return unusable(engine.error().text);
  Task task{base_name(arguments.config),
            arguments.trace.empty() ? base_name(arguments.workload) : workload::trace_name(arguments.trace),
            arguments.json, digest_of(*config, registry), arguments.options};
  task.options.resizes = std::move(*resizes);
  if (*publisher) task.published = [&] { return published_by(**publisher); };
  if (*publisher && arguments.await) await_subscriber(**publisher);
  const int status = run_task(**engine, **source, registry, task, {});
  if (*publisher) end_publishing(**publisher, arguments.stay);
  return status;
}

}  // namespace canopy::app
