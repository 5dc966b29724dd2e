#include "slots_reply.h"

#include "record_name.h"

namespace canopy::redis {

void SlotsReply::clear() { *this = {}; }

void SlotsReply::take(const Element& element) {
  if (element.kind == Element::Kind::array && element.number > 0) {
    if (depth_ == levels_.size()) return;
    levels_[depth_++] = {element.number, 0};
    if (depth_ == 2) first_ = last_ = port_ = -1, range_ = {};
    return;
  }
  value(element);
  close();
}

void SlotsReply::value(const Element& element) {
  const bool integer = element.kind == Element::Kind::integer;
  if (depth_ == 2 && levels_[1].position == 0 && integer) first_ = element.number;
  if (depth_ == 2 && levels_[1].position == 1 && integer) last_ = element.number;
  if (depth_ != 3 || levels_[1].position != 2) return;
  if (levels_[2].position == 0 && element.kind == Element::Kind::text && element.text.size() < 256)
    range_.owner.host = element.text;
  if (levels_[2].position == 1 && integer) port_ = element.number;
}

void SlotsReply::close() {
  while (depth_ > 0) {
    Level& level = levels_[depth_ - 1];
    ++level.position;
    if (--level.left > 0) return;
    if (depth_ == 2 && first_ >= 0 && last_ >= first_ && last_ < static_cast<std::int64_t>(kSlots) && port_ > 0 &&
        port_ < 65536) {
      range_.first = static_cast<std::uint16_t>(first_), range_.last = static_cast<std::uint16_t>(last_);
      range_.owner.port = static_cast<std::uint16_t>(port_);
      if (ranges_.size() < kSlots) ranges_.push_back(range_);
    }
    --depth_;
  }
}

}  // namespace canopy::redis
