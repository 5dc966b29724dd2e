// KV events from the installed tree: a publisher gets a node, as from an index, and its figures are read.
#include <canopy/kv_events/codec.h>
#include <canopy/kv_events/kv_publisher.h>

#include <cstdio>

int main() {
  canopy::KVEventsConfig config;
  config.publish = "tcp://127.0.0.1:*";
  const auto publisher = canopy::kv_events::KVPublisher::open(config, canopy::kv_events::TreeQueue::WhenFull::drop);
  if (!publisher) return std::fputs(publisher.error().text.c_str(), stderr), 1;
  canopy::TreeListener& listener = (*publisher)->listener();
  canopy::TreeListener::Facts facts;
  facts.shape.page_size = 2, facts.shape.groups = 1, facts.words = 100;
  if (!listener.begin(facts).empty()) return 1;
  const std::uint32_t words[] = {1, 2, 3, 4};
  listener.added({.resident = 1, .node = canopy::NodeId{1ULL << 32 | 1}, .length = 4}, words);
  listener.turn();
  (*publisher)->flush();
  return (*publisher)->figures().stored == 2 ? 0 : 1;
}
