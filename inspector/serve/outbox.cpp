#include "outbox.h"

#include <algorithm>
#include <utility>

#include "protocol.h"

namespace canopy::inspector {
namespace {

constexpr std::string_view kList = R"({"feeds":)";

}  // namespace

void Outbox::say(std::string text) {
  queue_.push_back({true, std::move(text), {}});
  ++texts_;
}

void Outbox::list(std::string text) {
  texts_ -= std::erase_if(queue_, [](const Message& each) { return each.text && each.words.starts_with(kList); });
  say(std::move(text));
}

void Outbox::attach(std::string_view name, const FeedShape& shape) {
  say(protocol::attached(name));
  queue_.push_back({false, protocol::header_bytes(shape), {}});
  attached_ = true;
  in_step_ = taking_keyframe_ = lapped_ = false;
}

void Outbox::detach(std::string_view why) {
  say(protocol::gone(why));
  attached_ = in_step_ = false;
}

void Outbox::leave() {
  drop_events();
  attached_ = in_step_ = false;
}

void Outbox::take(const Piece& piece) {
  if (piece.keyframe) {
    if (piece.begins) taking_keyframe_ = wants_keyframe();
    if (!taking_keyframe_) return;
    in_step_ = true, lapped_ = false;
  } else {
    if (!in_step_) return;
    waiting_ += piece.bytes();
  }
  queue_.push_back({false, {}, piece});
  if (waiting_ > protocol::kMostWaiting) lose();
}

void Outbox::lose() {
  if (!attached_ || lapped_) return;
  drop_events();
  in_step_ = taking_keyframe_ = false;
  lapped_ = true;
  say(protocol::lapped());
}

void Outbox::drop_events() {
  std::erase_if(queue_, [](const Message& each) { return each.events(); });
  waiting_ = 0;
}

const Message* Outbox::next() {
  if (sending_ || queue_.empty()) return nullptr;
  now_ = std::move(queue_.front());
  queue_.pop_front();
  sending_ = true;
  if (now_.text) --texts_;
  if (now_.events() && !now_.piece.keyframe) waiting_ -= now_.piece.bytes();
  return &now_;
}

}  // namespace canopy::inspector
