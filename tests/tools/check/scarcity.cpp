#include "scarcity.h"

#include <utility>

namespace canopy::check {
namespace {

thread_local Scarcity* current = nullptr;

}  // namespace

Scarcity::Call::Call(Scarcity* scarcity) : before_(std::exchange(current, scarcity)) {}
Scarcity::Call::~Call() { current = before_; }

bool Scarcity::refuses() {
  if (!current || current->left_ == 0 || (current->before_ > 0 && --current->before_ > 0)) return false;
  --current->left_;
  ++current->refused_;
  return true;
}

}  // namespace canopy::check
