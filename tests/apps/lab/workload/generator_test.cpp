#include <demo/demo.h>
#include <doctest/doctest.h>
#include <support/source_folder.h>
#include <workload/answer.h>
#include <workload/generator.h>
#include <workload/mixer.h>
#include <workload/traffic.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

namespace {

using namespace canopy;
using namespace canopy::workload;
namespace fs = std::filesystem;

template <class Config>
std::unique_ptr<RequestSource> source_of(const Config& config, std::uint64_t seed, std::uint64_t requests) {
  MixConfig mix;
  mix.seed = seed;
  mix.requests = requests;
  std::vector<MixItem> items(1);
  items[0].traffic = make_traffic(config, derive(seed, 1));
  return std::make_unique<Mixer>(mix, std::move(items));
}

void for_each_request(RequestSource& source, const std::function<void(const ClientRequest&)>& visit) {
  ClientRequest request;
  for (;;) {
    const auto got = source.next(request);
    REQUIRE(got);
    if (!*got) break;
    visit(request);
  }
}

std::uint64_t digest(RequestSource& source) {
  std::uint64_t hash = 0;
  const auto absorb = [&](std::uint64_t word) { hash = splitmix64(hash ^ word); };
  for_each_request(source, [&](const ClientRequest& request) {
    absorb(request.arrival_ms);
    for (const char c : request.space) absorb(static_cast<unsigned char>(c));
    absorb(static_cast<std::uint64_t>(request.priority));
    absorb(request.output_tokens);
    absorb(prompt_hash(request.prompt));
  });
  return hash;
}

template <class Config>
void check_deterministic(std::uint64_t recorded) {
  CAPTURE(std::string(Config::kName));
  CHECK(digest(*source_of(Config{}, 7, 200)) == recorded);
  CHECK(digest(*source_of(Config{}, 7, 200)) == recorded);
  CHECK(digest(*source_of(Config{}, 8, 200)) != recorded);
}

bool begins_with(const std::vector<Token>& prompt, const std::vector<Token>& prefix) {
  return prompt.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), prompt.begin());
}

std::size_t common(const std::vector<Token>& a, const std::vector<Token>& b) {
  const auto [at, ignored] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<std::size_t>(at - a.begin());
}

std::vector<Token> with_answer(const ClientRequest& request) {
  std::vector<Token> all = request.prompt;
  for (std::uint32_t i = 0; i < request.output_tokens; ++i) all.push_back(answer_token(prompt_hash(request.prompt), i));
  return all;
}

Result<std::unique_ptr<RequestSource>> from_text(const std::string& text) {
  const auto document = parse_yaml(text, "w.yaml");
  REQUIRE_MESSAGE(document, (document ? "" : document.error().text));
  return make_generator(*document);
}

TEST_CASE("same seed, same requests on every compiler") {
  check_deterministic<ChatConfig>(13'619'828'941'692'828'181u);
  check_deterministic<FewShotConfig>(3'400'194'557'751'156'275u);
  check_deterministic<AgentsConfig>(11'891'349'784'344'336'905u);
  check_deterministic<RagConfig>(7'665'333'404'747'715'362u);
  check_deterministic<BatchSweepConfig>(17'335'649'960'849'143'257u);
  check_deterministic<ThrashConfig>(8'515'210'879'478'395'874u);
  check_deterministic<AdversarialSplitsConfig>(5'532'428'520'507'146'277u);
  CHECK(digest(*demo::requests(7)) == 756'538'697'767'861'668u);
  CHECK(digest(*demo::requests(7)) != digest(*demo::requests(8)));
}

TEST_CASE("an answer is a function of the prompt") {
  const std::vector<Token> prompt = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  CHECK(prompt_hash(prompt) == 8'754'229'392'999'248'257u);
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    std::vector<Token> other = prompt;
    ++other[i];
    CHECK(prompt_hash(other) != prompt_hash(prompt));
    CHECK(prompt_hash(std::span(prompt).first(i)) != prompt_hash(std::span(prompt).first(i + 1)));
  }
  std::vector<Token> conversation = prompt;
  append_answer(conversation, 3);
  REQUIRE(conversation.size() == 12);
  CHECK(conversation[11] == answer_token(prompt_hash(prompt), 2));
}

TEST_CASE("chat: the next turn begins with the last prompt and its answer") {
  ChatConfig config;
  config.tenants = 3;
  config.conversations = 2;
  const auto source = source_of(config, 11, 400);
  std::map<std::string, std::vector<std::vector<Token>>> ended;  // by tenant: what each conversation was after a turn
  std::map<std::string, std::vector<Token>> system;
  std::size_t continued = 0, begun = 0;
  for_each_request(*source, [&](const ClientRequest& request) {
    auto& talks = ended[request.space];
    const auto before =
        std::find_if(talks.begin(), talks.end(), [&](const auto& talk) { return begins_with(request.prompt, talk); });
    if (before != talks.end()) {
      ++continued;
      *before = with_answer(request);
      return;
    }
    ++begun;
    const std::vector<Token> head(request.prompt.begin(), request.prompt.begin() + 1000);
    CHECK(system.emplace(request.space, head).first->second == head);
    CHECK(request.prompt.size() <= 1000 + most_around(60));
    talks.push_back(with_answer(request));
  });
  CHECK(system.size() == 3);
  CHECK(system["tenant-0"] != system["tenant-1"]);
  CHECK(begun + continued == 400);
  CHECK(continued > begun * 4);  // six turns on average
  CHECK(begun > 40);
}

TEST_CASE("agents: every step continues an ancestor's answer, and a step has as many branches as it should") {
  AgentsConfig config;
  config.tasks = 1;
  config.branches = 3;
  config.depth = 2;
  const std::size_t tree = 1 + 3 + 9;
  std::vector<std::vector<Token>> conversation;
  std::vector<int> branches;
  std::size_t n = 0;
  for_each_request(*source_of(config, 3, 4 * tree), [&](const ClientRequest& request) {
    if (n++ % tree == 0) {
      conversation.clear();
      branches.clear();
    } else {
      std::size_t parent = conversation.size();
      for (std::size_t i = 0; i < conversation.size(); ++i) {
        if (begins_with(request.prompt, conversation[i]) &&
            (parent == conversation.size() || conversation[i].size() > conversation[parent].size()))
          parent = i;
      }
      REQUIRE(parent < conversation.size());
      CHECK(++branches[parent] <= 3);
    }
    conversation.push_back(with_answer(request));
    branches.push_back(0);
    if (n % tree == 0) CHECK(std::count(branches.begin(), branches.end(), 3) == 4);
  });
}

TEST_CASE("few_shot: the examples are shared, the question is not, shuffled, hardly anything is") {
  FewShotConfig config;
  config.tasks = 1;
  std::vector<Token> first;
  std::size_t least = ~std::size_t{0}, most_over = 0;
  for_each_request(*source_of(config, 5, 50), [&](const ClientRequest& request) {
    if (!first.empty()) {
      least = std::min(least, common(first, request.prompt));
      most_over = std::max(most_over, request.prompt.size() - common(first, request.prompt));
    }
    if (first.empty()) first = request.prompt;
  });
  CHECK(least > 8 * 125);
  CHECK(most_over <= most_around(80));

  config.shuffled = true;
  std::set<Token> beginnings;
  for_each_request(*source_of(config, 5, 200),
                   [&](const ClientRequest& request) { beginnings.insert(request.prompt[0]); });
  CHECK(beginnings.size() == 8);
}

TEST_CASE("rag: popular documents come first more often, in the measure of the skew") {
  RagConfig config;
  config.documents = 50;
  config.per_request = 1;
  config.system_tokens = 0;
  for (const std::uint64_t skew : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}}) {
    config.skew = skew;
    std::map<Token, int> seen;
    for_each_request(*source_of(config, 5, 4000), [&](const ClientRequest& request) { ++seen[request.prompt[0]]; });
    int most = 0;
    for (const auto& [document, times] : seen) most = std::max(most, times);
    CAPTURE(skew);
    // Exact expectations of 4,000 draws: 80, 889, 2,461; the bounds are four standard deviations away.
    if (skew == 0) CHECK((most > 80 && most < 130));
    if (skew == 1) CHECK((most > 783 && most < 995));
    if (skew == 2) CHECK((most > 2337 && most < 2585));
  }

  config.per_request = 50;
  config.skew = 3;
  config.sorted = true;
  std::vector<Token> all;
  for_each_request(*source_of(config, 5, 3), [&](const ClientRequest& request) {
    const std::size_t question = most_around(config.question_tokens);
    if (!all.empty()) CHECK(common(all, request.prompt) + question >= request.prompt.size());
    all = request.prompt;
  });
}

TEST_CASE("batch_sweep: a batch arrives at one moment, and the rate holds all the same") {
  BatchSweepConfig config;
  config.batch = 20;
  config.prefix_tokens = 100;
  std::map<std::uint64_t, std::size_t> at;
  std::vector<Token> first;
  std::uint64_t last = 0;
  for_each_request(*source_of(config, 5, 2000), [&](const ClientRequest& request) {
    if (first.empty()) first = request.prompt;
    CHECK(common(first, request.prompt) >= 100);
    CHECK(request.arrival_ms >= last);
    last = request.arrival_ms;
    ++at[request.arrival_ms];
  });
  CHECK(at.size() == 100);
  CHECK(std::all_of(at.begin(), at.end(), [](const auto& moment) { return moment.second == 20; }));
  CHECK(last > 90'000);  // 2,000 requests, 20 a second
  CHECK(last < 110'000);
}

TEST_CASE("thrash: the same prompts round and round") {
  ThrashConfig config;
  config.working_set_tokens = 1050;
  config.prompt_tokens = 100;
  std::vector<std::vector<Token>> prompts;
  for_each_request(*source_of(config, 5, 33), [&](const ClientRequest& request) { prompts.push_back(request.prompt); });
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    CHECK(prompts[i].size() == 100);
    CHECK(prompts[i] == prompts[i % 11]);
    if (i > 0) CHECK(common(prompts[i], prompts[i - 1]) < 100);
  }
}

TEST_CASE("adversarial_splits: requests part at each page of the key once, and exactly at its end") {
  using Order = AdversarialSplitsConfig::Order;
  AdversarialSplitsConfig config;
  config.key_tokens = 1030;
  config.page_size = 16;
  config.tail_tokens = 3;
  for (const Order order : {Order::shuffled, Order::ascending, Order::descending}) {
    config.order = order;
    std::vector<Token> key, last_key;
    std::vector<std::size_t> left;
    for_each_request(*source_of(config, 5, 2 * 65), [&](const ClientRequest& request) {
      if (request.prompt.size() == config.key_tokens) {
        last_key = std::exchange(key, request.prompt);
        CHECK(common(key, last_key) == 0);
        left.clear();
        return;
      }
      left.push_back(common(key, request.prompt));
      CHECK(request.prompt.size() == left.back() + config.tail_tokens);
      if (left.size() < 64) return;
      CHECK(std::is_sorted(left.begin(), left.end()) == (order == Order::ascending));
      CHECK(std::is_sorted(left.rbegin(), left.rend()) == (order == Order::descending));
      std::sort(left.begin(), left.end());
      for (std::size_t i = 0; i < left.size(); ++i) CHECK(left[i] == (i + 1) * 16);
    });
  }
}

TEST_CASE("a prompt of a million tokens") {
  ThrashConfig config;
  config.prompt_tokens = 1'000'000;
  for_each_request(*source_of(config, 5, 2),
                   [](const ClientRequest& request) { CHECK(request.prompt.size() == 1'000'000); });
}

TEST_CASE("a mix keeps its shares, bursts included, and its order of arrival") {
  const auto source = from_text(R"(
seed: 9
requests: 20000
arrivals_per_second: 1000
mix:
  - thrash: { prompt_tokens: 1, working_set_tokens: 10 }
    share: 3
    priority: 5
  - batch_sweep: { prefix_tokens: 1, suffix_tokens: 1, batch: 50 }
    namespace: nightly
  - chat: { tenants: 2, system_tokens: 1, turns: 1, user_tokens: 1 }
    namespace: desk
)");
  REQUIRE_MESSAGE(source, (source ? "" : source.error().text));
  CHECK((*source)->seed() == 9);
  CHECK((*source)->progress() == 0.0);
  std::map<std::string, int> by_space;
  std::uint64_t last = 0;
  for_each_request(**source, [&](const ClientRequest& request) {
    ++by_space[request.space];
    CHECK(request.arrival_ms >= last);
    last = request.arrival_ms;
    CHECK(request.priority == (request.space.empty() ? 5 : 0));
  });
  CHECK((*source)->progress() == 1.0);
  CHECK((last > 19'500 && last < 20'500));
  CHECK(by_space.size() == 4);
  CHECK((by_space[""] > 11'500 && by_space[""] < 12'500));
  CHECK((by_space["nightly"] > 3700 && by_space["nightly"] < 4300));
  CHECK((by_space["desk/tenant-0"] > 1800 && by_space["desk/tenant-0"] < 2200));
}

TEST_CASE("the error of an unusable description has the place and the reason") {
  const auto error = [](const std::string& text) {
    const auto source = from_text(text);
    REQUIRE(!source);
    return source.error().text;
  };
  const std::vector<std::pair<std::string, std::vector<std::string>>> table = {
      {"- chat: {}", {"w.yaml:1:1: expected a workload: a map with 'mix'"}},
      {"seed: 3", {"w.yaml:1:1: 'mix' is missing"}},
      {"mix: { chat: {} }", {"w.yaml:1:6: 'mix': expected a list"}},
      {"mix: []", {"w.yaml:1:6: 'mix': expected a list"}},
      {"mix:\n  - chat", {"w.yaml:2:5: expected a kind of traffic with its options"}},
      {"mix:\n  - chatt: {}",
       {"w.yaml:2:5: 'chatt' is unknown in an item of 'mix'", "Did you mean 'chat'?", "few_shot"}},
      {"mix:\n  - share: 3", {"w.yaml:2:5: this item of 'mix' has no kind of traffic", "adversarial_splits"}},
      {"mix:\n  - chat: {}\n    rag: {}", {"w.yaml:3:5: 'rag' together with 'chat'"}},
      {"mix:\n  - chat: {}\n    share: 0", {"w.yaml:3:", "share"}},
      {"mix:\n  - chat: {}\n    share: many", {"w.yaml:3:", "share"}},
      {"mix:\n  - chat: {}\n    namespace: [a]", {"w.yaml:3:16: 'namespace': expected a name"}},
      {"mix:\n  - chat: { turns: -1 }", {"w.yaml:2:", "turns"}},
      {"mix:\n  - chat: { tunrs: 1 }", {"w.yaml:2:", "tunrs", "turns"}},
      {"seed: 0\nmix: [ chat: {} ]", {"w.yaml:1:", "seed"}},
      {"sed: 1\nmix: [ chat: {} ]", {"w.yaml:1:", "sed", "seed"}},
      {"mix:\n  - rag: { documents: 3, per_request: 4 }",
       {"w.yaml:2:10: rag needs 4 different documents per request and has 3"}},
      {"mix:\n  - adversarial_splits: { key_tokens: 20, page_size: 16 }",
       {"w.yaml:2:25: adversarial_splits has a key of 20 tokens"}},
      {"mix:\n  - adversarial_splits: { order: sideways }", {"w.yaml:2:", "sideways"}},
      {"mix:\n  - chat: { turns: 1000, user_tokens: 1000000 }",
       {"w.yaml:2:11: chat may make a prompt of ", "of memory while it runs; at most 20000000 are allowed"}},
      {"mix:\n  - chat: { tenants: 10000, conversations: 1000 }", {"w.yaml:2:11: chat may have to keep "}},
      {"seed: x\nmix:\n  - chat: { turns: 0 }\n    rag: {}", {"w.yaml:1:", "w.yaml:3:", "w.yaml:4:5: 'rag'"}},
  };
  for (const auto& [text, parts] : table) {
    const std::string found = error(text);
    for (const std::string& part : parts) CHECK_MESSAGE(found.find(part) != found.npos, found);
  }
  CHECK(!open_generator("/nowhere/at all.yaml", 0));
}

TEST_CASE("the workloads that come with the program can be used, another seed takes the file's place") {
  const fs::path folder = fs::path(kSourceFolder) / "configs/workloads";
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    CAPTURE(entry.path());
    ++files;
    const auto source = open_generator(entry.path(), 0), other = open_generator(entry.path(), 99);
    REQUIRE_MESSAGE(source, (source ? "" : source.error().text));
    REQUIRE(other);
    CHECK((*other)->seed() == 99);
    ClientRequest request, different;
    REQUIRE((*source)->next(request));
    REQUIRE((*other)->next(different));
    CHECK(request.prompt != different.prompt);
  }
  CHECK(files >= 8);
}

TEST_CASE("demo: an interesting hit rate in a pool of 150,000 tokens") {
  constexpr std::size_t kPage = 16, kPages = 150'000 / kPage;
  std::list<std::uint64_t> recent;  // pages by the hash of all up to them; latest first
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> resident;
  std::uint64_t tokens = 0, hit = 0, evicted = 0, requests = 0;
  for_each_request(*demo::requests(1), [&](const ClientRequest& request) {
    ++requests;
    tokens += request.prompt.size();
    const std::vector<Token> all = with_answer(request);
    std::vector<std::uint64_t> path;
    std::uint64_t page = prompt_hash(std::vector<Token>(request.space.begin(), request.space.end()));
    bool here = true;
    for (std::size_t end = kPage; end <= all.size(); end += kPage) {
      page = splitmix64(page ^ prompt_hash(std::span(all).subspan(end - kPage, kPage)));
      here = here && end <= request.prompt.size() && resident.contains(page);
      if (here) hit += kPage;
      path.push_back(page);
    }
    for (auto each = path.rbegin(); each != path.rend(); ++each) {
      if (const auto old = resident.find(*each); old != resident.end()) recent.erase(old->second);
      recent.push_front(*each);
      resident[*each] = recent.begin();
    }
    for (; recent.size() > kPages; ++evicted) {
      resident.erase(recent.back());
      recent.pop_back();
    }
  });
  CHECK((requests >= 500 && requests <= 2000));
  CHECK((tokens > 1'000'000 && tokens < 2'000'000));
  CHECK((hit * 100 / tokens >= 40 && hit * 100 / tokens <= 70));
  CHECK(evicted * kPage > 300'000);
}

}  // namespace
