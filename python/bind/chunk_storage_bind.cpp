#include "chunk_storage_bind.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <tuple>

#include "chunk_storage.h"
#include "gil.h"
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

/// Returns the name that a key gives a chunk: keys of vLLM are bytes, those of SGLang are text.
std::string name_of(nb::handle key) {
  if (PyBytes_Check(key.ptr()))
    return {PyBytes_AS_STRING(key.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(key.ptr()))};
  if (!PyUnicode_Check(key.ptr())) throw nb::type_error("a key must be bytes or text");
  return nb::cast<std::string>(key);
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

/// ChunkStorage for Python. Keys are bytes or text, rows are numbers.
class Tier {
 public:
  Tier(nb::handle storage, ChunkRows rows, const std::string& meaning, std::size_t staging_bytes, double limit_s)
      : rows_(rows.count()) {
    if (rows.count() == 0 || rows.bytes() == 0) throw nb::value_error("the memory has no row");
    if (!nb::isinstance<nb::dict>(storage) || nb::len(storage) != 1)
      throw nb::value_error(
          "storage: expected one name with its options: {'slots': {'path': ..., 'capacity': '100GiB'}}");
    std::string name, options;
    for (const auto [key, given] : nb::cast<nb::dict>(storage)) {
      name = nb::cast<std::string>(nb::str(key));
      options = options_of(given);
    }
    ChunkStorage::Settings settings;
    settings.record_bytes = ChunkStorage::record_bytes(rows.bytes());
    settings.fingerprint = fingerprint_of(meaning);
    settings.rows = std::move(rows);
    settings.staging = std::max<std::size_t>(staging_bytes / settings.record_bytes, 4);
    if (!(limit_s >= 0.001 && limit_s <= 86400))
      throw nb::value_error(("limit_s must be from 0.001 to 86400 seconds, not " + std::to_string(limit_s)).c_str());
    settings.limit = std::chrono::microseconds(static_cast<std::int64_t>(limit_s * 1e6));
    settings.storage = take(registry().make<PageStorage>(
        name, {.record_bytes = settings.record_bytes, .fingerprint = settings.fingerprint}, options));
    tier_ = std::make_unique<ChunkStorage>(std::move(settings));
  }

  /// Returns a storage for the rows of one buffer, which is not released before close().
  static std::unique_ptr<Tier> of_buffer(nb::handle storage, nb::handle rows, std::size_t row_bytes,
                                         const std::string& meaning, std::size_t staging_bytes, double limit_s) {
    auto buffer = std::make_unique<Buffer>(rows);
    const std::span<std::byte> bytes = buffer->bytes();
    auto made = std::make_unique<Tier>(
        storage, ChunkRows({{bytes.data(), row_bytes, row_bytes}}, row_bytes ? bytes.size() / row_bytes : 0), meaning,
        staging_bytes, limit_s);
    made->buffer_ = std::move(buffer);
    return made;
  }

  /// Returns a storage for rows in columns (address, bytes, step).
  static std::unique_ptr<Tier> of_columns(
      nb::handle storage, const std::vector<std::tuple<std::uintptr_t, std::size_t, std::size_t>>& columns,
      std::size_t rows, const std::string& meaning, std::size_t staging_bytes, double limit_s) {
    std::vector<ChunkRows::Column> parts;
    for (const auto& [address, bytes, step] : columns)
      parts.push_back({reinterpret_cast<std::byte*>(address), bytes, step});
    return std::make_unique<Tier>(storage, ChunkRows(std::move(parts), rows), meaning, staging_bytes, limit_s);
  }

  std::vector<bool> have(nb::handle keys, bool gaps) {
    std::vector<std::string> names;
    for (const nb::handle key : keys) names.push_back(name_of(key));
    std::vector<std::uint8_t> there;
    {
      const auto tier = open();
      const WithoutPython released;
      there = tier->have(names, gaps);
    }
    return {there.begin(), there.end()};
  }
  void begin(std::uint64_t job, bool load, nb::handle keys, nb::handle rows) {
    open()->begin(job, load, chunks_of(keys, rows));
  }
  std::vector<bool> run(bool load, nb::handle keys, nb::handle rows) {
    std::vector<ChunkStorage::Chunk> chunks = chunks_of(keys, rows);
    std::vector<std::uint8_t> good;
    {
      const auto tier = open();
      const WithoutPython released;
      good = tier->run(load, std::move(chunks)).good;
    }
    return {good.begin(), good.end()};
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
    const WithoutPython released;
    tier->drain();
  }
  bool clear() {
    const auto tier = open();
    const WithoutPython released;
    return tier->clear();
  }
  bool shared() const { return open()->shared(); }
  /// Ends the jobs under way and releases the memory of the rows. A second call at the same time waits as well.
  void close() {
    closed_ = true;
    auto tier = tier_;
    {
      const WithoutPython released;
      if (tier) tier->stop();  // another thread may still have it, in have()
    }
    auto last = std::exchange(tier_, {});
    {
      const WithoutPython released;
      tier.reset(), last.reset();
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
    if (closed_) throw nb::value_error("this tier was closed");
    return tier_;
  }

  std::vector<ChunkStorage::Chunk> chunks_of(nb::handle keys, nb::handle rows) const {
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
    return chunks;
  }

  std::unique_ptr<Buffer> buffer_;
  std::size_t rows_;
  bool closed_ = false;
  std::shared_ptr<ChunkStorage> tier_;  // before the buffer is released
};

}  // namespace

void bind_chunk_storage(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<Tier>(module, "ChunkStorage",
                   "Chunks of bytes on a storage (slots, redis), for the tier below vLLM's CPU tier and below SGLang's "
                   "host pools. Records are checked when they are read.")
      .def(nb::new_(&Tier::of_buffer), "storage"_a, "rows"_a, "row_bytes"_a, "meaning"_a, "staging_bytes"_a,
           "limit_s"_a,
           "storage: {'slots': {'path': ..., 'capacity': '100GiB'}}, as in an engine's file.\n"
           "rows: memory of rows of row_bytes bytes each.\n"
           "meaning: what the bytes mean; records with another meaning are never found.\n"
           "staging_bytes: memory for records under way.\nlimit_s: time limit of a call of the storage.")
      .def_static("of_columns", &Tier::of_columns, "storage"_a, "columns"_a, "rows"_a, "meaning"_a, "staging_bytes"_a,
                  "limit_s"_a,
                  "The same for rows with parts in several places: row r has, for each column (address, bytes, step), "
                  "the bytes at address + r * step. The memory must outlive this object, or its close().")
      .def("have", &Tier::have, "keys"_a, "gaps"_a = false,
           "Returns which of the keys the storage has. Of a storage with other writers, only those before the first "
           "that is not there, unless `gaps`. Waits, without Python's lock.")
      .def("begin", &Tier::begin, "job"_a, "load"_a, "keys"_a, "rows"_a)
      .def("run", &Tier::run, "load"_a, "keys"_a, "rows"_a,
           "Runs a job and returns which of the chunks were kept or read. Waits, without Python's lock.")
      .def("clear", &Tier::clear,
           "Forgets all chunks. Returns False if the storage may have them again when it is opened later.")
      .def_prop_ro("shared", &Tier::shared, "True if other processes can read the chunks.")
      .def("ended", &Tier::ended, "Returns (job, ok, good, seconds) for each job that has ended since the last call.")
      .def("drain", &Tier::drain, "Waits until all jobs have ended.")
      .def("close", &Tier::close, "Waits for what is under way, and releases the memory.")
      .def("figures", &Tier::figures,
           "Returns counts of chunks: stored, known, loaded, absent, damaged, failed, refused; pauses; and the flaw of "
           "the last damaged record.");
}

}  // namespace canopy::python
