#pragma once

#include <canopy/support/result.h>
#include <prometheus/metric_family.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace canopy::metrics {

/// Answers GET /metrics of Prometheus with what a function gives, on some threads of its own. HTTP is prometheus-cpp's
/// exposer.
class Server {
 public:
  /// REQUIRES: any thread may call it, until the server ends; it does not throw.
  using Answer = std::function<std::vector<prometheus::MetricFamily>()>;
  /// `address` is an IP address of this machine; port 0: one that is free.
  static Result<std::unique_ptr<Server>> open(const std::string& address, std::uint16_t port, Answer answer);
  ~Server();
  Server(const Server&) = delete;

  int port() const;

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// The text that a scrape would get.
std::string text_of(const std::vector<prometheus::MetricFamily>& families);

}  // namespace canopy::metrics
