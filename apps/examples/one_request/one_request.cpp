// One request, line by line: how an inference engine uses Canopy. docs/tutorials/engine.md explains every step.
//
//   one_request one_request.yaml [PLUGIN_FOLDER]      (PREFIX/lib/canopy/plugins; default: those of the source tree)

#include <canopy/engine/engine.h>
#include <canopy/engine/page_table.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace {

using namespace canopy;

constexpr std::uint32_t kLayers = 2, kChunk = 512;

/// Stands for the model: returns the row of the last of these tokens. Like a real K/V row, it depends on all tokens
/// before it.
std::uint64_t row_of(std::span<const Token> tokens, std::uint32_t layer) {
  std::uint64_t row = layer + 1;
  for (const Token token : tokens) row = (row ^ token) * 0x9e3779b97f4a7c15U;
  return row;
}

std::vector<std::uint64_t> rows_of(std::span<const Token> tokens, std::uint32_t layer, std::size_t from) {
  std::vector<std::uint64_t> rows;
  for (std::size_t end = from + 1; end <= tokens.size(); ++end) rows.push_back(row_of(tokens.first(end), layer));
  return rows;
}

/// Computes tokens [from, to) of a request and puts their rows into its pages.
void compute(Request& request, std::uint32_t from, std::uint32_t to) {
  for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
    std::vector<std::uint64_t> rows = rows_of(request.tokens().first(to), layer, from);
    request.write(layer, from, to - from, {{reinterpret_cast<std::byte*>(rows.data())}});
  }
}

/// Prefills in chunks. Returns false if the pool has no room now; the request has then given its pages back.
bool prefill(Request& request) {
  const auto length = static_cast<std::uint32_t>(request.tokens().size());
  while (request.computed() < length) {
    const std::uint32_t from = request.computed(), to = std::min(from + kChunk, length);
    if (!request.reserve(to)) {
      request.retract();  // keeps the tokens; resume() matches again later
      return false;
    }
    compute(request, from, to);
    request.commit(to);  // from now on other requests can reuse these pages
  }
  return true;
}

/// Runs one decode step: the model has chosen `token`.
bool decode(Request& request, Token token) {
  const auto length = static_cast<std::uint32_t>(request.tokens().size());
  if (!request.reserve(length + 1)) return false;
  request.append(token);
  compute(request, length, length + 1);
  request.advance(length + 1);
  return true;
}

/// Returns true if the pages of a request, including reused ones, have the content that its tokens require.
bool right(const Request& request) {
  for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
    std::vector<std::uint64_t> rows(request.computed());
    request.read(layer, 0, request.computed(), {{reinterpret_cast<std::byte*>(rows.data())}});
    if (rows != rows_of(request.tokens().first(request.computed()), layer, 0)) return false;
  }
  return true;
}

std::vector<Token> prompt(std::uint32_t shared, std::uint32_t own, Token first_own) {
  std::vector<Token> tokens(shared + own);
  std::iota(tokens.begin(), tokens.begin() + shared, Token{1});
  std::iota(tokens.begin() + shared, tokens.end(), first_own);
  return tokens;
}

int refuse(const Error& error) { return std::fprintf(stderr, "%s\n", error.text.c_str()), 2; }

}  // namespace

int main(int argc, char** argv) {
  // 1. The cache, from a file: `canopy config describe` lists its keys.
  if (argc < 2) return refuse({"usage: one_request one_request.yaml [PLUGIN_FOLDER]"});
  auto made = Engine::open(argv[1], argc > 2 ? argv[2] : "");
  if (!made) return refuse(made.error());
  Engine& engine = **made;

  // 2. Requests share prefixes within one namespace: a tenant, a LoRA adapter, a salt.
  const NamespaceId space = engine.intern({"tenant-0", "", ""});
  const std::vector<Token> first = prompt(2000, 300, 100'000), second = prompt(2000, 500, 200'000);
  RequestSpec arrival;
  arrival.space = space;
  arrival.output_limit = 32;

  // 3. Admission: now, wait, or never, with the reason.
  arrival.prompt = first;
  const Admission admission = engine.admits(arrival);
  if (admission.verdict != Admission::Verdict::now) return refuse({admission.reason});

  // 4. The first request finds an empty cache and computes its whole prompt.
  Request a = engine.begin(arrival);
  if (!prefill(a)) return 1;
  std::printf("a: %u of %zu prompt tokens reused\n", a.matched(), first.size());

  // 5. The second one reuses what the first has committed, while the first goes on.
  arrival.prompt = second;
  Request b = engine.begin(arrival);
  if (!prefill(b)) return 1;
  std::printf("b: %u of %zu prompt tokens reused\n", b.matched(), second.size());

  // 6. Decode both in one batch. An attention kernel reads the page table: int32, a row for each request.
  PageTable table;
  const Request* const batch[] = {&a, &b};
  for (Token token = 1; token <= 8; ++token) {
    if (!decode(a, 300'000 + token) || !decode(b, 400'000 + token)) return 1;
    if (!table.fill(engine, batch, PageTable::Entry::page)) return 1;
  }
  std::printf("page table: %zu rows of %zu pages, both begin with page %d and page %d\n", table.rows(), table.width(),
              table.row(0)[0], table.row(1)[0]);
  const bool rows_are_right = right(a) && right(b);

  // 7. The end. finish() keeps prompt and answer for later requests; abort(), or the destructor, keeps what was
  // committed. In both cases no page is lost.
  a.finish(static_cast<std::uint32_t>(a.tokens().size()));
  b.abort();
  const auto violations = static_cast<unsigned long long>(engine.ledger().violations());
  std::printf("rows %s, %llu violations, %llu of %llu prompt tokens reused\n", rows_are_right ? "right" : "WRONG",
              violations, static_cast<unsigned long long>(engine.counters().hit_tokens),
              static_cast<unsigned long long>(engine.counters().prompt_tokens));
  return rows_are_right && violations == 0 && engine.counters().hit_tokens == 2000 ? 0 : 1;
}
