#pragma once

#include <canopy/base/result.h>
#include <prometheus/metric_family.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace canopy::metrics {

/// Serves GET /metrics for Prometheus with the result of a function, on its own thread. A client that is silent or slow
/// costs its own connection only, and one that waits makes room for a new one.
class Server {
 public:
  /// Called by the server's thread until its end. REQUIRES: it does not throw.
  using Answer = std::function<std::vector<prometheus::MetricFamily>()>;
  /// Opens a server. `address` is an IP address of this machine; port 0 chooses a free port. `hosts`: other names of
  /// the server. A request whose Host is neither (HostCheck) is refused: a page in a browser must not read the figures.
  static Result<std::unique_ptr<Server>> open(const std::string& address, std::uint16_t port, Answer answer,
                                              std::vector<std::string> hosts = {});
  ~Server();
  Server(const Server&) = delete;

  int port() const;

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// Returns the text of a scrape.
std::string text_of(const std::vector<prometheus::MetricFamily>& families);

}  // namespace canopy::metrics
