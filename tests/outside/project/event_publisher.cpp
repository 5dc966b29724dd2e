// KV events from the installed tree: a publisher is told of a node, as an index tells, and its figures are read.
#include <canopy/sockets/kv_publisher.h>
#include <canopy/wire/codec.h>

#include <cstdio>

int main() {
  canopy::KvEventsConfig config;
  config.publish = "tcp://127.0.0.1:*";
  const auto publisher = canopy::sockets::KvPublisher::open(config, canopy::sockets::TreeQueue::WhenFull::drop);
  if (!publisher) return std::fputs(publisher.error().text.c_str(), stderr), 1;
  canopy::TreeListener& listener = (*publisher)->listener();
  canopy::TreeListener::Facts facts;
  facts.shape.page_size = 2, facts.shape.groups = 1, facts.words = 100;
  if (!listener.begin(facts).empty()) return 1;
  const std::uint32_t words[] = {1, 2, 3, 4};
  listener.added({canopy::NodeId{1ULL << 32 | 1}, 0, 4, canopy::NamespaceId::shared, 1, 0}, words);
  listener.turn();
  (*publisher)->flush();
  return (*publisher)->figures().stored == 2 ? 0 : 1;
}
