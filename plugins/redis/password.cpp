#include "password.h"

#include <canopy/base/file.h>
#include <canopy/base/printable.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

namespace canopy::redis {

Result<std::string> read_password(const std::string& variable, const std::string& file) {
  if (!variable.empty() && !file.empty())
    return Error{"`password_from` and `password_file` are both given; expected one of them"};
  if (!variable.empty()) {
    const char* password = std::getenv(variable.c_str());
    if (password == nullptr || *password == '\0')
      return Error{"`password_from`: the environment has no variable " + in_quotes(variable)};
    return std::string(password);
  }
  if (file.empty()) return std::string();
  const OpenedFile opened = open_regular(file);
  if (!opened.descriptor)
    return Error{
        "`password_file`: " + printable(file) + ": " +
        (opened.error != 0 ? std::strerror(opened.error) : "it is " + std::string(kind_of(opened.facts.st_mode)))};
  std::array<char, 1024> bytes;
  const ssize_t size = ::read(opened.descriptor.get(), bytes.data(), bytes.size());
  const std::string_view text(bytes.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  const std::string_view line = text.substr(0, text.find_first_of("\r\n"));
  if (line.empty()) return Error{"`password_file`: the first line of " + printable(file) + " is empty"};
  if (line.size() == bytes.size())
    return Error{"`password_file`: the first line of " + printable(file) + " is too long"};
  return std::string(line);
}

}  // namespace canopy::redis
