#pragma once

#include <canopy/feed/header.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "feed_script.h"

namespace canopy::test {

/// A file like those that FeedSink writes, with these events; it is removed in the end.
class RecordedFile {
 public:
  RecordedFile(FeedScript& script, const std::vector<Event>& events, const std::string& name = "recorded") {
    path_ = (std::filesystem::temp_directory_path() / ("canopy-" + name + "-" + std::to_string(::getpid()))).string();
    std::string bytes(FeedHeader::kBytes, '\0');
    FeedHeader header{};
    header.event_bytes = sizeof(Event);
    header.page_size = script.header().page_size, header.groups = script.header().groups;
    header.reaches[0] = kWholePath;
    header.begin();
    std::copy_n(reinterpret_cast<const char*>(&header), sizeof(header), bytes.begin());
    bytes.append(reinterpret_cast<const char*>(events.data()), events.size() * sizeof(Event));
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~RecordedFile() { std::filesystem::remove(path_); }
  RecordedFile(const RecordedFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace canopy::test
