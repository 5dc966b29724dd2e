#pragma once

#include "request_source.h"
#include "text.h"

#include <canopy/options.h>

#include <cstdint>
#include <memory>
#include <string>

namespace canopy::workload {

/// An endless stream of one kind of requests. The mixer decides when they arrive and what is between them.
class Traffic {
 public:
  virtual ~Traffic() = default;
  /// Fills space, output_tokens and prompt, reusing their storage. Returns true if another request of this kind arrives
  /// at the same moment.
  virtual bool next(ClientRequest& request) = 0;
};

/// Most tokens that a kind keeps in memory between requests, over all its conversations.
inline constexpr std::uint64_t kMaxKeptTokens = 100'000'000;

// One struct per kind: its options and their validation. `longest_prompt` and `kept` are the worst case in tokens;
// `problem` is empty, or the rest of a sentence that begins with the kind's name.

/// Tenants that share nothing, each with a system prompt. A turn repeats the whole conversation before it.
struct ChatConfig {
  static constexpr const char* kName = "chat";
  std::uint64_t tenants = 4, conversations = 8, turns = 6;
  std::uint64_t system_tokens = 1000, user_tokens = 60, answer_tokens = 200;
  void visit(Options& o) {
    o.number("tenants", tenants, 1, 10'000,
             "namespaces, each with its own system prompt; a single one has no name of its own");
    o.number("conversations", conversations, 1, 1000, "conversations of a tenant at a time");
    o.number("turns", turns, 1, 1000, "turns of a conversation, on average");
    o.number("system_tokens", system_tokens, 0, 1'000'000, "length of a system prompt");
    o.number("user_tokens", user_tokens, 1, 1'000'000, "length of a user's message, on average");
    o.number("answer_tokens", answer_tokens, 0, 1'000'000, "length of an answer, on average");
  }
  std::uint64_t longest_prompt() const {
    return system_tokens + 2 * turns * (most_around(user_tokens) + most_around(answer_tokens));
  }
  std::uint64_t kept() const { return tenants * conversations * longest_prompt(); }
  std::string problem() const { return {}; }
};

/// Examples repeated in every prompt of a task, then a question that occurs once.
struct FewShotConfig {
  static constexpr const char* kName = "few_shot";
  std::uint64_t tasks = 4, examples = 8, example_tokens = 250, question_tokens = 80, answer_tokens = 20;
  bool shuffled = false;
  void visit(Options& o) {
    o.number("tasks", tasks, 1, 1'000'000, "tasks, each with its own examples");
    o.number("examples", examples, 1, 10'000, "examples before a question");
    o.number("example_tokens", example_tokens, 1, 100'000, "length of an example, on average");
    o.number("question_tokens", question_tokens, 1, 1'000'000, "length of a question, on average");
    o.number("answer_tokens", answer_tokens, 0, 1'000'000, "length of an answer, on average");
    o.flag("shuffled", shuffled, "shuffle the examples in each prompt, as careless templates do");
  }
  std::uint64_t longest_prompt() const { return examples * most_around(example_tokens) + most_around(question_tokens); }
  std::uint64_t kept() const { return 0; }
  std::string problem() const { return {}; }
};

/// Trees of agents: a task branches, and each branch has its ancestors' text and a tool's result.
struct AgentsConfig {
  static constexpr const char* kName = "agents";
  std::uint64_t tasks = 2, branches = 3, depth = 3;
  std::uint64_t preamble_tokens = 1500, task_tokens = 300, tool_tokens = 400, answer_tokens = 100;
  void visit(Options& o) {
    o.number("tasks", tasks, 1, 100'000, "trees that grow at the same time");
    o.number("branches", branches, 1, 1000, "branches of a step");
    o.number("depth", depth, 0, 1000, "steps below the task");
    o.number("preamble_tokens", preamble_tokens, 0, 1'000'000, "instructions and tools that all tasks begin with");
    o.number("task_tokens", task_tokens, 1, 1'000'000, "length of a task, on average");
    o.number("tool_tokens", tool_tokens, 1, 1'000'000, "length of a tool's result, on average");
    o.number("answer_tokens", answer_tokens, 0, 1'000'000, "length of an agent's answer, on average");
  }
  std::uint64_t longest_prompt() const {
    return preamble_tokens + most_around(task_tokens) +
           (depth + 1) * (most_around(tool_tokens) + most_around(answer_tokens));
  }
  std::uint64_t kept() const { return tasks * longest_prompt(); }
  std::string problem() const { return {}; }
};

/// Questions about documents, a few of which are far more popular than the others.
struct RagConfig {
  static constexpr const char* kName = "rag";
  std::uint64_t documents = 1000, per_request = 4, document_tokens = 800, skew = 1;
  std::uint64_t system_tokens = 300, question_tokens = 60, answer_tokens = 150;
  bool sorted = false;
  void visit(Options& o) {
    o.number("documents", documents, 1, 1'000'000, "documents in the corpus");
    o.number("per_request", per_request, 1, 100, "different documents before a question");
    o.number("document_tokens", document_tokens, 1, 1'000'000, "length of a document, on average");
    o.number("skew", skew, 0, 3, "popularity of document n is 1 / n^skew; 0: all are equally popular");
    o.number("system_tokens", system_tokens, 0, 1'000'000, "instructions before the documents");
    o.number("question_tokens", question_tokens, 1, 1'000'000, "length of a question, on average");
    o.number("answer_tokens", answer_tokens, 0, 1'000'000, "length of an answer, on average");
    o.flag("sorted", sorted, "sort documents by number, so that more prompts begin alike");
  }
  std::uint64_t longest_prompt() const {
    return system_tokens + per_request * most_around(document_tokens) + most_around(question_tokens);
  }
  std::uint64_t kept() const { return 0; }
  std::string problem() const {
    if (per_request <= documents) return {};
    return "needs " + std::to_string(per_request) + " different documents per request and has " +
           std::to_string(documents);
  }
};

/// One long prefix with many short ends, all at once: an evaluation run, or a table's rows to classify.
struct BatchSweepConfig {
  static constexpr const char* kName = "batch_sweep";
  std::uint64_t prefixes = 1, batch = 64, prefix_tokens = 8000, suffix_tokens = 50, answer_tokens = 10;
  void visit(Options& o) {
    o.number("prefixes", prefixes, 1, 1'000'000, "different prefixes; a batch has one of them");
    o.number("batch", batch, 1, 100'000, "requests that arrive at the same moment");
    o.number("prefix_tokens", prefix_tokens, 1, 100'000'000, "length of a prefix");
    o.number("suffix_tokens", suffix_tokens, 1, 1'000'000, "length of the text after the prefix, on average");
    o.number("answer_tokens", answer_tokens, 0, 1'000'000, "length of an answer, on average");
  }
  std::uint64_t longest_prompt() const { return prefix_tokens + most_around(suffix_tokens); }
  std::uint64_t kept() const { return 0; }
  std::string problem() const { return {}; }
};

/// The same prompts in a loop. If they are slightly larger than the cache, LRU never hits; if they fit, it never
/// misses.
struct ThrashConfig {
  static constexpr const char* kName = "thrash";
  std::uint64_t working_set_tokens = 200'000, prompt_tokens = 4000, answer_tokens = 0;
  void visit(Options& o) {
    o.number("working_set_tokens", working_set_tokens, 1, 1'000'000'000'000,
             "all prompts together; set it above capacity");
    o.number("prompt_tokens", prompt_tokens, 1, 100'000'000, "length of a prompt");
    o.number("answer_tokens", answer_tokens, 0, 1'000'000, "length of an answer, on average");
  }
  std::uint64_t longest_prompt() const { return prompt_tokens; }
  std::uint64_t kept() const { return 0; }
  std::string problem() const { return {}; }
};

/// One long key, then keys that diverge from it once at each of its pages: the most splits possible in a radix tree.
/// After every page, the next long key follows.
struct AdversarialSplitsConfig {
  static constexpr const char* kName = "adversarial_splits";
  enum class Order : std::uint32_t { shuffled, ascending, descending };
  std::uint64_t key_tokens = 16'384, page_size = 16, tail_tokens = 16, answer_tokens = 0;
  Order order = Order::shuffled;
  void visit(Options& o) {
    static constexpr const char* kOrders[] = {"shuffled", "ascending", "descending"};
    o.number("key_tokens", key_tokens, 2, 10'000'000, "length of the long key");
    o.number("page_size", page_size, 1, 65'536, "tokens between two places to split; set it to the engine's");
    o.number("tail_tokens", tail_tokens, 1, 1'000'000, "length of the text after a divergence");
    o.number("answer_tokens", answer_tokens, 0, 1'000'000, "length of an answer, on average");
    o.choice("order", order, kOrders, "order of the pages, which decides which half of a node splits next");
  }
  std::uint64_t longest_prompt() const { return key_tokens + tail_tokens; }
  std::uint64_t kept() const { return 0; }
  std::string problem() const {
    if (key_tokens >= 2 * page_size) return {};
    return "has a key of " + std::to_string(key_tokens) + " tokens, where " + std::to_string(2 * page_size) +
           ", two pages, are the least that can be split";
  }
};

std::unique_ptr<Traffic> make_traffic(const ChatConfig&, std::uint64_t seed);
std::unique_ptr<Traffic> make_traffic(const FewShotConfig&, std::uint64_t seed);
std::unique_ptr<Traffic> make_traffic(const AgentsConfig&, std::uint64_t seed);
std::unique_ptr<Traffic> make_traffic(const RagConfig&, std::uint64_t seed);
std::unique_ptr<Traffic> make_traffic(const BatchSweepConfig&, std::uint64_t seed);
std::unique_ptr<Traffic> make_traffic(const ThrashConfig&, std::uint64_t seed);
std::unique_ptr<Traffic> make_traffic(const AdversarialSplitsConfig&, std::uint64_t seed);

}  // namespace canopy::workload
