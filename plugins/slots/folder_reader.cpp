#include "folder_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include "folder.h"

namespace canopy::slots {

FolderReader::FolderReader(const std::string& folder)
    : folder_(folder), table_(open_file(folder + "/table", O_RDONLY)), flushed_(folder + "/flushed") {
  if (const char* why = read_head(table_.get(), head_))
    fail(folder + "/table", std::string("cannot be used: ") + why, 0);
}

void FolderReader::each(const std::function<void(Slot, const Entry&)>& see) const {
  std::vector<Entry> entries(4'096);
  for (std::uint64_t first = 0; first < head_.slots; first += entries.size()) {
    const std::size_t count = read_entries(table_.get(), static_cast<Slot>(first), entries);
    for (std::size_t i = 0; i < count && first + i < head_.slots; ++i)
      if (const Entry& entry = entries[i]; entry.run > 0 && !flushed_.covers(entry.space, entry.run))
        see(static_cast<Slot>(first + i), entry);
    if (count < entries.size()) return;
  }
}

std::size_t FolderReader::read(Slot slot, std::byte* record) {
  const Shape shape{head_.record_bytes, static_cast<Slot>(head_.slots)};
  if (file_ != shape.file_of(slot)) {
    file_ = shape.file_of(slot);
    slots_ = open_file(folder_ + "/slots." + std::to_string(file_), O_RDONLY, true);
  }
  return slots_ ? read_at(slots_.get(), record, head_.record_bytes, shape.offset_of(slot)) : 0;
}

}  // namespace canopy::slots
