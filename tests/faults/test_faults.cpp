// test_faults [NAME...]
// test_faults --record FILE
//
// Proves that the tests notice wrong code. First every check runs without a fault and must pass; then each planted
// fault (or those that are named) is switched on in processes of their own until one check objects. A crash or a
// hang is an objection too. A fault that no check notices is a failure of this test: some check is too weak.
//
// noticed.txt names the test case that noticed each fault last time. That test case is tried first, which takes a
// quarter of the time; if it does not object, everything else is tried. --record writes the file again.
#include <fcntl.h>
#include <fmt/format.h>
#include <planted_list.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// A part of the real test programs, built with the planted code.
struct Check {
  const char* program;
  std::array<const char*, 2> filters;
  std::array<const char*, 3> objects_first_to;  ///< faults in files that begin so
};
/// From cheap to dear.
constexpr Check kChecks[] = {
    {"planted_test_radix", {"--source-file=*scenario_test*"}, {"plugins/radix"}},
    {"planted_test_contract",
     {"--test-suite=PrefixIndex", "--test-case-exclude=every index*,neither*,a key of*"},
     {"plugins/radix"}},
    {"planted_test_contract", {"--test-suite=SlotAllocator"}, {"plugins/allocators"}},
    {"planted_test_contract", {"--test-suite=EvictionStrategy"}, {"plugins/eviction"}},
    {"planted_test_contract",
     {"--test-suite=PrefixIndex", "--test-case=every index*,neither*,a key of*"},
     {"plugins/radix"}},
    {"planted_test_base", {"--source-file=*yaml_*,*nearest_name*"}, {"core/base/config"}},
    {"planted_test_engine", {"--source-file=*engine_config*"}, {"core/base/config"}},
    {"planted_test_kv_events", {"--source-file=*codec_*,*hash_chain*,*in_order_*,*stream_*"}, {"core/kv_events"}},
    {"planted_test_cache", {"--source-file=*waiting_order*"}, {"core/cache/queue"}},
    {"planted_test_lab", {"--source-file=*lab_*", "--test-case-exclude=*published one*"}, {"apps/lab/lab"}},
    {"planted_test_slots", {"--source-file=*slots_*"}, {"plugins/slots"}},
    {"planted_test_redis", {"--source-file=*parts_test*,*resp_test*,*scripted_test*"}, {"plugins/redis"}},
    {"planted_test_bind", {"--source-file=*chunk_*"}, {"python/bind"}},
    {"planted_test_c", {"--source-file=*contract_test*"}, {"c/"}},
    {"planted_test_c", {"--source-file=*lockstep_test*"}, {"c/"}},
    {"planted_test_c", {"--source-file=*memory_test*,*hostile_test*"}, {"c/"}},
    {"planted_test_tiers", {"--source-file=*page_record*"}, {"core/tiers/page_record"}},
    {"planted_test_bridge", {"--source-file=*workers_test*"}, {"inspector/bridge"}},
    {"planted_test_bridge", {"--source-file=*follower_test*"}, {"inspector/bridge"}},
    {"planted_test_kv_events",
     {"--source-file=*publisher_test*,*tree_queue_test*"},
     {"core/kv_events", "plugins/hash_chain/node_events"}},
    {"planted_test_inspector", {"--source-file=*metrics_test*"}, {"inspector/metrics"}},
    {"planted_test_inspector", {"--source-file=*serve/*"}, {"inspector/serve"}},
    {"planted_test_inspector",
     {"--source-file=*history_test*,*metrics_test*,*same_figures*,*recount_test*"},
     {"inspector/account"}},
    {"planted_test_radix", {"--source-file=*hash_chain_test*"}, {"plugins/hash_chain"}},
    {"planted_test_tenants", {"--test-case=*"}, {"core/cache/tenants", "core/cache/pages/page_flow"}},
    {"planted_test_tiers", {"--source-file=*tenants_test*"}, {"core/cache/tenants"}},
    {"planted_test_tiers", {"--source-file=*tiers_*,*ranks_*"}, {"core/tiers"}},
    {"planted_test_policies",
     {"--test-case-exclude=*conversation trace*,*shipped workloads*"},
     {"plugins/hazard", "plugins/queues"}},
    {"planted_test_radix", {"--source-file=*weight_order_test*"}, {"plugins/radix/weight_order"}},
    {"planted_test_inspector", {"--source-file=*mirror_*,*events_test*,*hostile_test*"}, {"core/cache/publish"}},
    {"planted_test_tiers", {"--source-file=*core/tiers*"}, {"core/tiers"}},
    {"planted_test_refused",
     {"--test-case=*"},
     {"core/cache/pages/ledger", "core/tiers/departures", "core/cache/pages/pool"}},
    {"planted_test_cache", {"--test-case=*"}, {"core/cache", "core/engine", "core/tiers"}},
    {"planted_test_engine", {"--source-file-exclude=*scale_test*"}, {"core/cache", "core/engine", "core/tiers"}},
    {"planted_test_radix", {"--source-file=*groups_test*"}, {"plugins/radix"}},
    {"planted_test_radix", {"--test-case=every loaded policy*"}, {"plugins"}},
    {"planted_test_radix", {"--test-case=a radix index*"}, {"plugins"}},
};

/// The failure of a run of tests: empty if all passed.
struct Objection {
  std::string text;
  std::string test_case = {};  ///< Empty if none failed by name: a crash, a hang, a random program.
  bool empty() const { return text.empty(); }
};

std::string line_at(const std::string& text, std::size_t at) { return text.substr(at, text.find('\n', at) - at); }

std::string trimmed(std::string text) {
  text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

/// A random program that failed says so at once, and then shrinks; this test does not wait for that.
std::string random_objection(const std::string& output) {
  const std::size_t at = output.find(", operation "), end = output.find('\n', at);
  if (at == std::string::npos || end == std::string::npos) return {};
  const std::size_t seed = output.rfind("seed ", at);
  if (seed == std::string::npos) return {};
  return "a random program: " + output.substr(seed, end - seed);
}

/// The first failure of doctest's report, with the test case it stands under.
Objection reported_objection(const std::string& output) {
  const std::size_t error = output.find("ERROR: ");
  if (error == std::string::npos) return {};
  std::string what = line_at(output, error + std::strlen("ERROR: "));
  if (const std::size_t next = output.find('\n', error); next != std::string::npos) {
    const std::string values = trimmed(line_at(output, next + 1));
    if (values.starts_with("values: ")) what = values.substr(std::strlen("values: "));
    else if (!values.empty() && what.find("THREW") != std::string::npos) what += " " + values;
  }
  const std::size_t name = output.rfind("TEST CASE:  ", error);
  if (name == std::string::npos) return {what};
  const std::string test_case = line_at(output, name + std::strlen("TEST CASE:  "));
  return {test_case + ": " + what, test_case};
}

/// A filter that matches nothing passes, and would prove nothing.
bool nothing_ran(const std::string& output) {
  const std::size_t at = output.find("test cases:");
  return at == std::string::npos || trimmed(line_at(output, at + std::strlen("test cases:"))).starts_with("0 ");
}

std::vector<char*> environment_with(std::vector<std::string>& settings) {
  std::vector<char*> all;
  for (char** variable = environ; *variable; ++variable)
    if (std::strncmp(*variable, "CANOPY_", std::strlen("CANOPY_")) != 0) all.push_back(*variable);
  for (std::string& setting : settings) all.push_back(setting.data());
  all.push_back(nullptr);
  return all;
}

/// Runs the test cases of a program that pass the filters, with one fault.
Objection run(const fs::path& program, const std::vector<std::string>& filters, std::size_t fault,
              Clock::duration patience) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return {"no pipe"};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDERR_FILENO);
  std::vector<std::string> words{program.string(), "--abort-after=1", "--no-colors=true"};
  words.insert(words.end(), filters.begin(), filters.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::vector<std::string> settings{fmt::format("CANOPY_PLANTED={}", fault), "CANOPY_OPS=0.1"};
  pid_t child = 0;
  const int failed =
      posix_spawn(&child, program.c_str(), &actions, nullptr, arguments.data(), environment_with(settings).data());
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  if (failed != 0) {
    close(pipe_ends[0]);
    return {fmt::format("{} could not be started: {}", program.string(), std::strerror(failed))};
  }

  std::string output;
  Objection objection;
  const auto deadline = Clock::now() + patience;
  for (bool open = true; open && objection.empty();) {
    pollfd waiting{pipe_ends[0], POLLIN, 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) objection.text = "it stands still";
    else if (poll(&waiting, 1, static_cast<int>(left)) > 0) {
      char some[4096];
      const ssize_t count = read(pipe_ends[0], some, sizeof(some));
      open = count > 0;
      if (open) output.append(some, static_cast<std::size_t>(count));
      objection.text = random_objection(output);
    }
  }
  close(pipe_ends[0]);
  if (!objection.empty()) kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  if (objection.empty()) objection = reported_objection(output);
  if (!objection.empty()) return objection;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {nothing_ran(output) ? "there is no such test case" : ""};
  if (!WIFSIGNALED(status)) return {fmt::format("it ended with {}", WEXITSTATUS(status))};
  return {WTERMSIG(status) == SIGXCPU ? "it does not come to an end"
                                      : fmt::format("a crash: {}", strsignal(WTERMSIG(status)))};
}

Objection run(const fs::path& folder, const Check& check, std::size_t fault, Clock::duration patience) {
  std::vector<std::string> filters;
  for (const char* filter : check.filters)
    if (filter) filters.emplace_back(filter);
  return run(folder / check.program, filters, fault, patience);
}

/// The test case that noticed a fault last time.
struct Noticed {
  std::string program, test_case;
};

std::map<std::string, Noticed> read_noticed(const fs::path& path) {
  std::map<std::string, Noticed> all;
  std::ifstream file(path);
  for (std::string fault, program, test_case;
       std::getline(file, fault, '\t') && std::getline(file, program, '\t') && std::getline(file, test_case);)
    all[fault] = {program, test_case};
  return all;
}

/// Returns the objection of the test case that noticed this fault last time, and of no other.
Objection again(const fs::path& folder, const Noticed& last, std::size_t fault) {
  std::string filter = "--test-case=" + last.test_case;
  std::ranges::replace(filter, ',', '?');  // a comma would begin another filter
  const Objection objection = run(folder / last.program, {filter}, fault, std::chrono::seconds(30));
  return objection.test_case == last.test_case ? objection : Objection{};
}

/// The order in which the checks are tried: first those that are meant for a fault's file, of these first the one that
/// noticed the last fault in this file.
class Order {
 public:
  std::vector<std::size_t> of(const std::string& file) {
    std::vector<std::size_t> checks;
    for (const bool meant : {true, false})
      for (std::size_t i = 0; i < std::size(kChecks); ++i)
        if (std::ranges::any_of(kChecks[i].objects_first_to,
                                [&](const char* begin) { return begin && file.starts_with(begin); }) == meant)
          checks.push_back(i);
    const std::lock_guard lock(mutex_);
    if (const auto last = noticed_.find(file); last != noticed_.end()) {
      const auto at = std::ranges::find(checks, last->second);
      std::rotate(checks.begin(), at, at + 1);
    }
    return checks;
  }
  void noticed(const std::string& file, std::size_t check) {
    const std::lock_guard lock(mutex_);
    noticed_[file] = check;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::size_t> noticed_;
};

/// Time of each check without a fault.
using Times = std::array<Clock::duration, std::size(kChecks)>;

struct Verdict {
  std::string caught_by;  ///< empty: no check noticed
  Noticed noticed;        ///< without a test case if none objected by name
  std::chrono::milliseconds took{};
};

Verdict try_fault(const fs::path& folder, std::size_t number, const Times& times, Order& order, const Noticed* last) {
  const auto start = Clock::now();
  const std::string file = kPlanted[number - 1].file;
  Verdict verdict;
  const auto notice = [&](const std::string& program, const Objection& objection) {
    if (objection.empty()) return false;
    verdict.caught_by = fmt::format("{}: {}", program.substr(std::strlen("planted_")), objection.text);
    verdict.noticed = {program, objection.test_case};
    return true;
  };
  if (!last || !notice(last->program, again(folder, *last, number)))
    for (const std::size_t check : order.of(file)) {
      const Check& tried = kChecks[check];
      if (!notice(tried.program, run(folder, tried, number, std::chrono::seconds(5) + 10 * times[check]))) continue;
      order.noticed(file, check);
      break;
    }
  verdict.took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
  return verdict;
}

/// Calls work(0) ... work(count - 1), on one thread more than there are cores, because some checks wait.
template <class Work>
void in_parallel(std::size_t count, Work&& work) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i <= std::max(1U, std::thread::hardware_concurrency()); ++i)
    threads.emplace_back([&] {
      for (std::size_t at = next++; at < count; at = next++) work(at);
    });
  for (std::thread& thread : threads) thread.join();
}

void limit_children() {
  const auto limit = [](auto resource, rlim_t most) {
    const rlimit both{most, most};
    setrlimit(resource, &both);
  };
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, 20);
  limit(RLIMIT_AS, rlim_t{8} << 30);
}

bool all_pass_without_a_fault(const fs::path& folder, Times& times) {
  std::atomic<bool> all = true;
  in_parallel(std::size(kChecks), [&](std::size_t i) {
    const auto start = Clock::now();
    const Objection objection = run(folder, kChecks[i], 0, std::chrono::seconds(240));
    times[i] = Clock::now() - start;
    if (objection.empty()) return;
    all = false;
    fmt::print("without a fault, {} {}: {}\n", kChecks[i].program, kChecks[i].filters[0], objection.text);
  });
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names(argv + 1, argv + argc);
  fs::path record;
  if (names.size() == 2 && names[0] == "--record") record = names[1], names.clear();
  std::vector<std::size_t> numbers;
  for (std::size_t number = 1; number <= std::size(kPlanted); ++number)
    if (names.empty() || std::find(names.begin(), names.end(), kPlanted[number - 1].name) != names.end())
      numbers.push_back(number);
  if (!names.empty() && numbers.size() != names.size()) {
    fmt::print("not all of these are names of planted faults\n");
    return 2;
  }
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  limit_children();
  const auto start = Clock::now();
  Times times;
  if (!all_pass_without_a_fault(folder, times)) return 1;

  Order order;
  const auto noticed = record.empty() ? read_noticed(CANOPY_NOTICED) : std::map<std::string, Noticed>{};
  std::vector<Verdict> verdicts(numbers.size());
  std::mutex printing;
  in_parallel(numbers.size(), [&](std::size_t i) {
    const auto last = noticed.find(kPlanted[numbers[i] - 1].name);
    verdicts[i] = try_fault(folder, numbers[i], times, order, last == noticed.end() ? nullptr : &last->second);
    const std::lock_guard lock(printing);
    fmt::print("{:6} ms  {:40} {}\n", verdicts[i].took.count(), kPlanted[numbers[i] - 1].name,
               verdicts[i].caught_by.empty() ? "NO CHECK NOTICED" : verdicts[i].caught_by);
    std::fflush(stdout);
  });
  std::size_t caught = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Planted& fault = kPlanted[numbers[i] - 1];
    if (!verdicts[i].caught_by.empty()) ++caught;
    else fmt::print("no check noticed '{}' in {}: {}\n", fault.name, fault.file, fault.sentence);
  }
  if (!record.empty()) {
    std::ofstream file(record);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (const Noticed& by = verdicts[i].noticed; !by.test_case.empty())
        file << kPlanted[numbers[i] - 1].name << '\t' << by.program << '\t' << by.test_case << '\n';
  }
  const std::chrono::duration<double> took = Clock::now() - start;
  fmt::print("{} of {} planted faults are noticed, in {:.0f} s\n", caught, numbers.size(), took.count());
  return caught == numbers.size() ? 0 : 1;
}
