#include <canopy/prefix_index.h>
#include <fmt/format.h>

#include <algorithm>

#include "cases.h"
#include "subject.h"

namespace canopy::bench {
namespace {

Result<std::monostate> check_index(const Options& options, const Registry& registry) {
  if (!registry.find(PrefixIndex::kInterface, options.index))
    return Error{"canopy bench: " + registry.unknown(PrefixIndex::kInterface, options.index)};
  auto subject = make_subject(registry, options.index, 1, kUnlimited);
  if (!subject) return subject.error();
  const std::uint32_t word = 1;
  const Page page = 1;
  const Key key{NamespaceId::shared, {&word, 1}};
  subject->index->release(subject->index->insert({}, key, {std::span<const Page>(&page, 1)}, {}).lock);
  if (subject->index->peek(key).length == 1) return std::monostate{};
  return Error{
      fmt::format("canopy bench: the index '{}' keeps nothing of what is inserted, so there is nothing to "
                  "measure",
                  options.index)};
}

}  // namespace

Result<Report> run(const Options& options, const Registry& registry, const Progress& progress) {
  if (auto known = check_index(options, registry); !known) return known.error();
  std::vector<Case> all, cases;
  add_replay_cases(options, all);
  add_engine_cases(options, all);
  add_feed_cases(options, all);
  add_tree_cases(options, all);
  add_depth_cases(options, all);
  add_allocator_cases(options, all);
  const auto wanted = [&](const std::string& name) { return name.find(options.only) != std::string::npos; };
  for (Case& one : all)
    if (std::any_of(one.names.begin(), one.names.end(), wanted)) cases.push_back(std::move(one));
  if (cases.empty())
    return Error{
        fmt::format("canopy bench: no row's name contains '{}'; they begin with replay, engine, feed, match, insert, "
                    "release, lock + release, evict, snapshot, split, allocate + free or start",
                    options.only)};

  Report report;
  report.index = options.index;
  report.quick = options.quick;
  const Setting setting{registry, options, options.quick ? 3U : 7U, options.quick ? 1U : 2U};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (progress) progress(static_cast<double>(i) / static_cast<double>(cases.size()), report.rows.size());
    std::vector<Row> rows;
    if (auto measured = cases[i].measure(setting, report, rows); !measured) return measured.error();
    for (Row& row : rows)
      if (wanted(row.name)) report.rows.push_back(std::move(row));
  }
  return report;
}

}  // namespace canopy::bench
