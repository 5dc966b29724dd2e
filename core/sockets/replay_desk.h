#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "socket.h"

namespace canopy::sockets {

/// Keeps the newest batches and sends them again to clients that ask. A client that does not take them is served as far
/// as it does, beside the others; nothing waits for it.
class ReplayDesk {
 public:
  explicit ReplayDesk(std::string topic) : topic_(std::move(topic)) {}

  /// REQUIRES: `sequence` is one more than that of the batch before.
  void keep(std::uint64_t sequence, std::string_view payload);
  /// Reads requests and sends what can be sent without waiting. Whether anything was done.
  bool serve(Socket& router);

  std::uint64_t kept() const { return batches_.size(); }
  std::uint64_t kept_bytes() const { return bytes_; }
  std::uint64_t replayed() const { return replayed_; }

 private:
  struct Client {
    std::string identity;
    std::uint64_t next = 0;  ///< sequence
  };
  enum class Step { sent, full, ended };
  Step step(Socket& router, Client& client);

  const std::string topic_;
  std::deque<std::string> batches_;
  std::uint64_t first_ = 0;  ///< the sequence of the oldest batch
  std::uint64_t bytes_ = 0, replayed_ = 0;
  std::vector<Client> clients_;
  std::vector<std::string> frames_;
};

/// A sequence as it is sent: 8 bytes, most significant first.
std::string sequence_frame(std::uint64_t sequence);

}  // namespace canopy::sockets
