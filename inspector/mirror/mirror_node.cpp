#include "mirror_node.h"

#include <algorithm>
#include <utility>

namespace canopy::inspector {
namespace {

void append(std::vector<NodePart>& parts, const NodePart& next) {
  if (!parts.empty() && parts.back().same_times(next)) parts.back().length += next.length;
  else parts.push_back(next);
}

void set(MirrorNode& node, std::vector<NodePart> parts) {
  node.added_us = parts.front().added_us, node.used_us = parts.front().used_us;
  node.used_work = parts.front().used_work;
  if (parts.size() == 1) parts.clear();
  node.parts = std::move(parts);
}

}  // namespace

void MirrorNode::append_parts(const MirrorNode& below) {
  if (parts.empty()) parts.push_back({length, added_us, used_us, used_work});
  below.each_part([&](const NodePart& part) { append(parts, part); });
  if (parts.size() == 1) parts.clear();
}

void MirrorNode::cut_parts(MirrorNode& upper, Units units) {
  if (parts.empty()) return;
  std::vector<NodePart> above, below;
  Units left = units;
  for (NodePart part : parts) {
    NodePart here = part;
    here.length = std::min(part.length, left);
    left -= here.length, part.length -= here.length;
    if (here.length > 0) append(above, here);
    if (part.length > 0) append(below, part);
  }
  set(upper, std::move(above));
  set(*this, std::move(below));
}

}  // namespace canopy::inspector
