#include <utility>

#include "state.h"

namespace canopy::fake_cuda {
namespace {

thread_local CaptureMode own_mode =
    CaptureMode::global;  ///< mode that limits the calls of this thread while others capture

}  // namespace

bool capture_forbids() {
  State& s = state();
  if (own_mode == CaptureMode::relaxed) return false;
  std::erase_if(s.captures, [](const auto& capture) { return capture.expired(); });
  bool forbidden = false;
  for (const auto& weak : s.captures) {
    const auto capture = weak.lock();
    if (capture->mode == CaptureMode::relaxed) continue;
    const bool narrow = capture->mode == CaptureMode::thread_local_mode || own_mode == CaptureMode::thread_local_mode;
    if (narrow && capture->thread != std::this_thread::get_id()) continue;
    capture->invalidated = true;
    forbidden = true;
  }
  return forbidden;
}

void add_to_capture(Queue& queue, Work work) {
  Capture& capture = *queue.capture;
  if (queue_of(capture.origin).get() != &queue) capture.unjoined.insert(&queue);
  capture.graph.work.push_back(std::move(work));
}

}  // namespace canopy::fake_cuda

namespace canopy::cuda {

using namespace canopy::fake_cuda;

extern "C" {

Result cuStreamIsCapturing(StreamHandle stream, CaptureStatus* status) {
  FAKE_ENTER(kContext);
  const auto queue = queue_of(stream);
  if (!queue) return Result::invalid_handle;
  if (!status) return Result::invalid_value;
  *status = !queue->capture               ? CaptureStatus::none
            : queue->capture->invalidated ? CaptureStatus::invalidated
                                          : CaptureStatus::active;
  return Result::success;
}

Result cuStreamBeginCapture_v2(StreamHandle stream, CaptureMode mode) {
  FAKE_ENTER(kContext);
  const auto queue = queue_of(stream);
  if (!queue) return Result::invalid_handle;
  if (queue == state().legacy) return Result::stream_capture_unsupported;
  if (queue->capture) return Result::invalid_value;
  const auto capture = std::make_shared<Capture>();
  capture->origin = stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->members.insert(queue.get());
  queue->capture = capture;
  state().captures.push_back(capture);
  return Result::success;
}

Result cuStreamEndCapture(StreamHandle stream, GraphHandle* out) {
  FAKE_ENTER(kContext);
  const auto queue = queue_of(stream);
  if (!queue) return Result::invalid_handle;
  if (!out) return Result::invalid_value;
  const auto capture = queue->capture;
  if (!capture) return Result::invalid_value;
  if (capture->origin != stream) return Result::stream_capture_unmatched;
  if (capture->mode != CaptureMode::relaxed && capture->thread != std::this_thread::get_id())
    return Result::stream_capture_wrong_thread;
  for (Queue* const member : capture->members) member->capture = nullptr;
  *out = nullptr;
  if (capture->invalidated) return Result::stream_capture_invalidated;
  if (!capture->unjoined.empty()) return Result::stream_capture_unjoined;
  *out = state().fresh<GraphHandle>();
  state().graphs[*out] = std::move(capture->graph);
  return Result::success;
}

Result cuThreadExchangeStreamCaptureMode(CaptureMode* mode) {
  FAKE_ENTER(kNothing);
  if (!mode || *mode < CaptureMode::global || *mode > CaptureMode::relaxed) return Result::invalid_value;
  std::swap(*mode, own_mode);
  return Result::success;
}

Result cuGraphInstantiateWithFlags(GraphExecHandle* out, GraphHandle graph, std::uint64_t) {
  FAKE_ENTER(kContext);
  const auto found = state().graphs.find(graph);
  if (!out || found == state().graphs.end()) return Result::invalid_value;
  *out = state().fresh<GraphExecHandle>();
  state().execs[*out] = found->second;
  return Result::success;
}

Result cuGraphLaunch(GraphExecHandle exec, StreamHandle stream) {
  FAKE_ENTER(kContext);
  const auto found = state().execs.find(exec);
  if (found == state().execs.end()) return Result::invalid_value;
  for (const Work& work : found->second.work)
    if (const Result result = enqueue(stream, work); result != Result::success) return result;
  return Result::success;
}

Result cuGraphExecDestroy(GraphExecHandle exec) {
  FAKE_ENTER(kContext);
  return state().execs.erase(exec) == 1 ? Result::success : Result::invalid_value;
}

Result cuGraphDestroy(GraphHandle graph) {
  FAKE_ENTER(kContext);
  return state().graphs.erase(graph) == 1 ? Result::success : Result::invalid_value;
}

}  // extern "C"
}  // namespace canopy::cuda
