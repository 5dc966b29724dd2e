#include "request_world.h"

#include <cache/cache_state.h>
#include <cache/guard/index_port.h>
#include <conformance/model/index_walk.h>
#include <conformance/model/plugins.h>
#include <program/mismatch.h>

#include <algorithm>

namespace canopy::test {

namespace {

constexpr std::uint32_t kNoLimit = ~std::uint32_t{0};

EngineConfig engine_config(const WorldConfig& config, std::uint32_t scale) {
  EngineConfig engine;
  engine.file = "the engine of a scenario";
  engine.page_size = config.page_size;
  engine.insert_at_finish = config.insert_at_finish;
  engine.key.name = config.overlap == 0 ? "token" : "bigram";
  engine.index = {config.index, config.options};
  for (const GroupSettings& settings : config.groups) {
    GroupConfig& group = engine.groups.emplace_back();
    group.name = settings.name;
    group.reach = settings.reach == kWholePath ? kWholePath : settings.reach * scale;
    group.capacity = std::uint64_t{settings.capacity ? settings.capacity : config.capacity} * config.page_size;
    group.allocator = {config.allocator};
    group.eviction = {settings.policy.empty() ? config.policy : settings.policy};
  }
  return engine;
}

}  // namespace

RequestWorld::RequestWorld(const WorldConfig& config)
    : config_(config), scale_(config.words_are_pages ? config.page_size : 1) {
  if (config_.groups.empty()) config_.groups = {{"full", kWholePath, 0, ""}};
  if (config_.overlap > 1) disagree("an overlap of {}: requests have 0, tokens, or 1, bigrams", config_.overlap);
  if (config_.words_are_pages && config_.overlap > 0) disagree("words=pages is for keys without an overlap");
  for (const GroupSettings& group : config_.groups) names_.push_back(group.name);
  auto engine = Engine::create(engine_config(config_, scale_), plugins());
  if (!engine) disagree("{}", engine.error().text);
  engine_ = std::move(*engine);
}

Outcome RequestWorld::apply(std::string_view text) {
  Operation line = program::operation_of(text, program::Runner::requests);
  line.words = words_in(config_, line.words);
  if (line.space != NamespaceId::shared) disagree("requests of a scenario have no namespaces");
  Outcome outcome = run(line);
  check();
  return outcome;
}

Outcome RequestWorld::run(const Operation& line) {
  switch (line.verb) {
    case Verb::begin:
      if (requests_.contains(line.name)) disagree("there is a request called '{}' already", line.name);
      return {{"matched", in_units(requests_.emplace(line.name, engine_->begin(arrival(line))).first->second.matched())}};
    case Verb::serve:
      return serve(line);
    case Verb::admits: {
      const Admission::Verdict verdict = engine_->admits(arrival(line)).verdict;
      return {{"now", std::uint64_t{verdict == Admission::Verdict::now}},
              {"wait", std::uint64_t{verdict == Admission::Verdict::wait}},
              {"never", std::uint64_t{verdict == Admission::Verdict::never}}};
    }
    case Verb::finish:
    case Verb::abort:
      return end(line, request(line));
    case Verb::row:
      return row(request(line));
    case Verb::state:
      return state();
    case Verb::tree:
      return {{"tree", shape_of(state_of(*engine_).index->component(), names_, scale_)}};
    case Verb::flush:
      return {{"tokens", in_units(engine_->flush(NamespaceId::shared))}};
    case Verb::peek:
      return {{"length", in_units(engine_->index().peek({NamespaceId::shared, line.words}).length)}};
    case Verb::room:
      if (const auto of = group_in(config_, line.group))
        return {{"refused", std::uint64_t{!engine_->make_free(*of, line.number())}}};
      return {};
    default:
      return move_on(line, request(line));
  }
}

void RequestWorld::finish() {
  requests_.clear();  // aborts the requests that still run
  check();
  for (std::size_t g = 0; g < names_.size(); ++g) {
    expect_equal(fmt::format("{}: units protected when no request runs", names_[g]).c_str(),
                 engine_->index().sizes(g).protected_, std::uint64_t{0});
    const std::uint64_t capacity = engine_->pool(g).limit();
    if (!engine_->make_free(g, capacity))
      disagree("{}: {} of {} pages free when no request runs and all is evicted", names_[g],
               engine_->pool(g).free_pages(), capacity);
  }
  check();
}

Request& RequestWorld::request(const Operation& line) {
  const auto found = requests_.find(line.name);
  if (found == requests_.end()) disagree("there is no request called '{}'", line.name);
  return found->second;
}

RequestSpec RequestWorld::arrival(const Operation& line) const {
  RequestSpec arrival;
  arrival.prompt = line.words;
  if (line.leave) arrival.min_uncached = *line.leave;
  arrival.priority = line.priority;
  arrival.output_limit = meant(line.output);
  arrival.chunk = meant(line.chunk);
  return arrival;
}

Outcome RequestWorld::serve(const Operation& line) {
  Request request = engine_->begin(arrival(line));
  const std::uint64_t matched = in_units(request.matched());
  const auto all = static_cast<std::uint32_t>(line.words.size());
  if (!request.reserve(all)) return {{"matched", matched}, {"refused", 1}};
  request.finish(all);
  return {{"matched", matched}, {"refused", 0}};
}

std::uint32_t RequestWorld::count(const Operation& line, const Request& request) const {
  return line.count ? meant(*line.count) : static_cast<std::uint32_t>(request.tokens().size());
}

std::uint32_t RequestWorld::computed(const Operation& line, const Request& request) const {
  const std::size_t all = request.tokens().size();
  const std::uint32_t computed = count(line, request);
  if (computed > std::min<std::size_t>(all, request.reserved()))
    disagree("of {} tokens {} have pages: {} cannot be computed", all, request.reserved(), computed);
  return computed;
}

Outcome RequestWorld::end(const Operation& line, Request& request) {
  if (line.verb == Verb::abort) request.abort();
  else request.finish(computed(line, request));
  requests_.erase(requests_.find(line.name));
  return {};
}

Outcome RequestWorld::move_on(const Operation& line, Request& request) {
  switch (line.verb) {
    case Verb::append:
      for (const Token token : line.words) request.append(token);
      return {};
    case Verb::reserve:
      return {
          {"refused", std::uint64_t{!request.reserve(count(line, request), line.soon ? meant(line.soon) : kNoLimit)}}};
    case Verb::retract:
      return request.retract(), Outcome{};
    case Verb::resume:
      if (!request.row(0).empty()) disagree("'{}' was not retracted", line.name);
      return {{"matched", in_units(request.resume())}};
    case Verb::commit:
      return {{"repointed", in_units(request.commit(computed(line, request)))}};
    default:
      request.advance(computed(line, request));
      return {};
  }
}

Outcome RequestWorld::row(const Request& request) const {
  Outcome outcome{{"computed", in_units(request.computed())},
                  {"matched", in_units(request.matched())},
                  {"committed", in_units(request.committed())},
                  {"reserved", in_units(request.reserved())}};
  for (std::size_t g = 0; g < names_.size(); ++g) {
    outcome.emplace_back(names_[g] + ".row", list_of(request.row(g)));
    outcome.emplace_back(names_[g] + ".first", request.first_page(g));
  }
  return outcome;
}

Outcome RequestWorld::state() const {
  const IndexView index = engine_->index();
  Outcome outcome{{"nodes", index.use().nodes},
                  {"running", engine_->live_requests()},
                  {"hits", in_units(engine_->counters().hit_tokens)}};
  for (std::size_t g = 0; g < names_.size(); ++g) {
    const Sizes sizes = index.sizes(g);
    const Occupancy pool = engine_->pool(g).occupancy();
    outcome.emplace_back(names_[g] + ".evictable", in_units(sizes.evictable));
    outcome.emplace_back(names_[g] + ".protected", in_units(sizes.protected_));
    outcome.emplace_back(names_[g] + ".free", pool.free);
    // Pages that requests own.
    outcome.emplace_back(names_[g] + ".owned",
                         pool.capacity - pool.free - (sizes.evictable + sizes.protected_) / config_.page_size);
  }
  return outcome;
}

void RequestWorld::check() {
  engine_->audit();
  if (engine_->ledger().violations() > 0) disagree("{}", engine_->ledger().reports().front());
}

}  // namespace canopy::test
