/// The C interface beside the C++ engine: the same calls, through libcanopy and directly.
#include <canopy/c/canopy.h>
#include <canopy/engine/engine.h>
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "cases.h"
#include "clock.h"

namespace canopy::bench {
namespace {

constexpr char kYaml[] =
    "page_size: 16\n"
    "groups: { full: { reach: path, capacity: 4M, allocator: free_list, eviction: lru } }\n";
constexpr std::uint32_t kPrompt = 2048;

/// Both engines, each with a request that is computed.
class Both {
 public:
  /// `c_first`: the engine of the C interface is made first.
  static Result<std::unique_ptr<Both>> open(const Registry& registry, bool c_first) {
    auto both = std::make_unique<Both>();
    for (const bool of_c : {c_first, !c_first})
      if (auto made = of_c ? both->open_c() : both->open_cpp(registry); !made) return made.error();
    return both;
  }
  ~Both() { canopy_engine_destroy(c); }
  Both() = default;
  Both(const Both&) = delete;

  std::unique_ptr<Engine> cpp;
  canopy_engine* c = nullptr;
  std::vector<Token> prompt = std::vector<Token>(kPrompt, 7);

 private:
  Result<std::monostate> open_cpp(const Registry& registry) {
    EngineConfig config;
    config.page_size = 16;
    config.groups = {{.name = "full", .capacity = 4'000'000, .allocator = {"free_list"}, .eviction = {"lru"}}};
    auto engine = Engine::create(config, registry);
    if (!engine) return engine.error();
    cpp = std::move(*engine);
    return std::monostate{};
  }
  Result<std::monostate> open_c() {
    canopy_engine_options options{};
    options.size = sizeof options;
    options.yaml = kYaml;
    if (canopy_engine_create(&options, &c) == CANOPY_OK) return std::monostate{};
    std::string why(canopy_error(nullptr, 0), '\0');
    canopy_error(why.data(), why.size() + 1);
    return Error{std::move(why)};
  }
};

/// A sequence of calls, in both ways. Both return false if a call failed.
struct Calls {
  const char* name;
  std::uint32_t calls;  ///< calls in one turn
  bool (*cpp)(Both& both, Request& request, std::uint32_t turn);
  bool (*c)(Both& both, canopy_request* request, std::uint32_t turn);
};

canopy_request_spec spec_of(const Both& both) {
  canopy_request_spec spec = CANOPY_REQUEST_SPEC_INIT;
  spec.prompt = both.prompt.data();
  spec.prompt_tokens = both.prompt.size();
  return spec;
}

constexpr Calls kCalls[] = {
    {"c: reserve, append and advance of a decode step", 3,
     [](Both&, Request& request, std::uint32_t turn) {
       if (!request.reserve(kPrompt + turn + 1)) return false;
       request.append(turn);
       request.advance(kPrompt + turn + 1);
       return true;
     },
     [](Both&, canopy_request* request, std::uint32_t turn) {
       return canopy_request_reserve(request, kPrompt + turn + 1, UINT32_MAX) == CANOPY_OK &&
              canopy_request_append(request, &turn, 1) == CANOPY_OK &&
              canopy_request_advance(request, kPrompt + turn + 1) == CANOPY_OK;
     }},
    {"c: begin and end of a request that is resident", 2,
     [](Both& both, Request&, std::uint32_t) {
       RequestSpec spec;
       spec.prompt = both.prompt;
       return both.cpp->begin(spec).matched() == kPrompt - 16;
     },
     [](Both& both, canopy_request*, std::uint32_t) {
       const canopy_request_spec spec = spec_of(both);
       canopy_request* request = nullptr;
       if (canopy_engine_begin(both.c, &spec, nullptr, &request) != CANOPY_OK) return false;
       canopy_request_destroy(request);
       return true;
     }},
};

/// Measures calls on one pair of engines.
Result<std::monostate> measure_pair(const Setting& setting, const Calls& calls, bool c_first, Measured& figures) {
  constexpr std::uint32_t kTurns = 5'000, kSlices = 20;
  auto both = Both::open(setting.registry, c_first);
  if (!both) return both.error();
  Both& on = **both;
  RequestSpec spec;
  spec.prompt = on.prompt;
  Request request = on.cpp->begin(spec);
  const canopy_request_spec given = spec_of(on);
  canopy_request* c_request = nullptr;
  bool good = request.reserve(kPrompt) && canopy_engine_begin(on.c, &given, nullptr, &c_request) == CANOPY_OK &&
              canopy_request_reserve(c_request, kPrompt, UINT32_MAX) == CANOPY_OK &&
              canopy_request_commit(c_request, kPrompt, nullptr) == CANOPY_OK;
  request.commit(kPrompt);
  std::uint32_t turn = 0;
  for (std::size_t slice = 0; slice <= kSlices; ++slice, turn += kTurns) {
    const auto seconds = [&](auto&& call) {
      return seconds_of([&] {
               for (std::uint32_t i = 0; i < kTurns; ++i) good &= call(turn + i);
             }) /
             kTurns / calls.calls;
    };
    const double cpp = seconds([&](std::uint32_t at) { return calls.cpp(on, request, at); });
    const double c = seconds([&](std::uint32_t at) { return calls.c(on, c_request, at); });
    if (slice > 0) figures.ours.add(c), figures.floor.add(cpp);  // the first one warms up
  }
  canopy_request_destroy(c_request);
  request.abort();
  canopy_engine_state state{};
  state.size = sizeof state;
  good &= canopy_engine_look(on.c, &state) == CANOPY_OK && state.digest == on.cpp->digest();
  if (!good) return Error{fmt::format("canopy-dev bench: {}: a call failed, or the engines differ", calls.name)};
  return std::monostate{};
}

/// The difference is some nanoseconds, so there are many short slices, in turns. Where an engine's memory lies changes
/// its times by as much, so there are several pairs of engines.
Result<std::monostate> measure_call(const Setting& setting, const Calls& calls, Report& report) {
  Measured figures;
  std::vector<std::vector<char>> between;  // the next pair gets other memory
  for (std::size_t pair = 0; pair <= setting.repetitions; ++pair) {
    between.emplace_back(2000 * (pair + 1));
    if (const auto done = measure_pair(setting, calls, pair % 2 == 1, figures); !done) return done.error();
  }
  report.rows.push_back(figures.row("The C interface: the floor is the same calls in C++", calls.name, "a call",
                                    fmt::format("{:.1f} ns a call more (fastest slices)",
                                                1e9 * (figures.ours.spread().low - figures.floor.spread().low))));
  return std::monostate{};
}

}  // namespace

void add_c_cases(const Options&, std::vector<Case>& cases) {
  for (const Calls& calls : kCalls)
    cases.push_back({{calls.name}, [&calls](const Setting& setting, Report& report) {
                       return measure_call(setting, calls, report);
                     }});
}

}  // namespace canopy::bench
