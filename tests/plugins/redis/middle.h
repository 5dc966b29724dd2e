#pragma once

#include <canopy/base/file.h>
#include <canopy/base/random.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

namespace canopy::test {

/// A proxy: hands bytes between clients and a server's unix socket, and harms what the server answers.
class Middle {
 public:
  enum class Harm {
    none,
    dribble,   ///< the first bytes of what came come one by one
    flip,      ///< a bit in about a thousand bytes
    truncate,  ///< closes in the middle of an answer
    nonsense,  ///< answers with something of its own
    silence,   ///< nothing arrives on this connection any more
  };
  explicit Middle(const std::string& server);
  ~Middle();

  std::string address() const { return path_; }
  void harm(Harm harm) { harm_ = harm; }

 private:
  void run();
  /// False: the connection is to be closed.
  bool answer(int client, std::string_view bytes, bool& silent);

  const std::string server_, path_;
  UniqueFd listener_;
  std::atomic<Harm> harm_ = Harm::none;
  std::atomic<bool> ends_ = false;
  Random random_{7};
  std::thread thread_;
};

}  // namespace canopy::test
