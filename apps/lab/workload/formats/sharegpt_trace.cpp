/// ShareGPT-like JSON: a list of conversations, or one per line. Each has its messages under `conversations` (`from`,
/// `value`) or `messages` (`role`, `content`); chat_text.h has the shapes of messages. Makes a request for each answer,
/// whose prompt is the whole conversation before it. The file has no times: TraceOptions::conversations conversations
/// are open at a time and take turns, one request every 100 ms; when one ends, the next of the file begins.
#include "../chat_text.h"
#include "../json_trace.h"
#include "../trace_formats.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <deque>
#include <nlohmann/json.hpp>
#include <utility>

namespace canopy::workload {
namespace {

using nlohmann::json;

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
    record.time_ms = kInventedGapMs * requests_++;
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
        grouped(chat_.known()), plural(open_, "conversation"), kInventedGapMs)};
    if (unanswered_ > 0)
      notes.push_back(plural(unanswered_, "last question") +
                      " without an answer left out; requests as they were sent are read as openai:FILE");
    chat_.add_media_note(notes);
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
      bool deep = false;
      json object = json::parse(text_, shallow(deep));
      if (!deep) return object;
      parse_at_ = 0;
      parse_why_ = "nested deeper than 64 levels";
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
    const json* messages = member_of(object, {"conversations", "conversation", "messages"});
    if (messages == nullptr || !messages->is_array())
      return "has no list of messages; expected 'conversations' or 'messages'";
    if (std::string problem = chat_.take(*messages, now); !problem.empty()) return problem;
    unanswered_ += !now.answers.empty() && now.last_end < now.tokens.size();
    return {};
  }

  JsonObjects objects_;
  std::uint64_t open_, requests_ = 0, silent_ = 0, unanswered_ = 0;
  ChatText chat_;
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
