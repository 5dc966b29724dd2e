#include <canopy/prefix_index.h>
#include <fmt/format.h>

#include <algorithm>

#include "cases.h"
#include "subject.h"

// One line for each file of rows.
#define CANOPY_BENCH_SECTIONS(SECTION) \
  SECTION(replay)                      \
  SECTION(policy)                      \
  SECTION(tenant)                      \
  SECTION(shard)                       \
  SECTION(engine)                      \
  SECTION(c)                           \
  SECTION(feed)                        \
  SECTION(waiting)                     \
  SECTION(tree)                        \
  SECTION(depth)                       \
  SECTION(allocator)                   \
  SECTION(wire)                        \
  SECTION(publish)                     \
  SECTION(storage)

namespace canopy::bench {

#define CANOPY_DECLARE(subject) void add_##subject##_cases(const Options& options, std::vector<Case>& cases);
CANOPY_BENCH_SECTIONS(CANOPY_DECLARE)

namespace {

std::vector<Case> all_cases(const Options& options) {
  std::vector<Case> cases;
#define CANOPY_ADD(subject) add_##subject##_cases(options, cases);
  CANOPY_BENCH_SECTIONS(CANOPY_ADD)
  return cases;
}

/// Returns the first words of the rows' names, each once: "replay; engine; ...".
std::string beginnings(const std::vector<Case>& cases) {
  std::vector<std::string> known;
  for (const Case& one : cases)
    for (const std::string& name : one.names)
      if (const std::string begin = name.substr(0, name.find(':')); std::ranges::find(known, begin) == known.end())
        known.push_back(begin);
  return fmt::format("{}", fmt::join(known, "; "));
}

Result<std::monostate> check_index(const Options& options, const Registry& registry) {
  if (!registry.find(PrefixIndex::kInterface, options.index))
    return Error{"canopy-dev bench: " + registry.unknown(PrefixIndex::kInterface, options.index)};
  auto subject = make_subject(registry, options.index, 1, kUnlimited);
  if (!subject) return subject.error();
  const std::uint32_t word = 1;
  const Page page = 1;
  const Key key{NamespaceId::shared, {&word, 1}};
  subject->index->release(subject->index->insert({}, key, {std::span<const Page>(&page, 1)}, {}).lock);
  if (subject->index->peek(key).length == 1) return std::monostate{};
  return Error{
      fmt::format("canopy-dev bench: the index '{}' keeps nothing that is inserted, so there is nothing to "
                  "measure",
                  options.index)};
}

}  // namespace

std::vector<std::string> row_names(const Options& options) {
  std::vector<std::string> names;
  for (Case& one : all_cases(options)) std::ranges::move(one.names, std::back_inserter(names));
  return names;
}

Result<Report> run(const Options& options, const Registry& registry, const Progress& progress) {
  if (auto known = check_index(options, registry); !known) return known.error();
  std::vector<Case> all = all_cases(options), cases;
  const auto wanted = [&](const std::string& name) { return name.find(options.only) != std::string::npos; };
  for (Case& one : all)
    if (std::any_of(one.names.begin(), one.names.end(), wanted)) cases.push_back(std::move(one));
  if (cases.empty())
    return Error{fmt::format("canopy-dev bench: no row's name contains '{}'; they begin with {}", options.only,
                             beginnings(all))};

  Report report;
  report.index = options.index;
  report.quick = options.quick;
  const Setting setting{registry, options, options.quick ? 3U : 7U, options.quick ? 1U : 2U};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (progress) progress(static_cast<double>(i) / static_cast<double>(cases.size()), report.rows.size());
    if (options.stopped && options.stopped()) {
      report.incomplete = true;
      break;
    }
    if (auto measured = cases[i].measure(setting, report); !measured) return measured.error();
    std::erase_if(report.rows, [&](const Row& row) { return !wanted(row.name); });
  }
  return report;
}

}  // namespace canopy::bench
