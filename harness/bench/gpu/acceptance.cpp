/// The acceptance figures A1 to A13 and T15: the demand, and what this run found.
#include <fmt/format.h>

#include "sections.h"

namespace canopy::bench::gpu {
namespace {

struct Wanted {
  const char *id, *demand, *elsewhere;  ///< elsewhere: where it is shown, if not by these sections
};
constexpr Wanted kWanted[] = {
    {"A1", "page copy and image kernels >= 0.92 of device copy, from 256 MiB moved", nullptr},
    {"A2", "rows >= 512 B: >= 0.85, 256 B: >= 0.75 of device copy, from 64 MiB moved", nullptr},
    {"A3", "B3 and B4 >= the best scattered copy of the driver", nullptr},
    {"A3 decode", "decode-size writes <= 1.1 x one plain copy of as many bytes", nullptr},
    {"A4", "D2H and H2D >= 0.93 of pinned copies for images >= 64 KiB, >= 0.85 below", nullptr},
    {"A5", "D2H at full rate slows a memory-bound kernel by <= 5 %", nullptr},
    {"A6", "elastic >= 0.98 of fixed in every kernel", nullptr},
    {"A7", "no growth fails while memory is free; a segment ready <= 30 ms", nullptr},
    {"A8", "back() holds the thread <= 1 ms at 99 %; steps at 99 % <= 1.02 x while growing", nullptr},
    {"A9", "10 GB of pages drained <= 10 ms of the GPU", nullptr},
    {"A9 remap", "the index relocates up to a quarter of 262,144 pages in <= 1 ms", nullptr},
    {"A10", "90 % -> 25 %: held/live <= 1.05 with <= 30 % of live pages moved", nullptr},
    {"A11", "allocators <= 50 ns a page", nullptr},
    {"A12", "sanitizer 0 findings, fuzz 0 differences, 100 cycles 0 bytes lost", "tests/gpu/run_all"},
    {"A13", "without a GPU the plugin opens and declines in <= 5 ms", nullptr},
    {"T15 call", "an eviction of 1,024 pages that are copied down holds the engine <= 20 us", nullptr},
    {"T15", "those pages reach the host at >= 0.85 of a pinned copy", nullptr}};

}  // namespace

std::vector<Demand> judge(const Session& session) {
  std::vector<Demand> demands;
  for (const Wanted& wanted : kWanted) {
    Demand& demand = demands.emplace_back();
    demand.id = wanted.id;
    demand.demand = wanted.demand;
    const auto found = session.findings.find(wanted.id);
    if (found == session.findings.end()) {
      demand.measured = wanted.elsewhere    ? std::string("not here: ") + wanted.elsewhere
                        : !session.device() ? "no GPU was at hand"
                                            : "not among the sections or sizes of this run";
      continue;
    }
    demand.measured = found->second.what;
    if (session.report.gpu->fake && found->second.on_gpu) demand.measured += "; of a fake device";
    else demand.verdict = found->second.margin >= 1 ? Demand::Verdict::met : Demand::Verdict::missed;
  }
  return demands;
}

}  // namespace canopy::bench::gpu
