/// ShareGPT-like JSON: a list of conversations, or one per line. Each has its messages under `conversations` (`from`,
/// `value`) or `messages` (`role`, `content`). Makes a request for each answer, whose prompt is the whole conversation
/// before it. The file has no times: TraceOptions::conversations conversations are open at a time and take turns, one
/// request every 100 ms; when one ends, the next of the file begins.
#include "../json_objects.h"
#include "../shown.h"
#include "../text.h"
#include "../trace_formats.h"
#include "../words.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <deque>
#include <nlohmann/json.hpp>
#include <utility>

namespace canopy::workload {
namespace {

using nlohmann::json;

constexpr std::uint64_t kGapMs = 100;

/// The tokens of a conversation, and where each answer begins and ends.
struct Conversation {
  std::vector<Token> tokens;
  std::vector<std::pair<std::size_t, std::size_t>> answers;
  std::size_t next_answer = 0;
};

const json* find_of(const json& object, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto at = object.find(name); at != object.end()) return &*at;
  return nullptr;
}

class ShareGptTrace final : public TraceReader {
 public:
  ShareGptTrace(std::unique_ptr<LineReader> lines, std::uint64_t open) : objects_(std::move(lines)), open_(open) {}

  Result<bool> next(TraceRecord& record) override {
    if (failed_) return *failed_;
    while (talking_.size() < open_ && !ended_) {
      auto got = read();
      if (!got) failed_ = got.error();
      if (!got) return *failed_;
      ended_ = !*got;
    }
    if (talking_.empty() && requests_ == 0) {
      failed_ = Error{objects_.lines().path() +
                      ": has no answers; expected conversations like {\"conversations\": [{\"from\": \"human\", "
                      "\"value\": \"...\"}, {\"from\": \"gpt\", \"value\": \"...\"}]}"};
      return *failed_;
    }
    if (talking_.empty()) return false;
    Conversation now = std::move(talking_.front());
    talking_.pop_front();
    const auto [from, to] = now.answers[now.next_answer++];
    record.clear();
    record.time_ms = kGapMs * requests_++;
    record.turn = static_cast<std::uint32_t>(now.next_answer);
    record.tokens.assign(now.tokens.begin(), now.tokens.begin() + static_cast<std::ptrdiff_t>(from));
    record.output_tokens = static_cast<std::uint32_t>(to - from);
    record.answer.assign(now.tokens.begin() + static_cast<std::ptrdiff_t>(from),
                         now.tokens.begin() + static_cast<std::ptrdiff_t>(to));
    if (now.next_answer < now.answers.size()) talking_.push_back(std::move(now));
    return true;
  }
  Doubts doubts() const override { return objects_.lines().doubts(); }
  double progress() const override { return objects_.lines().progress(); }
  std::vector<std::string> notes() const override {
    std::vector<std::string> notes{fmt::format(
        "words stand for tokens ({} different), and the times are invented: {} take turns, one request every {} ms",
        grouped(words_.known()), plural(open_, "conversation"), kGapMs)};
    if (silent_ > 0) notes.push_back(fmt::format("{} without an answer left out", plural(silent_, "conversation")));
    return notes;
  }

 private:
  /// Reads the next conversation that has an answer. Returns false at the end.
  Result<bool> read() {
    for (;;) {
      auto got = objects_.next(text_);
      if (!got || !*got) return got;
      const json object = parsed();
      if (object.is_discarded()) return Error{objects_.place(parse_at_) + ": " + parse_why_};
      Conversation now;
      if (const std::string problem = take(object, now); !problem.empty())
        return Error{objects_.place(0) + ": " + problem};
      if (now.answers.empty()) {
        ++silent_;
        continue;
      }
      talking_.push_back(std::move(now));
      return true;
    }
  }

  json parsed() {
    try {
      return json::parse(text_);
    } catch (const json::parse_error& error) {
      parse_at_ = error.byte > 0 ? error.byte - 1 : 0;
      parse_why_ = "not JSON; expected an object with the messages of a conversation";
    } catch (const json::exception&) {
      parse_at_ = 0;
      parse_why_ = "a number that is too large";
    }
    return json(json::value_t::discarded);
  }

  /// Takes a conversation from JSON. Returns an error message, or nothing.
  std::string take(const json& object, Conversation& now) {
    const json* messages = find_of(object, {"conversations", "conversation", "messages"});
    if (messages == nullptr || !messages->is_array())
      return "has no list of messages; expected 'conversations' or 'messages'";
    std::size_t number = 0;
    for (const json& message : *messages) {
      ++number;
      if (!message.is_object()) return fmt::format("message {} is not an object", number);
      const json *from = find_of(message, {"from", "role"}), *value = find_of(message, {"value", "content"});
      if (from == nullptr || !from->is_string())
        return fmt::format("message {} has no author; expected 'from' or 'role'", number);
      if (value == nullptr || !value->is_string())
        return fmt::format("message {} has no text; expected 'value' or 'content'", number);
      const auto& name = from->get_ref<const std::string&>();
      const bool answer = name == "gpt" || name == "assistant" || name == "chatgpt" || name == "bing" || name == "bard";
      if (!answer && name != "human" && name != "user" && name != "system" && name != "tool" && name != "function")
        return fmt::format("message {} is from '{}'; expected human, user, gpt, assistant, system or tool", number,
                           shown(name));
      // A model's template puts marks between messages, so that no message runs into the next.
      words_.append(answer ? "\x01" : "\x02", now.tokens);
      const std::size_t begin = now.tokens.size();
      words_.append(value->get_ref<const std::string&>(), now.tokens);
      if (now.tokens.size() > kMaxPromptTokens)
        return fmt::format("the conversation has more than {} words", kMaxPromptTokens);
      if (answer && begin > 1) now.answers.emplace_back(begin, now.tokens.size());
    }
    return {};
  }

  JsonObjects objects_;
  std::uint64_t open_, requests_ = 0, silent_ = 0;
  Words words_;
  std::deque<Conversation> talking_;
  bool ended_ = false;
  std::optional<Error> failed_;
  std::string text_, parse_why_;
  std::size_t parse_at_ = 0;
};

}  // namespace

Result<std::unique_ptr<TraceReader>> read_sharegpt_trace(const std::string& path, const TraceOptions& options) {
  auto lines = LineReader::open(path);
  if (!lines) return lines.error();
  return std::unique_ptr<TraceReader>(std::make_unique<ShareGptTrace>(std::move(*lines), options.conversations));
}

}  // namespace canopy::workload
