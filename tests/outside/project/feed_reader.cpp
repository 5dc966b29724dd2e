// Opens a feed and reads it with the feed's library alone: <canopy/engine/...> is not linked.
#include <canopy/feed/sink.h>

#include <cstdio>

int main() {
  canopy::FeedConfig config;
  config.kind = canopy::FeedConfig::Kind::heap;
  config.events = 1024;
  canopy::FeedShape shape;
  shape.page_size = 16;
  shape.groups = 1;
  const auto sink = canopy::FeedSink::open(config, shape);
  if (!sink) return std::puts(sink.error().text.c_str()), 1;
  std::printf("a feed of pages of %u tokens\n", shape.page_size);
  return (*sink)->failure().empty() ? 0 : 1;
}
