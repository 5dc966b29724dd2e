#include "replay_desk.h"

#include <canopy/kv_events/msgpack.h>
#include <canopy/kv_events/stream.h>

#include <algorithm>
#include <array>

namespace canopy::kv_events {
namespace {

constexpr std::size_t kMostBatches = 10'000;
constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;
constexpr std::size_t kMostClients = 64;  // clients served at once; further requests stay in the socket
constexpr std::size_t kBatchesAtOnce = 64;

}  // namespace

void ReplayDesk::keep(std::uint64_t sequence, std::string_view payload) noexcept try {
  if (batches_.empty()) first_ = sequence;
  batches_.emplace_back(payload);
  bytes_ += payload.size();
  while (batches_.size() > kMostBatches || (bytes_ > kMostBytes && batches_.size() > 1)) {
    bytes_ -= batches_.front().size();
    batches_.pop_front();
    ++first_;
  }
} catch (const std::bad_alloc&) {
  batches_.clear();
  bytes_ = 0, first_ = sequence + 1;
}

bool ReplayDesk::serve(Socket& router) {
  bool busy = false;
  // Identity, an empty frame, and the first sequence. Other requests get no reply, as with the servers. A client that
  // sends them without end keeps nothing else waiting.
  for (std::size_t n = 0; n < kMostClients && clients_.size() < kMostClients && router.receive(frames_); ++n) {
    busy = true;
    if (frames_.size() != 3 || frames_[2].size() != 8) continue;
    const auto known = std::ranges::find(clients_, frames_[0], &Client::identity);
    Client& client = known != clients_.end() ? *known : clients_.emplace_back(Client{frames_[0], 0});
    client.next = big_endian(frames_[2]);
  }
  for (std::size_t i = 0; i < clients_.size();) {
    Step last = Step::sent;
    for (std::size_t n = 0; last == Step::sent && n < kBatchesAtOnce; ++n) last = step(router, clients_[i]);
    busy |= last != Step::full;
    if (last == Step::ended) clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(i));
    else ++i;
  }
  return busy;
}

ReplayDesk::Step ReplayDesk::step(Socket& router, Client& client) {
  client.next = std::max(client.next, first_);
  const std::uint64_t end = first_ + batches_.size();
  const bool has_batch = client.next < end;
  const std::string sequence = has_batch ? sequence_frame(client.next) : std::string(8, '\xff');
  const std::string_view payload = has_batch ? std::string_view(batches_[client.next - first_]) : std::string_view();
  const std::string_view topic = has_batch ? std::string_view(topic_) : std::string_view();
  const std::array<std::string_view, 5> frames{client.identity, {}, topic, sequence, payload};
  if (!router.send(frames)) return router.unreachable() ? Step::ended : Step::full;
  if (!has_batch) return Step::ended;
  ++client.next, ++replayed_;
  return Step::sent;
}

}  // namespace canopy::kv_events
