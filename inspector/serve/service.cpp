#include "service.h"

#include <canopy/feed/sink.h>

#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "token.h"

namespace canopy::inspector {

using protocol::CloseCode;
using protocol::Serves;

Service::Service(Served served, std::string token, protocol::Limits limits)
    : served_(std::move(served)), token_(std::move(token)), limits_(limits) {
  if (served_.kind == Serves::demo) served_.name = "demo";
}
Service::~Service() = default;

bool Service::knows(std::string_view token) const { return same_token(token_, token); }

std::unique_ptr<PageSession> Service::open(Clock::time_point now) { return std::make_unique<PageSession>(*this, now); }

Channel& Service::channel(const std::string& name) {
  std::unique_ptr<Channel>& channel = channels_[name];
  if (channel) return *channel;
  const auto open = [this, name]() -> Result<std::unique_ptr<FeedSource>> {
    if (served_.demo) return source_of(*served_.demo);
    auto attachment = Attachment::attach(name);
    if (!attachment) return attachment.error();
    if ((*attachment)->header().tokens != 0 && served_.note && noted_.insert(name).second)
      served_.note("the feed '" + name + "' contains tokens: pages show prompts");
    return source_of(std::move(*attachment));
  };
  channel = std::make_unique<Channel>(name, open, limits_);
  return *channel;
}

void Service::step(Clock::time_point now) {
  for (PageSession* session : sessions_) session->check(now);
  std::erase_if(channels_, [](const auto& each) { return !each.second->watched(); });
  for (const auto& [name, channel] : channels_) channel->step(now);
  if (served_.kind == Serves::feeds && now >= look_from_) look(now);
}

/// Sends the list of feeds to all pages if it has changed.
void Service::look(Clock::time_point now) {
  look_from_ = now + limits_.look_each;
  std::string list = protocol::feeds(Attachment::found());
  if (list == listed_) return;
  listed_ = std::move(list);
  for (PageSession* session : sessions_)
    if (session->known_) session->outbox_.list(listed_);
}

PageSession::PageSession(Service& service, Clock::time_point now)
    : service_(service), hello_by_(now + service.limits_.hello) {
  service_.sessions_.insert(this);
}

PageSession::~PageSession() {
  if (channel_) channel_->leave(outbox_);
  service_.sessions_.erase(this);
}

void PageSession::close(CloseCode code, std::string reason) {
  if (closing_) return;
  closing_ = {static_cast<std::uint16_t>(code), std::move(reason)};
  if (channel_) std::exchange(channel_, nullptr)->leave(outbox_);
}

std::optional<http::Message> PageSession::next() {
  const Message* message = outbox_.next();
  if (!message) return {};
  return http::Message{message->text, message->data(), message->size()};
}

void PageSession::check(Clock::time_point now) {
  if (!known_ && now >= hello_by_) close(CloseCode::policy, "no hello came in time");
  if (outbox_.texts() > protocol::kMostTexts) close(CloseCode::policy, "the page does not read the answers");
}

void PageSession::take_text(std::string_view text, Clock::time_point now) {
  if (closing_) return;
  const protocol::PageText message = protocol::parse(text);
  if (!known_) {
    if (message.kind != protocol::PageText::Kind::hello) close(CloseCode::policy, "the first message must be hello");
    else if (!service_.knows(message.rest))
      close(CloseCode::policy, "the token is wrong; `canopy serve` has printed it");
    else begin(now);
  } else if (message.kind == protocol::PageText::Kind::attach) {
    attach(std::string(message.rest), now);
  } else {
    close(CloseCode::policy, "expected `attach NAME` or a command");
  }
  check(now);
}

void PageSession::begin(Clock::time_point now) {
  known_ = true;
  const Served& served = service_.served_;
  protocol::Welcome welcome{served.kind, served.name, served.controls, served.version};
  if (served.kind == Serves::recording) {
    std::error_code why;
    const auto bytes = std::filesystem::file_size(served.name, why);
    welcome.name = std::filesystem::path(served.name).filename().string();
    welcome.bytes = why ? 0 : bytes;
  }
  outbox_.say(protocol::welcome(welcome));
  if (served.kind == Serves::feeds) {
    service_.listed_ = protocol::feeds(Attachment::found());
    outbox_.list(service_.listed_);
  } else if (served.kind != Serves::recording) {
    watch(served.name, now);
  }
}

void PageSession::attach(const std::string& name, Clock::time_point now) {
  if (service_.served_.kind != Serves::feeds)
    return outbox_.say(
        protocol::error("this server serves only one thing; `canopy serve` without a name serves all feeds"));
  if (channel_) std::exchange(channel_, nullptr)->leave(outbox_);
  FeedConfig wanted{.kind = FeedConfig::Kind::shm, .name = name};
  if (const std::string flaw = flaw_of_name(wanted); !flaw.empty())
    return outbox_.say(protocol::error("the feed" + flaw));
  if (auto attached = service_.channel(name).attach(now); !attached)
    return outbox_.say(protocol::error(attached.error().text));
  watch(name, now);
}

void PageSession::watch(const std::string& name, Clock::time_point now) {
  channel_ = &service_.channel(name);
  channel_->join(outbox_, now);
}

void PageSession::take_bytes(std::span<const std::byte> bytes) {
  if (closing_) return;
  if (!known_) return close(CloseCode::policy, "the first message must be hello");
  if (bytes.size() != protocol::kCommandBytes) return close(CloseCode::unsupported, "a command has 56 bytes");
  Command command;
  std::memcpy(&command, bytes.data(), sizeof(command));
  auto answer = protocol::Answer::refused;
  const std::string why = send(command, answer);
  outbox_.say(protocol::answer(answer, why));
  if (outbox_.texts() > protocol::kMostTexts) close(CloseCode::policy, "the page does not read the answers");
}

/// Sends a command. Returns the reason if it is not accepted.
std::string PageSession::send(const Command& command, protocol::Answer& answer) {
  if (!service_.served_.controls) return "this server passes no commands; `canopy serve --controls` does";
  FeedSource* source = channel_ ? channel_->source() : nullptr;
  if (!source) return "there is no feed now";
  if (std::string flaw = protocol::flaw_of(command, source->shape()); !flaw.empty()) return flaw;
  answer = source->send(command) ? protocol::Answer::accepted : protocol::Answer::busy;
  return answer == protocol::Answer::accepted ? "" : "the engine has not read the last commands yet";
}

}  // namespace canopy::inspector
