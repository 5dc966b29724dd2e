#pragma once

#include <canopy/base/result.h>
#include <http/server.h>
#include <prometheus/metric_family.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace canopy::metrics {

/// Serves GET /metrics for Prometheus with the result of a function, on its own thread. A client that is silent or slow
/// costs its own connection only, and one that waits makes room for a new one.
class Server final : http::Handler {
 public:
  /// Called by the server's thread until its end. REQUIRES: it does not throw.
  using Scrape = std::function<std::vector<prometheus::MetricFamily>()>;
  /// Opens a server. `address` is an IP address of this machine; port 0 chooses a free port. `hosts`: other names of
  /// the server. A request whose Host is neither (HostCheck) is refused: a page in a browser must not read the figures.
  static Result<std::unique_ptr<Server>> open(const std::string& address, std::uint16_t port, Scrape scrape,
                                              std::vector<std::string> hosts = {});
  Server(const Server&) = delete;

  int port() const { return server_->port(); }

 private:
  Server(Scrape scrape, HostCheck hosts) : scrape_(std::move(scrape)), hosts_(std::move(hosts)) {}
  http::Answer answer(const http::Request& request) override;

  Scrape scrape_;
  HostCheck hosts_;
  std::unique_ptr<http::Server> server_;
  std::jthread thread_;
};

/// Returns the text of a scrape.
std::string text_of(const std::vector<prometheus::MetricFamily>& families);

}  // namespace canopy::metrics
