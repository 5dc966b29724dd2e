#include "fleet.h"

#include <algorithm>

namespace canopy::fleet {

double Report::imbalance() const {
  std::uint64_t most = 0, all = 0;
  for (const WorkerReport& worker : workers) {
    most = std::max(most, worker.computed_tokens());
    all += worker.computed_tokens();
  }
  return all ? static_cast<double>(most) * static_cast<double>(workers.size()) / static_cast<double>(all) : 1;
}

Result<Report> run(Caches& caches, workload::RequestSource& source, const Options& options, const Progress& progress) {
  const std::size_t count = caches.workers();
  scheduling::Router router(options.rules, options.seed);
  std::vector<scheduling::RouteWorker> workers(count);
  std::vector<Load> loads(count, Load(options.speed));
  std::vector<std::uint64_t> waits;
  Report report;
  report.route = options.rules.route;
  report.workers.resize(count);
  workload::ClientRequest client;
  while (report.requests < options.limit) {
    if (options.stopped && options.stopped()) {
      report.incomplete = true;
      break;
    }
    auto more = source.next(client);
    if (!more) return more.error();
    if (!*more) break;
    const std::uint64_t now = client.arrival_ms * 1000;
    caches.look(client, workers);
    for (std::size_t at = 0; at < count; ++at) {
      loads[at].reach(now);
      workers[at].requests = loads[at].requests();
      workers[at].prefill_tokens = loads[at].prefill_tokens();
      workers[at].decode_blocks = loads[at].blocks();
    }
    const std::size_t chosen = router.choose(workers, {client.prompt.size(), caches.block_tokens()});
    const std::optional<std::uint32_t> matched = caches.serve(chosen, client);
    WorkerReport& worker = report.workers[chosen];
    const std::uint64_t hit = matched.value_or(0), prompt = client.prompt.size();
    ++report.requests, ++worker.requests;
    report.prompt_tokens += prompt, worker.prompt_tokens += prompt;
    report.hit_tokens += hit, worker.hit_tokens += hit;
    if (matched) {
      const std::uint64_t blocks = (prompt + client.output_tokens) / caches.block_tokens() + 1;
      waits.push_back(loads[chosen].add(now, prompt - hit, client.output_tokens, blocks) - now);
    } else {
      ++report.rejected;
    }
    if (progress && report.requests % 64 == 0) progress(source.progress(), report.requests);
  }
  if (!waits.empty()) {
    double sum = 0;
    for (const std::uint64_t wait : waits) sum += static_cast<double>(wait);
    report.mean_wait_ms = sum / static_cast<double>(waits.size()) / 1000;
    const auto at = waits.begin() + static_cast<std::ptrdiff_t>((waits.size() * 95 + 99) / 100 - 1);
    std::nth_element(waits.begin(), at, waits.end());
    report.p95_wait_ms = static_cast<double>(*at) / 1000;
  }
  report.violations = caches.violations();
  report.reports = caches.reports();
  return report;
}

}  // namespace canopy::fleet
