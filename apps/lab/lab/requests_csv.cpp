#include "requests_csv.h"

#include <canopy/base/printable.h>
#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace canopy::lab {
Result<RequestsCsv> RequestsCsv::begin(const std::string& path) {
  auto file = AtomicFile::begin(path);
  if (!file) return file.error();
  RequestsCsv csv(std::move(*file));
  csv.piece_ =
      "policy,capacity_tokens,seed,request,time_ms,namespace,turn,prompt_tokens,output_tokens,seen_tokens,hit_tokens\n";
  return csv;
}

void RequestsCsv::flush() {
  if (written_) written_ = file_.append(piece_);
  piece_.clear();
}

void RequestsCsv::add(const Trace& trace, const Comparison& comparison) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  for (const Row& row : comparison.rows) {
    const std::string run =
        fmt::format("{},{},{},", csv_field(row.policy),
                    row.capacity_tokens ? std::to_string(*row.capacity_tokens) : std::string(), row.seed);
    for (std::uint32_t request = 0; request < row.request_tokens.size(); ++request) {
      const Arrival& arrival = trace.arrivals[request];
      fmt::format_to(std::back_inserter(piece_), "{}{},{},{},{},{},{},{},{}\n", run, request + 1, arrival.arrival_ms,
                     csv_field(trace.spaces[arrival.space]), trace.turn(request), arrival.prompt_tokens,
                     arrival.output_tokens, trace.tokens(request, trace.history.seen(request)),
                     row.request_tokens[request]);
      if (piece_.size() >= kPiece) flush();
    }
  }
}

Result<std::monostate> RequestsCsv::commit() {
  flush();
  return written_ ? file_.commit() : written_;
}

}  // namespace canopy::lab
