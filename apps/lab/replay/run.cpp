#include "run.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>
#include <workload/text.h>

#include <algorithm>
#include <chrono>
#include <ranges>
#include <thread>

namespace canopy::replay {
namespace {

/// Fetches what a tier below has for a request. Requests come one after another: everything in transit has ended before
/// the next one matches, and each waits for its own fetch.
Fetch fetch_at_once(Run& run, const RequestSpec& spec, std::uint64_t& now_us) {
  if (!run.engine.tiers().has_host()) return {};
  for (std::uint64_t end; (end = run.engine.tiers().next_end_us()) != kUnlimited;)
    run.turn(now_us = std::max(now_us, end));
  Fetch fetch = run.engine.tiers().fetch(spec);
  const std::uint64_t from = now_us;
  while (!fetch.done()) run.turn(now_us = std::max(now_us, fetch.ends_us()));
  run.loaded(now_us - from, now_us - from);
  run.idled(now_us - from);
  return fetch;
}

Result<std::monostate> run_serial(Run& run) {
  std::uint64_t now_us = 0;
  bool retains = false;  // until then, no decision depends on the time of arrival
  workload::ClientRequest client;
  std::vector<Token> answer;
  for (;;) {
    auto more = run.next(client);
    if (!more) return more.error();
    if (!*more) return std::monostate{};
    const NamespaceId space = run.engine.intern({client.space, {}, {}});
    const RequestSpec arrival{client.prompt,   space, client.priority, client.hints, 0, run.options.min_uncached, 0,
                              client.retention};
    retains |= !client.retention.empty();
    if (retains) run.turn(now_us = std::max(now_us, client.arrival_ms * 1000));
    Request request = run.begin(arrival, fetch_at_once(run, arrival, now_us));
    Trail trail(space);
    const std::uint32_t whole = run.engine.whole_pages(client.prompt.size());
    if (run.content) {
      trail.follow(client.prompt);
      run.content->check(request, trail, 0, request.matched());
    }
    if (!request.reserve(whole)) {
      // The recorded engines evict before they know that the room does not suffice.
      run.engine.make_free(0, (whole - request.matched()) / run.engine.page_size());
      run.take_back();
      run.reject(client);
      request.abort();
    } else {
      run.count(client, request.matched());
      if (run.content) run.content->write(request, trail, request.matched(), whole);
      // The answer is not inserted, but policies receive its length, so any tokens will do.
      answer.resize(std::max<std::size_t>(answer.size(), client.output_tokens));
      request.append(std::span<const Token>(answer).first(client.output_tokens));
      request.finish(whole);
    }
  }
}

}  // namespace

Run::Run(Engine& an_engine, workload::RequestSource& a_source, const Options& the_options, const Progress& a_progress)
    : engine(an_engine), options(the_options), source_(a_source), progress_(a_progress) {
  const auto has_store = [&](std::size_t group) { return engine.store(group) != nullptr; };
  const auto groups = std::views::iota(std::size_t{0}, engine.groups());
  if (options.content && std::ranges::any_of(groups, has_store)) content.emplace(engine);
}

Run::Brought Run::brought() const {
  Brought brought{};
  if (!engine.tiers().has_host()) return brought;
  const CounterValues counters = engine.tiers().counters();
  for (std::size_t i = 0; i < kBrought.size(); ++i) brought[i] = counters[kBrought[i]];
  return brought;
}

void Run::take_back() {
  const Brought now = brought();
  for (std::size_t i = 0; i < now.size(); ++i) taken_back_[i] += now[i] - brought_before_[i];
}

void Run::report_tier() {
  const Tiers& tiers = engine.tiers();
  if (!tiers.has_host()) return;
  const IndexView index = tiers.host_index();
  const Sizes sizes = index.sizes(0);
  const IndexUse use = index.use();
  TierReport& host = report.host_tier.emplace();
  host.counters = tiers.counters();
  for (std::size_t i = 0; i < kBrought.size(); ++i) host.counters[kBrought[i]] -= taken_back_[i];
  host.storage = tiers.has_storage();
  host.resident_tokens = sizes.evictable + sizes.protected_;
  host.capacity_tokens = tiers.host_pool(0).limit() * engine.page_size();
  host.nodes = use.nodes;
  host.index_bytes = use.bytes;
  host.index_seconds = index.seconds();
  host.waited_us = waited_us_;
  host.load_us = load_us_;
  host.later = later_;
  host.latest_us = latest_us_;
  host.hidden_us = load_us_ - std::min(load_us_, idle_us_);
  report.inserts_cut_short += use.inserts_cut_short;
  const std::uint64_t dropped = host.counters[Counter::dropped_tokens_storage];
  const std::uint64_t written = host.counters[Counter::written_tokens_storage];
  const std::vector<TenantUse> tenants = engine.tenants();
  const bool by_budget = std::ranges::any_of(tenants, [](const TenantUse& of) { return of.refused_puts > 0; });
  if (dropped > written / 9)  // more than a tenth of what left the host tier
    report.notes.push_back(
        fmt::format("{:.0f} % of what left the host tier was not written to the storage, because {}its room was needed "
                    "before: a larger host tier, a faster storage or requests at the pace of a server (--pace) help",
                    100 * static_cast<double>(dropped) / static_cast<double>(dropped + written),
                    by_budget ? "a tenant's budget of puts was spent, or " : ""));
}

void Run::turn(std::uint64_t now_us) {
  if (engine.tiers().in_real_time() && now_us > now_us_) {
    using Clock = std::chrono::steady_clock;
    const auto before = Clock::now();
    std::this_thread::sleep_for(std::chrono::microseconds(now_us - now_us_));
    // A short sleep takes much longer than asked for: a time limit of the storage would be several times as long.
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - before).count();
    now_us = std::max(now_us, now_us_ + static_cast<std::uint64_t>(took));
  }
  now_us_ = now_us;
  engine.turn(now_us);
}

bool Run::stopped() {
  report.incomplete |= options.stopped && options.stopped();
  return report.incomplete;
}

bool Run::may_go_on() {
  while (!engine.poll() && !stopped()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return !stopped();
}

Result<bool> Run::next(workload::ClientRequest& client) {
  using Clock = std::chrono::steady_clock;
  if (options.pace) {
    const auto due = started_ + taken_ * std::chrono::microseconds(1'000'000) / options.pace;
    while (Clock::now() < due && !stopped())
      std::this_thread::sleep_until(std::min<Clock::time_point>(due, Clock::now() + std::chrono::milliseconds(20)));
  }
  if (!may_go_on() || taken_ == options.limit) return false;
  auto more = source_.next(client);
  if (!more || !*more) return more;
  client.number = ++taken_;
  arrivals_.add(client.arrival_ms);
  for (const Resize& resize : options.resizes)
    if (resize.request == taken_)
      for (std::size_t g = 0; g < engine.groups(); ++g)
        if (resize.group.empty() ? g == 0 : engine.pool(g).group() == resize.group)
          engine.resize(g, resize.tokens / engine.page_size());
  return more;
}

void Run::count(const workload::ClientRequest& client, std::uint32_t matched) {
  constexpr std::size_t kMost = 128;
  ++report.requests;
  report.prompt_tokens += client.prompt.size();
  report.hit_tokens += matched;
  if (options.each) options.each(client, matched);
  if (progress_ && report.requests % 64 == 0)
    progress_(options.limit == kUnlimited
                  ? source_.progress()
                  : std::max(source_.progress(), static_cast<double>(taken_) / static_cast<double>(options.limit)),
              report.requests);
  if (report.requests % sample_every_ != 0) return;
  report.samples.push_back({report.requests, report.prompt_tokens, report.hit_tokens});
  if (report.samples.size() < kMost) return;
  // The list is full: keeps every second sample, and halves their rate from now on.
  for (std::size_t i = 0; i < kMost / 2; ++i) report.samples[i] = report.samples[2 * i + 1];
  report.samples.resize(kMost / 2);
  sample_every_ *= 2;
}

Result<Report> run(Engine& engine, workload::RequestSource& source, const Options& options, const Progress& progress) {
  Run run(engine, source, options, progress);
  const auto start = std::chrono::steady_clock::now();
  auto done = options.mode == Mode::serial ? run_serial(run) : run_timed(run);
  if (!done) return done.error();

  Report& report = run.report;
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  engine.audit();
  const Counters& counters = engine.counters();
  const Sizes sizes = engine.index().sizes(0);
  const IndexUse use = engine.index().use();
  report.page_size = engine.page_size();
  report.mode = options.mode;
  report.order = options.order;
  report.evict_calls = counters.evict_calls;
  report.evicted_tokens = counters.evicted_tokens;
  report.resizes = counters.resizes;
  report.relocated_pages = counters.relocated_pages;
  report.resident_tokens = sizes.evictable + sizes.protected_;
  report.capacity_tokens = run.capacity();
  for (std::size_t g = 0; g < engine.groups(); ++g) {
    const PoolView pool = engine.pool(g);
    const Sizes held = engine.index().sizes(g);
    report.groups.push_back({pool.group(),
                             engine.policy(g),
                             {},
                             (held.evictable + held.protected_) / engine.page_size(),
                             pool.free_pages(),
                             pool.longest_run(),
                             pool.handed_out().pages,
                             pool.handed_out().runs});
  }
  report.doubts = engine.doubts();
  add_doubts(report.doubts, source.doubts());
  for (std::string& note : source.notes()) report.notes.push_back(std::move(note));
  run.arrivals().add_note(report.notes);
  report.nodes = use.nodes;
  report.index_bytes = use.bytes;
  report.inserts_cut_short = use.inserts_cut_short;
  run.report_tier();
  report.tenants = engine.tenants();
  report.payments = engine.payments();
  report.namespaces = engine.spaces();
  report.index_seconds = counters.index_seconds;
  report.ledger_checks = engine.ledger().checks();
  report.violations = engine.ledger().violations();
  report.reports = engine.ledger().reports();
  if (run.content) {
    run.content->sync();
    report.content_checks = run.content->checks();
    report.violations += run.content->violations();
    report.reports.insert(report.reports.end(), run.content->reports().begin(), run.content->reports().end());
  }
  if (!options.failed_report && (report.violations > 0 || !report.doubts.empty()))
    return Error{"a replay failed: " +
                 (report.violations > 0 ? report.reports.front() : report.doubts.front().sentence)};
  // Hashes in rejected requests, which the engine never received.
  report.digest = splitmix64(engine.digest() ^ splitmix64(report.rejected) ^ report.requests);
  report.seed = source.seed();
  return std::move(report);
}

}  // namespace canopy::replay
