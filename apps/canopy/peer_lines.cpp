#include "peer_lines.h"

#include <canopy/base/figures.h>
#include <canopy/base/printable.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace canopy::app {

PeerLines::~PeerLines() { print_count(); }

void PeerLines::print(const std::string& text) const {
  fmt::print(stderr, "{}{}\n", beginning_, printable_lines(text));
}

void PeerLines::print_count() {
  if (left_out_ == 1) print(last_);
  else if (left_out_ > 1) print(fmt::format("{} more lines; the last one: {}", grouped(left_out_), last_));
  left_out_ = 0;
}

void PeerLines::say(const std::string& text) {
  turn();
  if (allowed_ > 0) {
    --allowed_;
    return print(text);
  }
  ++left_out_;
  last_ = text;
}

void PeerLines::turn() {
  if (Clock::now() < next_) return;
  next_ = Clock::now() + std::chrono::seconds(1);
  if (left_out_ > 0) print_count();
  else allowed_ = std::min(kFirst, allowed_ + 1);
}

}  // namespace canopy::app
