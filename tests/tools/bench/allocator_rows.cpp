/// Page numbers: handing them out, taking them back, and starting a large pool and its index.
#include <canopy/slot_allocator.h>
#include <fmt/format.h>

#include <cstring>
#include <numeric>
#include <optional>

#include "cases.h"
#include "clock.h"
#include "subject.h"

namespace canopy::bench {
namespace {

/// The original's allocator: free page numbers in one array. A request takes the first ones; freed pages are appended
/// in a new array.
class OriginalAllocator {
 public:
  explicit OriginalAllocator(std::uint32_t pages) : free_(pages) { std::iota(free_.begin(), free_.end(), Page{1}); }
  void allocate(std::span<Page> out) {
    std::copy_n(free_.begin() + static_cast<std::ptrdiff_t>(first_), out.size(), out.begin());
    first_ += out.size();
  }
  void free(std::span<const Page> pages) {
    std::vector<Page> joined;
    joined.reserve(free_.size() - first_ + pages.size());
    joined.insert(joined.end(), free_.begin() + static_cast<std::ptrdiff_t>(first_), free_.end());
    joined.insert(joined.end(), pages.begin(), pages.end());
    free_ = std::move(joined);
    first_ = 0;
  }

 private:
  std::vector<Page> free_;
  std::size_t first_ = 0;
};

/// Measures requests of `count` pages in a pool of which half is handed out; each frees the pages of the oldest.
template <class Allocator>
double churn(Allocator& allocator, std::size_t pool, std::size_t count, double patience) {
  constexpr std::size_t kCalls = 2000;
  const std::size_t out = std::max<std::size_t>(pool / 2 / count, 1);
  std::vector<Page> pages(out * count);
  for (std::size_t i = 0; i < out; ++i)
    static_cast<void>(allocator.allocate(std::span(pages).subspan(i * count, count)));
  double took = 0;
  std::size_t calls = 0;
  for (; calls < kCalls && (took < patience || calls < 3); ++calls) {
    const auto oldest = std::span(pages).subspan(calls * 7919 % out * count, count);
    took += seconds_of([&] {
      static_cast<void>(allocator.free(oldest));
      static_cast<void>(allocator.allocate(oldest));
    });
  }
  return took / static_cast<double>(calls * count);
}

double copies(std::size_t count) {
  constexpr std::size_t kCalls = 2000;
  std::vector<Page> here(count * 64, 1), there(count * 64);
  double took = 0;
  for (std::size_t i = 0; i < kCalls; ++i)
    took += seconds_of([&] {
      std::memcpy(there.data() + i % 64 * count, here.data() + i % 64 * count, count * sizeof(Page));
      std::memcpy(here.data() + (i + 1) % 64 * count, there.data() + i % 64 * count, count * sizeof(Page));
    });
  return took / static_cast<double>(kCalls * count);
}

constexpr const char* kAllocator = "free_list";
constexpr std::uint32_t kSegmentPages = 1024;

void add_churn(const std::string& allocator_name, std::uint32_t pool, std::size_t count, std::vector<Case>& cases) {
  const bool usual = allocator_name == kAllocator;
  const std::string name = fmt::format("allocate + free: {} pages, pool of {}{}", count, power_of_ten(pool),
                                       usual ? "" : ", " + allocator_name);
  const auto measure = [=](const Setting& setting, Report& report) -> Result<std::monostate> {
    Measured figures;
    for (std::size_t repetition = 0; repetition < setting.repetitions; ++repetition) {
      auto allocator = make_allocator(setting.registry, allocator_name, usual ? 0 : kSegmentPages);
      if (!allocator) return allocator.error();
      const std::uint32_t segment = usual ? pool : kSegmentPages;
      for (std::uint32_t first = 1; first <= pool; first += segment)
        (*allocator)->offer({first, std::min(segment, pool - first + 1)});
      figures.ours.add(churn(**allocator, pool, count, 1));
      figures.floor.add(copies(count));
      if (!usual || repetition >= setting.original_repetitions) continue;
      OriginalAllocator original(pool);
      figures.original.add(churn(original, pool, count, 0.2));
    }
    report.rows.push_back(figures.row("Page numbers", name, "a page"));
    return std::monostate{};
  };
  cases.push_back({{name}, measure});
}

void add_start(std::uint32_t pool, std::vector<Case>& cases) {
  const std::string name = fmt::format("start: pool of {} pages", power_of_ten(pool));
  const auto measure = [=](const Setting& setting, Report& report) -> Result<std::monostate> {
    Measured figures;
    for (std::size_t repetition = 0; repetition < setting.repetitions; ++repetition) {
      auto allocator = make_allocator(setting.registry, kAllocator);
      if (!allocator) return allocator.error();
      figures.ours.add(seconds_of([&] { (*allocator)->offer({1, pool}); }));
      figures.original.add(seconds_of([&] { OriginalAllocator original(pool); }));
    }
    report.rows.push_back(figures.row("Page numbers", name, "a start"));
    return std::monostate{};
  };
  cases.push_back({{name}, measure});
}

/// Adds the row of the time to make an index with a limit.
void add_index_start(Units tokens, std::vector<Case>& cases) {
  const std::string name = fmt::format("start: index of {} tokens, page 16", power_of_ten(tokens));
  const auto measure = [=](const Setting& setting, Report& report) -> Result<std::monostate> {
    Measured figures;
    for (std::size_t repetition = 0; repetition < setting.repetitions; ++repetition) {
      std::optional<Result<Subject>> made;
      figures.ours.add(seconds_of([&] { made = make_subject(setting.registry, setting.options.index, 16, tokens); }));
      if (!*made) return made->error();
    }
    report.rows.push_back(figures.row("Page numbers", name, "a start"));
    return std::monostate{};
  };
  cases.push_back({{name}, measure});
}

}  // namespace

void add_allocator_cases(const Options&, std::vector<Case>& cases) {
  for (const std::uint32_t pool : {10'000U, 10'000'000U})
    for (const std::size_t count : {1U, 64U, 1024U}) add_churn(kAllocator, pool, count, cases);
  for (const char* const other : {"contiguous", "segments"})
    for (const std::size_t count : {1U, 64U}) add_churn(other, 10'000'000, count, cases);
  add_start(10'000'000, cases);
  add_index_start(10'000'000, cases);
}

}  // namespace canopy::bench
