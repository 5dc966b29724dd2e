#include "chunk_storage_bind.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "chunk_storage.h"
#include "registry.h"

namespace canopy::python {
namespace {

/// The memory of an object with a buffer, until it is released.
class Buffer {
 public:
  explicit Buffer(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_CONTIG) != 0) nb::raise_python_error();
  }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  std::span<std::byte> bytes() const {
    return {static_cast<std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }

 private:
  Py_buffer view_{};
};

std::string name_of(nb::handle key) {
  if (!PyBytes_Check(key.ptr())) throw nb::type_error("a key of vLLM must be bytes");
  return {PyBytes_AS_STRING(key.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(key.ptr()))};
}

/// Returns true for a number with a unit, "100GiB": JSON can only write it as text.
bool is_amount(const std::string& text) {
  std::size_t digits = 0;
  while (digits < text.size() && (std::isdigit(static_cast<unsigned char>(text[digits])) || text[digits] == '.'))
    ++digits;
  return digits > 0 && text.size() - digits <= 3 &&
         std::all_of(text.begin() + static_cast<std::ptrdiff_t>(digits), text.end(),
                     [](unsigned char letter) { return std::isalpha(letter); });
}

/// Returns the options of a storage as YAML flow text.
std::string options_of(nb::handle given) {
  if (!nb::isinstance<nb::dict>(given)) return yaml_of(given);
  std::string text;
  for (const auto [name, value] : nb::cast<nb::dict>(given)) {
    const bool amount = nb::isinstance<nb::str>(value) && is_amount(nb::cast<std::string>(value));
    text +=
        (text.empty() ? "" : ", ") + yaml_of(name) + ": " + (amount ? nb::cast<std::string>(value) : yaml_of(value));
  }
  return "{" + text + "}";
}

/// ChunkStorage for Python. Keys are bytes, rows are numbers.
class Tier {
 public:
  Tier(nb::handle storage, nb::handle rows, std::size_t row_bytes, const std::string& meaning,
       std::size_t staging_bytes, double limit_s)
      : buffer_(std::in_place, rows), rows_(row_bytes ? buffer_->bytes().size() / row_bytes : 0) {
    if (rows_ == 0) throw nb::value_error("the memory has no row");
    if (!nb::isinstance<nb::dict>(storage) || nb::len(storage) != 1)
      throw nb::value_error(
          "storage: expected one name with its options: {'slots': {'path': ..., 'capacity': '100GiB'}}");
    std::string name, options;
    for (const auto [key, given] : nb::cast<nb::dict>(storage)) {
      name = nb::cast<std::string>(nb::str(key));
      options = options_of(given);
    }
    ChunkStorage::Settings settings;
    settings.record_bytes = ChunkStorage::record_bytes(row_bytes);
    settings.fingerprint = fingerprint_of(meaning);
    settings.rows = buffer_->bytes();
    settings.row_bytes = row_bytes;
    settings.staging = std::max<std::size_t>(staging_bytes / settings.record_bytes, 4);
    settings.limit = std::chrono::microseconds(static_cast<std::int64_t>(limit_s * 1e6));
    settings.storage = take(registry().make<PageStorage>(
        name, {.record_bytes = settings.record_bytes, .fingerprint = settings.fingerprint}, options));
    tier_ = std::make_unique<ChunkStorage>(std::move(settings));
  }

  std::vector<bool> have(nb::handle keys) {
    std::vector<std::string> names;
    for (const nb::handle key : keys) names.push_back(name_of(key));
    std::vector<std::uint8_t> there;
    {
      const auto tier = open();
      const nb::gil_scoped_release released;
      there = tier->have(std::move(names));
    }
    return {there.begin(), there.end()};
  }
  void begin(std::uint64_t job, bool load, nb::handle keys, nb::handle rows) {
    std::vector<ChunkStorage::Chunk> chunks;
    for (const nb::handle key : keys) chunks.push_back({name_of(key), 0});
    std::size_t at = 0;
    for (const nb::handle row : rows) {
      const auto number = nb::cast<std::size_t>(row);
      if (at == chunks.size() || number >= rows_)
        throw nb::value_error("a job needs one row of the memory for each key");
      chunks[at++].row = number;
    }
    if (at != chunks.size()) throw nb::value_error("a job needs one row of the memory for each key");
    open()->begin(job, load, std::move(chunks));
  }
  nb::list ended() {
    nb::list all;
    for (const ChunkStorage::Ended& one : open()->ended()) {
      nb::list good;
      for (const std::uint8_t flag : one.good) good.append(nb::bool_(flag != 0));
      all.append(nb::make_tuple(one.job, one.ok(), good, one.seconds));
    }
    return all;
  }
  void drain() {
    const auto tier = open();
    const nb::gil_scoped_release released;
    tier->drain();
  }
  /// Ends the jobs under way and releases the memory of the rows.
  void close() {
    auto tier = std::exchange(tier_, {});
    {
      const nb::gil_scoped_release released;
      if (tier) tier->stop();  // another thread may still have it, in have()
      tier.reset();
    }
    buffer_.reset();
  }
  nb::dict figures() {
    const ChunkStorage::Figures now = open()->figures();
    nb::dict row;
    row["stored"] = now.stored, row["known"] = now.known, row["loaded"] = now.loaded, row["absent"] = now.absent;
    row["damaged"] = now.damaged, row["failed"] = now.failed, row["refused"] = now.refused, row["pauses"] = now.pauses;
    row["flaw"] = now.flaw;
    return row;
  }

 private:
  std::shared_ptr<ChunkStorage> open() const {
    if (!tier_) throw nb::value_error("this tier was closed");
    return tier_;
  }

  std::optional<Buffer> buffer_;
  std::size_t rows_;
  std::shared_ptr<ChunkStorage> tier_;  // before the buffer is released
};

}  // namespace

void bind_chunk_storage(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<Tier>(
      module, "ChunkStorage",
      "Chunks of bytes on a storage (slots, redis), for the tier below vLLM's CPU tier. Records are checked "
      "when they are read.")
      .def(nb::init<nb::handle, nb::handle, std::size_t, const std::string&, std::size_t, double>(), "storage"_a,
           "rows"_a, "row_bytes"_a, "meaning"_a, "staging_bytes"_a, "limit_s"_a,
           "storage: {'slots': {'path': ..., 'capacity': '100GiB'}}, as in an engine's file.\n"
           "rows: memory of rows of row_bytes bytes each.\n"
           "meaning: what the bytes mean; records with another meaning are never found.\n"
           "staging_bytes: memory for records under way.\nlimit_s: time limit of a call of the storage.")
      .def("have", &Tier::have, "keys"_a, "Returns which of the keys the storage has. Waits, without Python's lock.")
      .def("begin", &Tier::begin, "job"_a, "load"_a, "keys"_a, "rows"_a)
      .def("ended", &Tier::ended, "Returns (job, ok, good, seconds) for each job that has ended since the last call.")
      .def("drain", &Tier::drain, "Waits until all jobs have ended.")
      .def("close", &Tier::close, "Waits for what is under way, and releases the memory.")
      .def("figures", &Tier::figures,
           "Returns counts of chunks: stored, known, loaded, absent, damaged, failed, refused; pauses; and the flaw of "
           "the "
           "last damaged record.");
}

}  // namespace canopy::python
