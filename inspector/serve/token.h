#pragma once

#include <canopy/base/result.h>

#include <string>
#include <string_view>

namespace canopy::inspector {

/// Returns a new secret of 32 hexadecimal digits from OpenSSL's random numbers. Throws if there are none.
std::string make_token();
/// Returns the secret in a file; where there is no file, makes one with a new secret that only its owner can read.
/// Returns an error if others can read the file, or if its text is no secret: 32 to 128 letters and digits.
Result<std::string> kept_token(const std::string& path);
/// Returns true if the texts are equal and not empty. The time depends only on their lengths, so that a client cannot
/// guess the secret digit by digit.
bool same_token(std::string_view secret, std::string_view given);

}  // namespace canopy::inspector
