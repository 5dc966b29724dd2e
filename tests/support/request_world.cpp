#include "request_world.h"

#include <cache/cache_state.h>
#include <cache/guard/index_port.h>
#include <conformance/model/index_walk.h>
#include <conformance/model/line_words.h>
#include <conformance/model/mismatch.h>
#include <conformance/model/plugins.h>

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

RequestWorld::Line RequestWorld::parsed(std::string_view text) {
  Line line;
  const auto parts = split(text);
  if (parts.empty()) disagree("'' is nothing a request does");
  line.verb = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto [key, value] = setting(parts[i]);
    if (key.empty()) {
      line.words.push_back(value);
    } else {
      constexpr std::string_view kSettings[] = {"leave", "priority", "output", "chunk", "soon"};
      if (std::ranges::find(kSettings, key) == std::end(kSettings)) disagree("'{}' is no setting of a request", key);
      line.settings[key] = number<std::uint32_t>(value);
    }
  }
  return line;
}

Outcome RequestWorld::apply(std::string_view text) {
  const Line line = parsed(text);
  const std::string_view verb = line.verb;
  Outcome outcome;
  if (verb == "begin") outcome = begin(line);
  else if (verb == "serve") outcome = serve(line);
  else if (verb == "admits") outcome = admits(line);
  else if (verb == "finish" || verb == "abort") outcome = end(line, request(line));
  else if (verb == "row") outcome = row(request(line));
  else if (verb == "state") outcome = state();
  else if (verb == "tree") outcome = {{"tree", shape_of(state_of(*engine_).index->component(), names_, scale_)}};
  else if (verb == "flush") outcome = {{"tokens", in_units(engine_->flush(NamespaceId::shared))}};
  else if (verb == "peek") {
    outcome = {{"length", in_units(engine_->index().peek({NamespaceId::shared, tokens(line.words)}).length)}};
  } else if (verb == "room") {
    if (line.words.size() != 2) disagree("room wants a group and a number of pages");
    if (const auto of = group(line.words[0]))
      outcome = {{"refused", std::uint64_t{!engine_->make_free(*of, number<std::uint32_t>(line.words[1]))}}};
  } else {
    outcome = move_on(line, request(line));
  }
  check();
  return outcome;
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

Request& RequestWorld::request(const Line& line) {
  if (line.words.empty()) disagree("'{}' wants the name of a request, or is nothing that one does", line.verb);
  const auto found = requests_.find(line.words[0]);
  if (found == requests_.end()) disagree("there is no request called '{}'", line.words[0]);
  return found->second;
}

std::optional<std::size_t> RequestWorld::group(std::string_view name) const {
  for (std::size_t g = 0; g < names_.size(); ++g)
    if (names_[g] == name) return g;
  if (std::ranges::find(config_.other_groups, name) == config_.other_groups.end())
    disagree("'{}' is no group of this engine", name);
  return {};
}

std::vector<Token> RequestWorld::tokens(std::span<const std::string_view> words) const {
  std::vector<Token> tokens;
  for (const std::string_view word : words) add_numbers(word, tokens);
  return words_in(config_, tokens);
}

std::uint32_t RequestWorld::count(const Line& line, std::uint32_t otherwise) const {
  if (line.words.size() > 2) disagree("'{}' is too much", line.words[2]);
  return line.words.size() == 2 ? meant(number<std::uint32_t>(line.words[1])) : otherwise;
}

RequestSpec RequestWorld::arrival(const Line& line, std::span<const Token> prompt) const {
  const auto setting = [&](std::string_view key, std::uint32_t otherwise) {
    const auto found = line.settings.find(key);
    return found == line.settings.end() ? otherwise : found->second;
  };
  RequestSpec arrival;
  arrival.prompt = prompt;
  arrival.min_uncached = setting("leave", arrival.min_uncached);
  arrival.priority = static_cast<std::int32_t>(setting("priority", 0));
  arrival.output_limit = meant(setting("output", 0));
  arrival.chunk = meant(setting("chunk", 0));
  return arrival;
}

Outcome RequestWorld::begin(const Line& line) {
  if (line.words.empty()) disagree("begin wants a name and a prompt");
  const auto prompt = tokens(std::span(line.words).subspan(1));
  if (requests_.contains(line.words[0])) disagree("there is a request called '{}' already", line.words[0]);
  const auto [at, added] = requests_.emplace(line.words[0], engine_->begin(arrival(line, prompt)));
  return {{"matched", in_units(at->second.matched())}};
}

Outcome RequestWorld::serve(const Line& line) {
  const auto prompt = tokens(line.words);
  Request request = engine_->begin(arrival(line, prompt));
  const std::uint64_t matched = in_units(request.matched());
  const auto all = static_cast<std::uint32_t>(prompt.size());
  if (!request.reserve(all)) return {{"matched", matched}, {"refused", 1}};
  request.finish(all);
  return {{"matched", matched}, {"refused", 0}};
}

Outcome RequestWorld::admits(const Line& line) {
  const auto prompt = tokens(line.words);
  const Admission::Verdict verdict = engine_->admits(arrival(line, prompt)).verdict;
  return {{"now", std::uint64_t{verdict == Admission::Verdict::now}},
          {"wait", std::uint64_t{verdict == Admission::Verdict::wait}},
          {"never", std::uint64_t{verdict == Admission::Verdict::never}}};
}

std::uint32_t RequestWorld::computed(const Line& line, const Request& request) const {
  const auto all = static_cast<std::uint32_t>(request.tokens().size());
  const std::uint32_t computed = count(line, all);
  if (computed > std::min(all, request.reserved()))
    disagree("of {} tokens {} have pages: {} cannot be computed", all, request.reserved(), computed);
  return computed;
}

Outcome RequestWorld::end(const Line& line, Request& request) {
  if (line.verb == "abort") request.abort();
  else request.finish(computed(line, request));
  requests_.erase(requests_.find(line.words[0]));
  return {};
}

/// Runs a verb of a request that goes on.
Outcome RequestWorld::move_on(const Line& line, Request& request) {
  if (line.verb == "append") {
    for (const Token token : tokens(std::span(line.words).subspan(1))) request.append(token);
    return {};
  }
  if (line.verb == "reserve") {
    const auto all = static_cast<std::uint32_t>(request.tokens().size());
    const auto soon = line.settings.find("soon");
    return {{"refused", std::uint64_t{!request.reserve(count(line, all),
                                                       soon == line.settings.end() ? kNoLimit : meant(soon->second))}}};
  }
  if (line.verb == "retract") return request.retract(), Outcome{};
  if (line.verb == "resume") {
    if (!request.row(0).empty()) disagree("'{}' was not retracted", line.words[0]);
    return {{"matched", in_units(request.resume())}};
  }
  if (line.verb != "advance" && line.verb != "commit") disagree("'{}' is nothing that a request does", line.verb);
  if (line.verb == "commit") return {{"repointed", in_units(request.commit(computed(line, request)))}};
  request.advance(computed(line, request));
  return {};
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
