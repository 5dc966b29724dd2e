/// The machine's limits: the driver's own copies of large pieces.
#include "sections.h"

namespace canopy::bench::gpu {
namespace {

constexpr double kSeconds = 6;

void device_copy(Session& session) {
  Device& device = *session.device();
  const std::uint64_t bytes = session.scale().roofline;
  const Buffer both(device, 2 * bytes);
  const Spread seconds =
      session.time_on_stream(1, [&](std::size_t) { device.copy(both.at + bytes, both.at, bytes, device.stream); });
  session.device_copy = 2 * static_cast<double>(bytes) / seconds.median;
  session.rate("device copy, " + size_text(bytes), 2 * static_cast<double>(bytes), seconds, 0,
               "cuMemcpyDtoDAsync; read and written bytes counted");
}

void bus(Session& session) {
  Device& device = *session.device();
  const std::uint64_t bytes = std::max<std::uint64_t>(session.scale().roofline / 4, 1);
  const auto counted = static_cast<double>(bytes);
  const Buffer here(device, 2 * bytes);
  const Pinned up(device, bytes), down(device, bytes);
  const Spread to_device =
      session.time_on_stream(1, [&](std::size_t) { device.to_device(here.at, up.at, bytes, device.stream); });
  session.to_device = counted / to_device.median;
  session.rate("pinned H2D, " + size_text(bytes), counted, to_device, 0);
  const Spread to_host =
      session.time_on_stream(1, [&](std::size_t) { device.to_host(down.at, here.at, bytes, device.stream); });
  session.to_host = counted / to_host.median;
  session.rate("pinned D2H, " + size_text(bytes), counted, to_host, 0);
  const Event fork(device), join(device);
  const Spread together = session.time_on_stream(1, [&](std::size_t) {
    fork.record(device.stream);
    device.check("cuStreamWaitEvent", device.driver().stream_wait_event(device.beside, fork.handle, 0));
    device.to_device(here.at, up.at, bytes, device.beside);
    device.to_host(down.at, here.at + bytes, bytes, device.stream);
    join.record(device.beside);
    device.check("cuStreamWaitEvent", device.driver().stream_wait_event(device.stream, join.handle, 0));
  });
  session.rate("pinned, both ways at once, " + size_text(2 * bytes), 2 * counted, together, 0);
}

}  // namespace

void measure_rooflines(Session& session, bool with_bus) {
  if (session.device_copy == 0) {
    session.begin("rooflines", kSeconds, 1);
    device_copy(session);
  }
  if (!with_bus || session.to_host > 0) return;
  session.begin("rooflines", kSeconds, 3);
  bus(session);
}

}  // namespace canopy::bench::gpu
