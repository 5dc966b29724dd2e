#include "handles.h"

namespace canopy::c {

canopy_code fail_inside(const char* function) noexcept {
  return fail(
      CANOPY_WRONG_STATE, function,
      "another call of this engine is running: a policy may not call it, and an engine with its requests is for "
      "one thread");
}
canopy_code fail_in_stage(const char* function, canopy_request::Stage stage) noexcept {
  constexpr const char* kStages[] = {"was destroyed", "is not retracted", "is retracted: call canopy_request_resume",
                                     "has ended"};
  return fail(CANOPY_WRONG_STATE, function, "the request {}", kStages[static_cast<std::size_t>(stage)]);
}

}  // namespace canopy::c
