#include "table_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "folder.h"

namespace canopy::slots {

namespace {

constexpr std::uint64_t kHeadBytes = 4096;

std::uint32_t sum_of(const Entry& entry, Slot slot) {
  // Never 0, which stands for an entry that is not durable.
  return static_cast<std::uint32_t>(XXH3_64bits_withSeed(&entry, offsetof(Entry, sum), slot)) | 1;
}
std::uint64_t sum_of(const TableHead& head) { return XXH3_64bits(&head, offsetof(TableHead, sum)); }

}  // namespace

std::size_t read_at(int file, void* to, std::size_t count, std::uint64_t offset) {
  std::size_t done = 0;
  while (done < count) {
    const ssize_t now =
        ::pread(file, static_cast<std::byte*>(to) + done, count - done, static_cast<off_t>(offset + done));
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) break;
    done += static_cast<std::size_t>(now);
  }
  return done;
}

const char* read_head(int file, TableHead& head) {
  const TableHead expected;
  if (read_at(file, &head, sizeof head, 0) < sizeof head) return "it ends in its head";
  if (std::memcmp(head.magic, expected.magic, sizeof head.magic) != 0) return "it is not a table";
  if (head.sum != sum_of(head)) return "its head is damaged";
  if (head.format != expected.format) return "it has the format of another version";
  if (head.record_bytes == 0 || head.record_bytes % 4096 != 0 || head.slots >= kNoSlot) return "its head is damaged";
  return nullptr;
}

std::size_t read_entries(int file, Slot first, std::span<Entry> entries) {
  const std::size_t bytes = read_at(file, entries.data(), entries.size_bytes(), kHeadBytes + first * sizeof(Entry));
  const std::size_t count = bytes / sizeof(Entry);
  for (std::size_t i = 0; i < count; ++i)
    if (entries[i].run == 0 || entries[i].sum != sum_of(entries[i], first + static_cast<Slot>(i))) entries[i] = {};
  std::fill(entries.begin() + static_cast<std::ptrdiff_t>(count), entries.end(), Entry{});
  return count;
}

TableFile::TableFile(const std::string& path, const Shape& shape, const PageStorage::Context& context) : path_(path) {
  file_ = OwnFd([&] { return open_file(path, O_RDWR, true); });
  TableHead found;
  if (!file_) trouble_ = "it does not exist";
  else if (const char* why = read_head(file_.get(), found)) trouble_ = why;
  else if (found.fingerprint != context.fingerprint || found.rank != context.rank || found.ranks != context.ranks)
    trouble_ = "it belongs to another model or rank";
  else if (found.record_bytes != shape.record_bytes) trouble_ = "its records have another size";
  else if (!found.complete) trouble_ = "it is incomplete";
  if (!file_) file_ = OwnFd([&] { return open_file(path, O_RDWR | O_CREAT); });

  entries_.resize((std::size_t{shape.slots} + kEntriesAPage - 1) / kEntriesAPage * kEntriesAPage);
  if (trouble_.empty()) read_entries(file_.get(), 0, std::span(entries_).first(shape.slots));
  else if (::ftruncate(file_.get(), 0) != 0) fail(path, "cannot be emptied", errno);
  const auto size = static_cast<off_t>(kHeadBytes + entries_.size() * sizeof(Entry));
  if (::ftruncate(file_.get(), size) != 0) fail(path, "cannot be resized", errno);
  // Allocates disk space, so that a full disk does not stop the table later. Some file systems cannot.
  const int error = allocate(file_.get(), static_cast<std::uint64_t>(size));
  if (error == ENOSPC || error == EDQUOT) fail(path, "has no room on its disk", error);
  changed_.reserve(kMostChanged);
  head_.record_bytes = shape.record_bytes;
  head_.slots = shape.slots;
  head_.fingerprint = context.fingerprint;
  head_.rank = context.rank;
  head_.ranks = context.ranks;
  head_.complete = trouble_.empty();
  write_head();
}

void TableFile::complete() {
  write();
  head_.complete = 1;
  write_head();
}

void TableFile::set(Slot slot, Entry entry, bool durable) {
  entry.sum = durable ? sum_of(entry, slot) : 0;
  entries_[slot] = entry;
  changed(slot);
}

void TableFile::clear(Slot slot) {
  entries_[slot] = {};
  changed(slot);
}

void TableFile::changed(Slot slot) {
  const Slot page = slot / kEntriesAPage;
  if (!changed_.empty() && changed_.back() == page) return;
  if (changed_.size() == changed_.capacity()) write();  // so that a change takes no memory
  changed_.push_back(page);
}

void TableFile::write() {
  std::sort(changed_.begin(), changed_.end());
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  for (std::size_t i = 0; i < changed_.size();) {
    std::size_t next = i + 1;
    while (next < changed_.size() && changed_[next] == changed_[next - 1] + 1) ++next;
    const std::size_t first = std::size_t{changed_[i]} * kEntriesAPage;
    write_at(&entries_[first], (next - i) * 4096, kHeadBytes + first * sizeof(Entry));
    i = next;
  }
  changed_.clear();
}

void TableFile::write_head() {
  head_.sum = sum_of(head_);
  write_at(&head_, sizeof head_, 0);
}

void TableFile::write_at(const void* bytes, std::size_t count, std::uint64_t offset) {
  std::size_t done = 0;
  while (done < count) {
    const ssize_t now = ::pwrite(file_.get(), static_cast<const std::byte*>(bytes) + done, count - done,
                                 static_cast<off_t>(offset + done));
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) {
      if (!failed_)
        std::fprintf(
            stderr,
            "canopy: slots: %s cannot be written (%s); records put from now on may be lost when this process ends\n",
            path_.c_str(), std::generic_category().message(errno).c_str());
      failed_ = true;
      return;
    }
    done += static_cast<std::size_t>(now);
  }
}

}  // namespace canopy::slots
