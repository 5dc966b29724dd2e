/// Hostile workload files: what is read gives requests.
#include <workload/generator.h>

#include "fuzz.h"

namespace {

using namespace canopy;

void check(std::string_view text) {
  const auto document = parse_yaml(text, "f");
  if (!document) return fuzz::expect_sentence(document.error().text);
  auto source = workload::make_generator(*document);
  if (!source) return fuzz::expect_sentence(source.error().text);
  workload::ClientRequest request;
  std::size_t tokens = 0;
  for (int i = 0; i < 4 && tokens < 2'000'000; ++i) {
    const auto more = (*source)->next(request);
    if (!more) return fuzz::expect_sentence(more.error().text);
    if (!*more) return;
    tokens += request.prompt.size();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check(fuzz::text_of(data, size));
  return 0;
}
