#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "socket.h"

namespace canopy::kv_events {

/// Keeps the newest batches and sends them again to clients that request them. A slow client is served as far as its
/// queue allows; other clients do not wait for it. A client has one replay at a time: a new request ends the one
/// before.
class ReplayDesk {
 public:
  explicit ReplayDesk(std::string topic) : topic_(std::move(topic)) {}

  /// Keeps a batch. Without memory, drops all batches and begins with the next one. REQUIRES: `sequence` is one
  /// more than that of the batch before.
  void keep(std::uint64_t sequence, std::string_view payload) noexcept;
  /// Reads requests and sends batches, as far as possible without waiting. Returns true if it did anything.
  bool serve(Socket& router);

  std::uint64_t kept() const { return batches_.size(); }
  std::uint64_t kept_bytes() const { return bytes_; }
  std::uint64_t replayed() const { return replayed_; }

 private:
  struct Client {
    std::string identity;
    std::uint64_t next = 0;  ///< Sequence of the batch that is sent next.
  };
  enum class Step { sent, full, ended };
  Step step(Socket& router, Client& client);

  const std::string topic_;
  std::deque<std::string> batches_;
  std::uint64_t first_ = 0;  ///< Sequence of the oldest batch.
  std::uint64_t bytes_ = 0, replayed_ = 0;
  std::vector<Client> clients_;
  std::vector<std::string> frames_;
};

}  // namespace canopy::kv_events
