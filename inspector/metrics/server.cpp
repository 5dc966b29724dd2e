#include "server.h"

#include <prometheus/exposer.h>
#include <prometheus/text_serializer.h>

#include <exception>
#include <utility>

namespace canopy::metrics {
namespace {

class Given final : public prometheus::Collectable {
 public:
  explicit Given(Server::Answer answer) : answer_(std::move(answer)) {}
  std::vector<prometheus::MetricFamily> Collect() const override { return answer_(); }

 private:
  Server::Answer answer_;
};

}  // namespace

struct Server::Parts {
  Parts(const std::string& where, Answer answer)
      : given(std::make_shared<Given>(std::move(answer))),
        // A client that sends half a request occupies a thread until this timeout.
        exposer({"listening_ports", where, "num_threads", "4", "request_timeout_ms", "2000"}) {
    exposer.RegisterCollectable(given);
  }
  std::shared_ptr<Given> given;
  prometheus::Exposer exposer;
};

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::open(const std::string& address, std::uint16_t port, Answer answer) {
  const bool six = address.find(':') != std::string::npos;
  const std::string where = (six ? "[" + address + "]" : address) + ":" + std::to_string(port);
  try {
    return std::unique_ptr<Server>(new Server(std::make_unique<Parts>(where, std::move(answer))));
  } catch (const std::exception&) {  // the exception does not name the reason
    return Error{where +
                 ": cannot listen: another program does, this machine has no such address, or the port is not allowed"};
  }
}

int Server::port() const {
  const std::vector<int> ports = parts_->exposer.GetListeningPorts();
  return ports.empty() ? 0 : ports.front();
}

std::string text_of(const std::vector<prometheus::MetricFamily>& families) {
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace canopy::metrics
