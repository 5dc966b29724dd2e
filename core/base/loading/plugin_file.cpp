#include "plugin_file.h"

#include <canopy/base/file.h>
#include <canopy/base/plugin_call.h>
#include <fmt/format.h>
#include <boost/dll/shared_library.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "elf_image.h"

namespace canopy {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{256} << 20;
constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

/// Reads a whole file. It is read, not mapped: if it is shortened meanwhile, the result is a short read, not a SIGBUS.
bool read_all(const UniqueFd& file, std::vector<std::byte>& all) {
  for (std::size_t done = 0; done < all.size();) {
    const ssize_t now = ::pread(file.get(), all.data() + done, all.size() - done, static_cast<off_t>(done));
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return false;
    done += static_cast<std::size_t>(now);
  }
  return true;
}

std::string system_text(int code) { return std::system_category().message(code); }

/// Returns the path of the file without symbolic links, or an error if there is no such file.
Result<fs::path> locate(const fs::path& file) {
  std::error_code failed;
  const fs::path found = fs::canonical(file, failed);
  if (!failed) return found;
  if (failed != std::errc::no_such_file_or_directory)
    return Error{fmt::format("it cannot be reached: {}", failed.message())};
  std::error_code no_link;
  const fs::path target = fs::read_symlink(file, no_link);
  if (no_link) return Error{"there is no such file"};
  return Error{fmt::format("it is a symbolic link to {}, which does not exist", target.string())};
}

bool owner_is_trusted(const struct stat& facts) { return facts.st_uid == 0 || facts.st_uid == ::geteuid(); }

std::string wrong_owner(const struct stat& facts) {
  return fmt::format("belongs to user {}; expected root or user {}", facts.st_uid, ::geteuid());
}

std::string how_open(const struct stat& facts) {
  return fmt::format("(its mode is {:04o}; expected at most 0755)", facts.st_mode & 07777U);
}

/// Returns an error message if a user other than root and this one could put a file into a folder, or replace the
/// folder; else an empty text. In a folder with the sticky bit, such as /tmp, no other user can rename or remove a file
/// of this user, so it may be above the checked folder. It may not be the checked folder itself, since every user can
/// create new names in it. REQUIRES: `checked` is absolute and without symbolic links.
std::string why_changeable(const fs::path& checked) {
  fs::path folder = checked;
  for (;; folder = folder.parent_path()) {
    struct stat above;
    if (::stat(folder.c_str(), &above) != 0)
      return fmt::format("the folder {} cannot be checked: {}", folder.string(), system_text(errno));
    if (!owner_is_trusted(above)) return fmt::format("the folder {} {}", folder.string(), wrong_owner(above));
    const bool keeps_ours = folder != checked && (above.st_mode & S_ISVTX) != 0;
    if ((above.st_mode & kOthersWrite) != 0 && !keeps_ours)
      return fmt::format("users other than its owner can write to the folder {} {}", folder.string(), how_open(above));
    if (folder == folder.parent_path()) return {};
  }
}

/// Returns an error message if a user other than root and this one could change the file to which this path leads, else
/// an empty text.
std::string why_changeable(const fs::path& given, const fs::path& file, const struct stat& facts) {
  std::error_code failed;
  if (fs::canonical(fs::absolute(given).parent_path(), failed) != file.parent_path() || failed)
    return fmt::format("it is a symbolic link out of its folder, to {}", file.string());
  if (!owner_is_trusted(facts)) return "it " + wrong_owner(facts);
  if ((facts.st_mode & kOthersWrite) != 0) return "users other than its owner can write to it " + how_open(facts);
  if ((facts.st_mode & (S_ISUID | S_ISGID)) != 0)
    return fmt::format("it is set-user-ID or set-group-ID; expected a plain file {}", how_open(facts));
  // Other names of the file have the same owner and mode: no other user can change the file through one of them.
  return why_changeable(file.parent_path());
}

/// Returns an error message if these bytes are not a plugin for this host, else an empty text.
std::string why_no_plugin(std::span<const std::byte> bytes) {
  const auto image = ElfImage::read(bytes);
  if (!image) return image.error().text;
  const auto descriptor = image->address_of(kPluginSymbol);
  if (!descriptor)
    return fmt::format("it does not export {}, so it is not a Canopy plugin and was not loaded", kPluginSymbol);
  return why_unreadable(*image, *descriptor);
}

/// Returns an error message if `file` must not be loaded, else an empty text. REQUIRES: `file` is absolute and without
/// symbolic links.
///
/// The loader opens the file a second time, by its name. Loading /proc/self/fd/N of the checked descriptor would remove
/// that gap, but it fails in two ways. glibc compares names before inodes, so a second plugin that gets number N while
/// the first is mapped silently *is* the first. And $ORIGIN becomes /proc/self/fd, so the loader does not find a
/// library beside the plugin. The name is safe enough: with Trust::strict only root and this user can change the file
/// or any folder above it, and write access to the folder of the executable would also replace the executable.
/// The remaining gap is a rebuild of the plugin during the check, which the last comparison makes small.
std::string why_not(const fs::path& given, const fs::path& file, Trust trust) {
  const OpenedFile opened = open_regular(file.string(), O_NOFOLLOW);
  if (opened.error != 0) return fmt::format("it cannot be opened: {}", system_text(opened.error));
  const struct stat& facts = opened.facts;
  if (!opened.descriptor) return fmt::format("it is {}; expected a regular file", kind_of(facts.st_mode));
  if (facts.st_size <= 0) return "it is empty; expected an ELF shared library";
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  if (size > kMaxFileBytes) return fmt::format("it has {} bytes; expected at most {}", size, kMaxFileBytes);
  if (trust == Trust::strict) {
    if (std::string why = why_changeable(given, file, facts); !why.empty()) return why;
  }
  std::vector<std::byte> bytes(size);
  if (!read_all(opened.descriptor, bytes)) return fmt::format("its {} bytes cannot be read", size);
  if (std::string why = why_no_plugin(bytes); !why.empty()) return why;
  struct stat now;
  if (::stat(file.c_str(), &now) != 0 || now.st_dev != facts.st_dev || now.st_ino != facts.st_ino)
    return "it was replaced while it was being checked";
  return {};
}

}  // namespace

Result<std::shared_ptr<LoadedPlugin>> load_plugin_file(const fs::path& given, Trust trust) {
  auto file = locate(given);
  if (!file) return file.error();
  if (std::string why = why_not(given, *file, trust); !why.empty()) return Error{std::move(why)};

  namespace dll = boost::dll;
  auto library = std::make_shared<dll::shared_library>();
  std::error_code failed;  // always "bad file descriptor"; dlerror() has the reason
  const std::string called = fmt::format("plugin {}", file->filename().string());
  const InPlugin in(called.c_str(), "its constructors");
  library->load(*file, dll::load_mode::rtld_now | dll::load_mode::rtld_local, failed);
  if (failed) {
    const char* why = ::dlerror();
    return Error{fmt::format("the loader refuses it: {}", why != nullptr ? why : "no reason was given")};
  }
  if (!library->has(kPluginSymbol)) return Error{fmt::format("the loader finds no {} in it", kPluginSymbol)};
  const auto& descriptor = library->get<const CanopyPlugin>(kPluginSymbol);
  return LoadedPlugin::check(*std::move(file), std::move(library), descriptor);
}

}  // namespace canopy
