#include "lab_arguments.h"

#include <canopy/base/figures.h>
#include <canopy/base/printable.h>
#include <canopy/base/yaml_document.h>
#include <canopy/base/yaml_options.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <workload/generator.h>
#include <workload/mooncake_line.h>
#include <workload/trace_formats.h>
#include "cli_options.h"
#include "request_file.h"

namespace canopy::app {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t");
  return first == text.npos ? std::string_view() : text.substr(first, last - first + 1);
}

Result<std::vector<Amount>> different(std::string_view option, std::vector<Amount> amounts) {
  for (std::size_t i = 0; i < amounts.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (amounts[k].value == amounts[i].value)
        return Error{
            fmt::format("{}: {} and {} are the same", option, in_quotes(amounts[k].text), in_quotes(amounts[i].text))};
  return amounts;
}

}  // namespace

Result<std::vector<std::string>> parts_of(std::string_view option, const std::string& list) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t at = 0; at <= list.size(); ++at) {
    if (at < list.size()) {
      depth += list[at] == '{' || list[at] == '[';
      depth -= list[at] == '}' || list[at] == ']';
      if (list[at] != ',' || depth > 0) continue;
    }
    const std::string_view part = trimmed(std::string_view(list).substr(begin, at - begin));
    if (part.empty())
      return Error{fmt::format("{} {}: a part of the list is empty; expected values separated by commas", option,
                               in_quotes(list))};
    parts.emplace_back(part);
    begin = at + 1;
  }
  return parts;
}

Result<std::vector<Amount>> amounts_of(std::string_view option, const std::string& list, const char* what,
                                       std::uint64_t least, std::uint64_t most) {
  auto parts = parts_of(option, list);
  if (!parts) return parts.error();
  std::vector<Amount> amounts;
  Complaints complaints;
  for (const std::string& part : *parts) {
    YamlNode node;
    node.kind = YamlNode::Kind::scalar;
    node.scalar = part;
    node.mark.source = option;
    amounts.push_back({part, read_number(node, what, least, most, "", complaints).value_or(0)});
  }
  if (!complaints.empty()) return Error{fmt::format("{}", fmt::join(complaints, "\n"))};
  return different(option, std::move(amounts));
}

Result<std::vector<Amount>> capacities_in(const std::string& list, std::uint64_t least) {
  auto parts = parts_of("--capacity", list);
  if (!parts) return parts.error();
  std::vector<Amount> all;
  for (const std::string& part : *parts) {
    if (!part.ends_with('%')) {
      auto one = amounts_of("--capacity", part, "a capacity in tokens", least, std::uint64_t{1} << 48);
      if (!one) return one.error();
      all.push_back(std::move(one->front()));
      continue;
    }
    double percent = 0;
    const char* const end = part.data() + part.size() - 1;
    const auto [stop, error] = std::from_chars(part.data(), end, percent, std::chars_format::fixed);
    if (error != std::errc() || stop != end || !(percent > 0 && percent <= 1000))
      return Error{fmt::format(
          "--capacity {}: expected a share of the trace's distinct tokens above 0% and up to 1000%, such as 5%",
          in_quotes(part))};
    all.push_back({part, 0, percent / 100});
  }
  return all;
}

Result<std::vector<Amount>> shares_of(std::vector<Amount> capacities, std::uint64_t distinct, std::uint64_t least) {
  for (Amount& capacity : capacities) {
    if (capacity.share == 0) continue;
    capacity.value = static_cast<std::uint64_t>(capacity.share * static_cast<double>(distinct));
    if (capacity.value < least)
      return Error{fmt::format("--capacity {}: that is {} of the trace's {} distinct ones, less than a page of {}",
                               capacity.text, plural(capacity.value, "token"), grouped(distinct), grouped(least))};
  }
  return different("--capacity", std::move(capacities));
}

Result<std::vector<Amount>> sizes_of(std::string_view option, const std::string& list) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
                                                            {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12}};
  auto parts = parts_of(option, list);
  if (!parts) return parts.error();
  std::vector<Amount> sizes;
  for (const std::string& part : *parts) {
    const auto problem = [&] {
      return Error{fmt::format("{} {}: expected a size such as 80GiB; units are MiB, GiB, TiB (of 1024) and MB, GB, TB",
                               option, in_quotes(part))};
    };
    const std::size_t end = std::min(part.find_first_not_of("0123456789."), part.size());
    const std::string_view suffix = trimmed(std::string_view(part).substr(end));
    const auto unit =
        std::find_if(std::begin(kUnits), std::end(kUnits), [&](auto& known) { return known.first == suffix; });
    if (end == 0 || unit == std::end(kUnits)) return problem();
    double number = 0;
    const auto [stop, error] = std::from_chars(part.data(), part.data() + end, number);
    const double bytes = number * unit->second;
    if (error != std::errc() || stop != part.data() + end || !(bytes >= 1) || bytes > 0x1p60) return problem();
    sizes.push_back({part, static_cast<std::uint64_t>(bytes)});
  }
  return different(option, std::move(sizes));
}

Result<std::vector<std::uint64_t>> seeds_of(const LabSource& source) {
  constexpr std::uint64_t kMostSeeds = 1000;
  if (source.seeds.empty()) return std::vector<std::uint64_t>{0};
  if (source.workload.empty())
    return Error{
        fmt::format("--seeds {}: a trace is what it is; only a --workload has seeds. The error of one trace "
                    "comes from its own stretches, without this option",
                    source.seeds)};
  auto parts = parts_of("--seeds", source.seeds);
  if (!parts) return parts.error();
  std::vector<std::uint64_t> seeds;
  for (const std::string& part : *parts) {
    const std::size_t dots = part.find("..");
    auto first = amounts_of("--seeds", part.substr(0, dots), "a seed", 1, kMost);
    if (!first) return first.error();
    std::uint64_t from = first->front().value, to = from;
    if (dots != std::string::npos) {
      auto last = amounts_of("--seeds", part.substr(dots + 2), "a seed", 1, kMost);
      if (!last) return last.error();
      to = last->front().value;
    }
    if (to < from || to - from >= kMostSeeds)
      return Error{fmt::format("--seeds {}: expected the lower seed first, and at most {} of them, such as 1..5",
                               in_quotes(part), kMostSeeds)};
    for (; from <= to; ++from) {
      if (std::find(seeds.begin(), seeds.end(), from) != seeds.end())
        return Error{fmt::format("--seeds {}: {} is listed twice", in_quotes(source.seeds), from)};
      seeds.push_back(from);
    }
  }
  return seeds;
}

namespace {

Result<std::uint64_t> block_of(const LabSource& source, bool blocks) {
  if (source.block != 0) return source.block;
  if (source.trace.empty()) return workload::kMooncakeBlock;
  const auto no_blocks = [&] {
    return Error{
        fmt::format("--blocks: {} has token ids and no blocks; omit --blocks, or set a page size with --page-size",
                    workload::trace_path(source.trace))};
  };
  if (is_recording(source.trace)) {
    if (blocks) return no_blocks();
    return 1;
  }
  auto reader = workload::open_records(source.trace, {});
  if (!reader) return reader.error();
  workload::TraceRecord record;
  if (auto any = (*reader)->next(record); !any) return any.error();
  if (record.block == 0 && blocks) return no_blocks();
  return std::max<std::uint64_t>(record.block, 1);
}

}  // namespace

Result<std::monostate> prepare(LabSource& source, bool blocks) {
  if (!source.workload.empty()) {
    auto read = parse_yaml_file(source.workload);
    if (!read) return read.error();
    source.read = std::move(*read);
  }
  auto block = block_of(source, blocks);
  if (!block) return block.error();
  source.block = *block;
  return std::monostate{};
}

Result<std::unique_ptr<workload::RequestSource>> open_source(const LabSource& source, std::string_view command) {
  if (!source.trace.empty()) return open_requests(source.trace, source.block);
  if (!source.workload.empty()) return workload::make_generator(source.read, source.seed);
  return Error{fmt::format("{}: expected a trace with --trace FILE or a workload with --workload FILE", command)};
}

std::vector<RunFile> files_of(const LabSource& source) {
  return {{"--trace", source.trace.empty() ? "" : workload::trace_path(source.trace)}, {"--workload", source.workload}};
}

std::string name_of(const LabSource& source) {
  return source.trace.empty() ? std::filesystem::path(source.workload).filename().string()
                              : workload::trace_name(source.trace);
}

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string line, word;
  while (std::getline(file, word, '\0')) {
    if (line.empty()) word = std::filesystem::path(word).filename();
    const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) ||
             std::string_view("-_./,=:+%@").find(c) != std::string_view::npos;
    });
    std::string quoted = "'";
    for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += (line.empty() ? "" : " ") + (plain ? word : quoted + "'");
  }
  return line;
}

}  // namespace canopy::app
