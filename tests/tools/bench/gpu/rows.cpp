/// Rows of one layer, packed on the device, to pages of the pool and from them.
#include <fmt/format.h>

#include "pool.h"

namespace canopy::bench::gpu {
namespace {

constexpr std::uint32_t kLayers = 4;
constexpr Units kPageSizes[] = {1, 16, 64};
constexpr std::uint32_t kRowBytes[] = {128, 256, 512, 1024, 4096};
constexpr std::uint32_t kTokens[] = {1, 32, 256, 8192, 65536};
constexpr std::size_t kInARow = 20;  ///< calls that share a pair of events, if the launch takes longer than the work

using Streams = std::array<std::byte*, kMaxStreams>;

Rows packed(DevicePtr at, std::uint64_t bytes_each) {
  auto* const first = reinterpret_cast<std::byte*>(at);
  return {Streams{first, first + bytes_each}, Rows::At::device};
}

/// Checks the store's write and read: written rows come back, and the stamps of our kernels are read.
void check(Session& session, Pool& pool, std::uint32_t row_bytes) {
  Device& device = *session.device();
  const Units page_size = pool.store().view().page_size;
  const std::size_t count = std::min<std::size_t>(pool.pages() / 2, 4096 / page_size);
  const auto tokens = static_cast<std::uint32_t>(count * page_size);
  const std::uint64_t each = std::uint64_t{tokens} * row_bytes;
  const auto pages = pool.next(count), copies = pool.next(count);
  pool.mover().stamp(pages, 1);
  const Buffer rows(device, 2 * each);
  for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
    device.fill(rows.at, 0xFF, 2 * each, device.stream);
    pool.store().read(layer, {pages, 0, tokens}, packed(rows.at, each));
    pool.store().write(layer, {copies, 0, tokens}, packed(rows.at, each));
  }
  pool.check();
  require(pool.mover().stamped(copies, 1), "rows read from pages and written to others");
  require(pool.mover().stamped(pages, 1), "rows beside those that were written");
}

void measure(Session& session, bool write) {
  Device& device = *session.device();
  session.cells(std::size(kPageSizes) * std::size(kRowBytes) * std::size(kTokens) * 2);
  for (const Units page_size : kPageSizes)
    for (const std::uint32_t row_bytes : kRowBytes) {
      const std::uint64_t token_bytes = 2 * std::uint64_t{row_bytes};
      const std::uint64_t most = std::min<std::uint64_t>(session.scale().moved / token_bytes, 65536);
      // Other layers and pages are moved between two moves of the same bytes, and the L2 is flushed between samples.
      Pool pool(session, {.rows = {row_bytes, row_bytes},
                          .layers = kLayers,
                          .page_size = page_size,
                          .pages = (2 * most + page_size - 1) / page_size + 2});
      check(session, pool, row_bytes);
      const Buffer rows(device, most * token_bytes), other(device, most * token_bytes);
      for (const std::uint32_t tokens : kTokens) {
        if (tokens > most) continue;
        const std::uint64_t each = std::uint64_t{tokens} * row_bytes, bytes = 2 * each;
        const std::size_t calls = bytes < session.scale().launched ? kInARow : 1;
        const std::size_t pages = (tokens + page_size - 1) / page_size;
        // Small moves also walk through the packed rows.
        const std::uint64_t places = std::min<std::uint64_t>(rows.bytes / bytes, kInARow);
        const Spread ours = session.time_on_stream(calls, [&](std::size_t call) {
          const Slots slots{pool.next(pages), 0, tokens};
          const auto layer = static_cast<std::uint32_t>(call % kLayers);
          const Rows at = packed(rows.at + call % places * bytes, each);
          if (write) pool.store().write(layer, slots, at);
          else pool.store().read(layer, slots, at);
        });
        pool.check();
        const std::string name =
            fmt::format("page {}, row {}, {} tokens ({})", page_size, size_text(row_bytes), tokens, size_text(bytes));
        if (calls > 1) session.time(name, ours, fmt::format("a call of {} in a row", calls));
        else session.rate(name, 2 * bytes, ours, session.device_copy);
        const Spread copy = session.time_on_stream(calls, [&](std::size_t call) {
          device.copy(other.at + call % places * bytes, rows.at + call % places * bytes, bytes, device.stream);
        });
        session.peer("one cuMemcpyDtoDAsync", copy);
        if (const double longer = ours.median / copy.median; calls > 1 && write && tokens <= 256)
          session.at_most("decode writes", longer, 1.1, fmt::format("{:.2f} x one plain copy ({})", longer, name));
        if (calls == 1 && bytes >= 64 << 20 && row_bytes >= 256)
          session.share_at_least("rows", row_bytes >= 512 ? 0.85 : 0.75);
      }
    }
}

}  // namespace

void measure_rows_written(Session& session) { measure(session, true); }
void measure_rows_read(Session& session) { measure(session, false); }

}  // namespace canopy::bench::gpu
