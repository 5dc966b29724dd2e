/// The storage `slots` next to the least work that moves its bytes, in one run and on one disk, that of $TMPDIR.
#include <canopy/base/figures.h>
#include <canopy/base/random.h>
#include <canopy/base/temporary_folder.h>
#include <canopy/helpers/record_head.h>
#include <fmt/format.h>
#include <poll.h>
#include <slots/table_file.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "cases.h"
#include "clock.h"
#include "disk_floor.h"

namespace canopy::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBatch = 16;

struct Size {
  std::uint64_t record_bytes;
  const char* name;
};
constexpr Size kSizes[] = {{64 << 10, "64 KiB"}, {256 << 10, "256 KiB"}, {2 << 20, "2 MiB"}};

/// Memory as in the host tier: in huge pages, if the system has them.
struct Aligned {
  std::byte* bytes;
  explicit Aligned(std::size_t count) {
    constexpr std::size_t kHuge = 2 << 20;
    const std::size_t whole = (count + kHuge - 1) / kHuge * kHuge;
    bytes = static_cast<std::byte*>(std::aligned_alloc(kHuge, whole));
    if (bytes) ::madvise(bytes, whole, MADV_HUGEPAGE);
    Random random(1);
    for (std::size_t i = 0; bytes && i < count; i += 512) bytes[i] = static_cast<std::byte>(random.next());
  }
  ~Aligned() { std::free(bytes); }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
};

/// `slots` behind the interface of a floor: puts or gets a batch and waits for it.
class Storage final : public RecordFloor {
 public:
  explicit Storage(std::shared_ptr<PageStorage> storage) : storage_(std::move(storage)) {}
  /// Uses other keys from now on, so that new records replace the existing ones.
  void next_round() { ++round_; }
  bool put(std::uint64_t first, std::span<std::byte* const> records) override {
    keys_.clear();
    for (std::byte* const record : records) {
      keys_.push_back(key(first++));
      const RecordHead head{RecordHead::kMagic, {}, keys_.back(), {}};
      std::memcpy(record, &head, sizeof head);
    }
    sources_.assign(records.begin(), records.end());
    storage_->put(1, {}, keys_, sources_, kLong, 0);
    return wait();
  }
  bool get(std::uint64_t first, std::span<std::byte* const> records) override {
    keys_.clear();
    for (std::size_t i = 0; i < records.size(); ++i) keys_.push_back(key(first + i));
    storage_->get(1, {}, keys_, records, kLong);
    return wait();
  }

 private:
  static constexpr std::uint64_t kLong = 60'000'000;
  PageKey key(std::uint64_t place) const { return {{splitmix64(place), round_, 0, 0}}; }
  bool wait() {
    StorageDone done;
    while (storage_->poll({&done, 1}) == 0) {
      pollfd readable{storage_->descriptor(), POLLIN, 0};
      ::poll(&readable, 1, 1'000);
    }
    return done.fate == Fate::done;
  }

  std::shared_ptr<PageStorage> storage_;
  std::uint64_t round_ = 0;
  std::vector<PageKey> keys_;
  std::vector<const std::byte*> sources_;
};

/// The figures of one way to keep records, by repetition.
struct Way {
  const char* name;
  std::unique_ptr<RecordFloor> floor;
  Repeated put_cpu{}, get_cpu{}, put_rate{}, get_rate{};
};

Result<std::monostate> measure_size(const Setting& setting, const Size& size, Report& report) {
  const std::uint64_t bytes = (setting.options.quick ? 32ULL : 128ULL) << 20, records = bytes / size.record_bytes;
  const double gigabytes = static_cast<double>(bytes) * 1e-9;
  const TemporaryFolder folder("canopy-bench");
  if (folder.path().empty()) return Error{"canopy-dev bench: no folder can be made in $TMPDIR or /tmp"};
  const Aligned memory(kBatch * size.record_bytes);
  if (!memory.bytes) return Error{"canopy-dev bench: no memory for records"};
  std::vector<std::byte*> batch(kBatch);
  for (std::size_t i = 0; i < kBatch; ++i) batch[i] = memory.bytes + i * size.record_bytes;

  PageStorage::Context context;
  context.record_bytes = size.record_bytes;
  auto made = setting.registry.make<PageStorage>(
      "slots", context, fmt::format("{{ path: {}, capacity: {} }}", folder.path().string(), bytes));
  if (!made) return Error{"canopy-dev bench: " + made.error().text};
  auto storage = std::make_unique<Storage>(*made);
  Storage* const slots = storage.get();
  Way ways[] = {{"slots", std::move(storage)},
                {"io_uring", uring_floor(folder.path() / "uring", size.record_bytes, records)},
                {"page cache", page_cache_floor(folder.path() / "cache", size.record_bytes, records)},
                {"memcpy", memory_floor(size.record_bytes, records)}};
  if (!ways[1].floor) report.remarks.push_back("There is no io_uring here, so slots is not compared with it.");

  std::vector<std::uint64_t> order(records / kBatch);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  Random random(2);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.remainder(i)]);
  for (std::size_t repetition = 0; repetition <= setting.repetitions; ++repetition) {
    slots->next_round();
    for (Way& way : ways) {
      if (!way.floor) continue;
      bool fine = true;
      const double begin = cpu_now(CLOCK_PROCESS_CPUTIME_ID);
      const double put = seconds_of([&] {
        for (std::uint64_t first = 0; first < records; first += kBatch) fine &= way.floor->put(first, batch);
      });
      const double between = cpu_now(CLOCK_PROCESS_CPUTIME_ID);
      const double get = seconds_of([&] {
        for (const std::uint64_t one : order) fine &= way.floor->get(one * kBatch, batch);
      });
      const double end = cpu_now(CLOCK_PROCESS_CPUTIME_ID);
      if (!fine)
        return Error{fmt::format("canopy-dev bench: {} could not keep {} records of {}", way.name, records, size.name)};
      if (repetition == 0) continue;  // the disk's blocks are written for the first time
      way.put_cpu.add((between - begin) / gigabytes), way.get_cpu.add((end - between) / gigabytes);
      way.put_rate.add(static_cast<double>(bytes) / put), way.get_rate.add(static_cast<double>(bytes) / get);
    }
  }
  const std::string section = "storage: CPU seconds, and bytes a second, of records put and got in batches of 16";
  const auto add = [&](const char* what, Repeated Way::* cpu, Repeated Way::* rate) {
    const std::string name = fmt::format("storage: {} {}", what, size.name);
    report.rows.push_back(
        {section, name + ", CPU", Kind::time, "a GB", (ways[0].*cpu).spread(), (ways[1].*cpu).if_any()});
    report.rows.push_back(
        {section, name + ", page cache, CPU", Kind::time, "a GB", (ways[2].*cpu).spread(), (ways[3].*cpu).if_any()});
    report.rows.push_back(
        {section, name + ", rate", Kind::rate, "", (ways[0].*rate).spread(), (ways[1].*rate).if_any()});
  };
  add("put", &Way::put_cpu, &Way::put_rate);
  add("get", &Way::get_cpu, &Way::get_rate);
  return std::monostate{};
}

/// Measures a start with a table, whose entries are written as slots writes them; the slots themselves are never read.
Result<std::monostate> measure_start(const Setting& setting, Report& report) {
  const std::uint32_t records = setting.options.quick ? 100'000 : 1'000'000;
  const TemporaryFolder folder("canopy-bench");
  if (folder.path().empty()) return Error{"canopy-dev bench: no folder can be made in $TMPDIR or /tmp"};
  PageStorage::Context context;
  context.record_bytes = 4096;
  const std::string options =
      fmt::format("{{ path: {}, capacity: {} }}", folder.path().string(), records * std::uint64_t{4096});
  const auto open = [&] { return setting.registry.make<PageStorage>("slots", context, options); };
  if (auto made = open(); !made) return Error{"canopy-dev bench: " + made.error().text};
  std::string table;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path()))
    if (entry.path().filename() == "table") table = entry.path().string();
  {
    slots::TableFile file(table, {4096, records}, context);
    for (std::uint32_t slot = 0; slot < records; ++slot)
      file.set(slot, {{{splitmix64(slot), slot, 0, 0}}, 1, 1 + slot / 64, slot / 64 % 8, slot % 64, 0}, true);
    file.complete();
  }
  Repeated figures;
  for (std::size_t repetition = 0; repetition <= setting.repetitions / 2; ++repetition) {
    std::uint64_t known = 0;
    const double seconds = seconds_of([&] {
      if (auto made = open()) known = (*made)->use().records;
    });
    if (known != records) return Error{fmt::format("canopy-dev bench: slots has {} of {} records", known, records)};
    figures.add(seconds);
  }
  report.rows.push_back({"storage: slots starts with its table", "storage: start", Kind::time,
                         fmt::format("{} records", grouped(records)), figures.spread()});
  return std::monostate{};
}

}  // namespace

void add_storage_cases(const Options&, std::vector<Case>& cases) {
  for (const Size& size : kSizes) {
    std::vector<std::string> names;
    for (const char* what : {"put", "get"})
      for (const char* figure : {", CPU", ", page cache, CPU", ", rate"})
        names.push_back(fmt::format("storage: {} {}{}", what, size.name, figure));
    cases.push_back(
        {names, [&size](const Setting& setting, Report& report) { return measure_size(setting, size, report); }});
  }
  cases.push_back({{"storage: start"}, measure_start});
}

}  // namespace canopy::bench
