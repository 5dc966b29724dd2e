#include "walk.h"

#include <canopy/engine/engine.h>
#include <canopy/engine/engine_file.h>
#include <canopy/helpers/dlpack_view.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "processor.h"

namespace canopy::examples {
namespace {

constexpr std::uint32_t kKeys = 0, kValues = 1;  ///< the streams, in the order of the configuration

std::shared_ptr<Engine> make_engine(const Registry& registry, const WalkOptions& options, const Model& model) {
  const std::string stream = fmt::format("{{ heads: {}, head_dim: {}, dtype: {} }}", model.kv_heads, model.head_dim,
                                         model.element == Element::fp32 ? "fp32" : "bf16");
  const std::string yaml = fmt::format(
      "page_size: 16\n"
      "index: radix\n"
      "groups: {{ full: {{ reach: path, capacity: 512, allocator: segments, eviction: lru }} }}\n"
      "segment_pages: 8\n"
      "store: {{ {0}: {{ layers: {1}, streams: {{ k: {2}, v: {2} }}{3} }} }}\n",
      options.store, model.layers, stream, options.store == "cuda" ? fmt::format(", device: {}", options.device) : "");
  const auto document = parse_yaml(yaml, "the example's engine");
  if (!document) throw ExampleError(document.error().text);
  const auto config = read_engine_config(*document, registry);
  if (!config) throw ExampleError(config.error().text);
  auto engine = Engine::create(*config, registry);
  if (!engine) throw ExampleError(engine.error().text);
  return std::move(*engine);
}

/// Returns `count` tokens that begin with the first `shared` tokens of all prompts.
std::vector<Token> prompt(std::uint32_t count, std::uint32_t shared, Token own) {
  std::vector<Token> tokens(count);
  std::iota(tokens.begin(), tokens.end(), own);
  std::iota(tokens.begin(), tokens.begin() + shared, Token{1});
  return tokens;
}

template <class A, class B>
double largest_difference(const std::vector<A>& a, const std::vector<B>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(double{a[i]} - double{b[i]});
    largest = std::max(largest, std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference);
  }
  return largest;
}

class Walk {
 public:
  Walk(const Registry& registry, const WalkOptions& options)
      : model_(model_of(options)),
        engine_(make_engine(registry, options, model_)),
        view_(engine_->store(0)->view()),
        processor_(processor_beside(*engine_->store(0))) {}

  /// Begins a request and computes its prompt, except for the part that is already cached.
  Request begin(std::span<const Token> tokens, NamespaceId space = NamespaceId::shared) {
    const auto count = static_cast<std::uint32_t>(tokens.size());
    RequestSpec arrival;
    arrival.prompt = tokens;
    arrival.space = space;
    Request request = engine_->begin(arrival);
    if (!request.reserve(count)) throw ExampleError("the example's pool is too small for its requests");
    for (std::uint32_t layer = 0; layer < model_.layers; ++layer) {
      auto keys = model_.rows(Model::Row::key, layer, tokens, request.matched());
      auto values = model_.rows(Model::Row::value, layer, tokens, request.matched());
      request.write(layer, request.matched(), count - request.matched(), {{keys.data(), values.data()}});
    }
    return request;
  }

  Comparison compare(const std::string& what, const Request& request, const KVView& view, std::vector<Page> pages) {
    const std::span<const Token> tokens = request.tokens();
    Comparison found{what, static_cast<std::uint32_t>(tokens.size()), request.matched(), std::move(pages)};
    const Contiguous again = contiguous(tokens);
    for (std::uint32_t layer = 0; layer < model_.layers; ++layer) {
      const auto paged = attend(layer, tokens, view, found.pages);
      const Page whole[] = {0};
      found.to_contiguous =
          std::max(found.to_contiguous, largest_difference(paged, attend(layer, tokens, again.view, whole)));
      found.to_fp64 = std::max(found.to_fp64, largest_difference(paged, model_.attention(layer, tokens)));
    }
    return found;
  }
  /// Compares a request, using its row of the page table.
  Comparison compare(const std::string& what, const Request& request) {
    return compare(what, request, view_, {request.row().begin(), request.row().end()});
  }

  WalkReport run(bool plant);

 private:
  static Model model_of(const WalkOptions& options) {
    Model model;
    model.element = options.element;
    return model;
  }

  std::vector<float> attend(std::uint32_t layer, std::span<const Token> tokens, const KVView& view,
                            std::span<const Page> pages) {
    const auto query = model_.query(layer, tokens);
    std::vector<float> output(query.size(), std::numeric_limits<float>::quiet_NaN());
    const auto there = [&](const auto& values) { return processor_->put(std::as_bytes(std::span(values))); };
    const auto pages_there = there(pages), query_there = there(query), output_there = there(output);
    AttentionJob job{};
    job.view = view;
    job.pages = reinterpret_cast<const Page*>(pages_there.get());
    job.query = reinterpret_cast<const float*>(query_there.get());
    job.output = reinterpret_cast<float*>(output_there.get());
    job.k = kKeys;
    job.v = kValues;
    job.layer = layer;
    job.tokens = static_cast<std::uint32_t>(tokens.size());
    job.query_heads = model_.query_heads;
    job.kv_heads = model_.kv_heads;
    job.head_dim = model_.head_dim;
    job.element = model_.element;
    job.scale = model_.scale();
    processor_->run(job);
    processor_->get(output_there.get(), std::as_writable_bytes(std::span(output)));
    return output;
  }

  /// All rows computed again, as [layer][token][row]: for the kernel, a pool of one page as long as the prompt.
  struct Contiguous {
    std::array<Processor::Buffer, 2> memory;
    KVView view;
  };
  Contiguous contiguous(std::span<const Token> tokens) {
    Contiguous made{{}, {}};
    made.view.streams = 2;
    made.view.layers = model_.layers;
    made.view.page_size = static_cast<Units>(tokens.size());
    made.view.segment_pages = made.view.kernel_pages = made.view.segments = 1;
    made.view.device = view_.device;
    for (const std::uint32_t stream : {kKeys, kValues}) {
      const auto row = stream == kKeys ? Model::Row::key : Model::Row::value;
      std::vector<std::byte> all;
      for (std::uint32_t layer = 0; layer < model_.layers; ++layer) {
        const auto rows = model_.rows(row, layer, tokens, 0);
        all.insert(all.end(), rows.begin(), rows.end());
      }
      made.memory[stream] = processor_->put(all);
      const std::uint64_t layer_bytes = all.size() / model_.layers;
      made.view.stream[stream] = {made.memory[stream].get(), all.size(),        layer_bytes, layer_bytes,
                                  model_.row_bytes(),        model_.row_bytes()};
    }
    return made;
  }

  void show_exports(const Request& request, std::span<const Page> kernel_pages, WalkReport& report);

  Model model_;
  std::shared_ptr<Engine> engine_;
  const KVView& view_;
  std::unique_ptr<Processor> processor_;  ///< must be destroyed before the store
};

/// Returns the same pool for kernels without support for segments: a view of one endless segment, with other page
/// numbers.
KVView ordinary(KVView view) {
  view.segment_pages = std::numeric_limits<std::uint32_t>::max();
  return view;
}

void Walk::show_exports(const Request& request, std::span<const Page> kernel_pages, WalkReport& report) {
  for (const std::uint32_t stream : {kKeys, kValues}) {
    const KVStream& of = view_.stream[stream];
    report.exports.push_back(
        fmt::format("{}: base {}, bytes from layer to layer {}, page to page {}, token to token {}",
                    engine_->store(0)->streams()[stream].name, fmt::ptr(of.base), of.layer_stride, of.page_stride,
                    of.token_stride));
  }
  report.exports.push_back(
      fmt::format("block table of B for kernels without segments: {}", fmt::join(kernel_pages, " ")));

  // The tensor keeps the engine alive, because the store is part of it.
  const std::shared_ptr<KVStore> store(engine_, engine_->store(0));
  const std::uint32_t layer = 1, place = 2;  // any reused place
  const Page page = request.row()[place];
  const std::uint32_t segment = page / view_.segment_pages;
  dlpack::ManagedTensor* const managed = dlpack::view_of(store, segment, kKeys, layer);
  const dlpack::Tensor& tensor = managed->tensor;
  report.exports.push_back(
      fmt::format("DLPack, keys of layer {} in segment {}: u8, shape {}, strides {}, on {}", layer, segment,
                  std::span(tensor.shape, 3), std::span(tensor.strides, 3),
                  tensor.device.type == dlpack::kCpu ? "the CPU" : fmt::format("CUDA device {}", tensor.device.id)));
  std::vector<std::byte> row(model_.row_bytes());
  processor_->get(static_cast<const std::byte*>(tensor.data) + tensor.byte_offset +
                      (page % view_.segment_pages) * tensor.strides[0],
                  row);
  managed->deleter(managed);
  const auto keys = model_.rows(Model::Row::key, layer, request.tokens(), place * view_.page_size);
  if (!std::equal(row.begin(), row.end(), keys.begin()))
    report.complaints.push_back(fmt::format("The DLPack tensor differs from the model's key in page {}.", page));
}

WalkReport Walk::run(bool plant) {
  WalkReport report;
  // Allocates pages of another request first: when they are free again, pages can be moved into their segments.
  const NamespaceId other = engine_->intern({"other", "", ""});
  begin(prompt(192, 0, 5'000), other).finish(192);

  constexpr std::uint32_t kShared = 96;
  const auto first = prompt(106, kShared, 1'000), second = prompt(123, kShared, 2'000),
             third = prompt(101, kShared, 3'000);
  Request a = begin(first);
  report.comparisons.push_back(compare("A computes its prompt", a));
  a.finish(106);

  Request b = begin(second);
  report.comparisons.push_back(compare("B begins like A", b));
  std::vector<Page> kernel_pages;
  for (const Page page : b.row()) kernel_pages.push_back(static_cast<Page>(view_.kernel_page(page)));
  report.comparisons.push_back(compare("B, block table without segments", b, ordinary(view_), kernel_pages));
  const auto wrong = [](std::span<const Page> row) {
    std::vector<Page> pages(row.begin(), row.end());
    pages[1] = pages[0];
    return pages;
  };
  report.comparisons.push_back(compare("B, one page number wrong", b, view_, wrong(b.row())));
  report.comparisons.back().planted = true;
  show_exports(b, kernel_pages, report);
  const std::vector<Page> before(b.row().begin(), b.row().begin() + kShared / view_.page_size);
  b.finish(123);

  engine_->flush(other);
  engine_->resize(0, 10);
  report.relocated_pages = engine_->counters().relocated_pages;

  Request c = begin(third);
  report.comparisons.push_back(plant ? compare("C begins like A, pages have moved", c, view_, wrong(c.row()))
                                     : compare("C begins like A, pages have moved", c));
  if (std::equal(before.begin(), before.end(), c.row().begin()))
    report.complaints.push_back("No page of the prefix has moved, so C proves nothing.");
  c.finish(101);

  for (const Comparison& comparison : report.comparisons) {
    const std::uint32_t expected = &comparison == &report.comparisons.front() ? 0 : kShared;
    if (comparison.reused != expected)
      report.complaints.push_back(
          fmt::format("{}: {} tokens were reused; expected {}.", comparison.what, comparison.reused, expected));
    if (!comparison.as_it_must_be())
      report.complaints.push_back(fmt::format(
          "{}: the output is {:.2g} from the one over contiguous K and V and {:.2g} from fp64; expected {}.",
          comparison.what, comparison.to_contiguous, comparison.to_fp64,
          comparison.planted ? "a difference, since a page was wrong" : fmt::format("0, and at most {}", kTolerance)));
  }
  for (const std::string& violation : engine_->ledger().reports()) report.complaints.push_back(violation);
  if (const char* failure = engine_->store(0)->sync()) report.complaints.push_back(failure);
  return report;
}

}  // namespace

bool Comparison::as_it_must_be() const {
  return planted ? to_contiguous > kTolerance : to_contiguous == 0 && to_fp64 <= kTolerance;
}

WalkReport walk(const Registry& registry, const WalkOptions& options) {
  return Walk(registry, options).run(options.plant);
}

}  // namespace canopy::examples
