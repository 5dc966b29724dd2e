#include <setjmp.h>
#include <signal.h>

#include <algorithm>

#include "state.h"

namespace canopy::fake_cuda {
namespace {

thread_local sigjmp_buf* landing = nullptr;
struct sigaction before_segv, before_bus;

void on_fault(int signal, siginfo_t*, void*) {
  if (landing) siglongjmp(*landing, 1);
  // Not an address of the fake, or another thread's: the instruction faults once more, and the handler before this one
  // gets the signal.
  sigaction(signal, signal == SIGSEGV ? &before_segv : &before_bus, nullptr);
}

bool blocking(const Queue& queue) { return (queue.flags & kStreamNonBlocking) == 0; }

Result run_until(const std::shared_ptr<Queue>& queue, const std::function<bool()>& stop) {
  while (!queue->ops.empty() && !stop()) {
    if (state().sticky != Result::success) return state().sticky;
    const Op op = std::move(queue->ops.front());
    queue->ops.pop_front();
    if (op.work) {
      if (const Result result = op.work(); result != Result::success) return result;
    } else {
      const auto there = [&] { return *op.record; };
      if (const Result result = run_until(op.recorder, there); result != Result::success) return result;
    }
  }
  return state().sticky;
}

/// Makes the legacy stream wait for the blocking ones, and them for it.
Result order_legacy(const std::shared_ptr<Queue>& queue) {
  State& s = state();
  if (!blocking(*queue)) return Result::success;
  if (queue != s.legacy) return run(s.legacy);
  for (const auto& [handle, other] : s.streams)
    if (blocking(*other))
      if (const Result result = run(other); result != Result::success) return result;
  for (const auto& other : s.orphans)
    if (blocking(*other))
      if (const Result result = run(other); result != Result::success) return result;
  return Result::success;
}

Result push(const std::shared_ptr<Queue>& queue, Op op) {
  if (const Result result = order_legacy(queue); result != Result::success) return result;
  queue->ops.push_back(std::move(op));
  return state().eager ? run(queue) : Result::success;
}

std::shared_ptr<Event> event_of(EventHandle handle) {
  const auto found = state().events.find(handle);
  return found == state().events.end() ? nullptr : found->second;
}

/// Returns true if the event was recorded in a capture. Its query then invalidates the capture.
bool asks_after_capture(const Event& event) {
  if (!event.captured) return false;
  if (const auto capture = event.capture.lock()) capture->invalidated = true;
  return true;
}

Result run_to_record(const Event& event) {
  if (!event.done) return state().sticky;
  return run_until(event.recorder, [done = event.done] { return *done; });
}

}  // namespace

Result guarded(const std::function<void()>& body) {
  struct sigaction ours = {};
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGSEGV, &ours, &before_segv);
  sigaction(SIGBUS, &ours, &before_bus);
  sigjmp_buf here;
  const bool faulted = sigsetjmp(here, 1) != 0;
  if (!faulted) {
    landing = &here;
    body();
  }
  landing = nullptr;
  sigaction(SIGSEGV, &before_segv, nullptr);
  sigaction(SIGBUS, &before_bus, nullptr);
  return faulted ? made_sticky(Result::illegal_address) : Result::success;
}

std::shared_ptr<Queue> queue_of(StreamHandle stream) {
  if (reinterpret_cast<std::uintptr_t>(stream) <= 1) return state().legacy;
  const auto found = state().streams.find(stream);
  return found == state().streams.end() ? nullptr : found->second;
}

Result enqueue(StreamHandle stream, Work work) {
  const auto queue = queue_of(stream);
  if (!queue) return Result::invalid_handle;
  if (queue->capture) {
    if (queue->capture->invalidated) return Result::stream_capture_invalidated;
    add_to_capture(*queue, std::move(work));
    return Result::success;
  }
  return push(queue, {std::move(work), nullptr, nullptr});
}

Result run(const std::shared_ptr<Queue>& queue) {
  return run_until(queue, [] { return false; });
}

Result run_all() {
  State& s = state();
  for (const auto& [handle, queue] : s.streams)
    if (const Result result = run(queue); result != Result::success) return result;
  for (const auto& queue : s.orphans)
    if (const Result result = run(queue); result != Result::success) return result;
  s.orphans.clear();
  return run(s.legacy);
}

}  // namespace canopy::fake_cuda

namespace canopy::cuda {

using namespace canopy::fake_cuda;

extern "C" {

Result cuCtxSynchronize() {
  FAKE_ENTER(kContext | kNotInCapture);
  return run_all();
}

Result cuStreamCreateWithPriority(StreamHandle* out, unsigned flags, int) {
  FAKE_ENTER(kContext);
  if (!out || flags > kStreamNonBlocking) return Result::invalid_value;
  const auto queue = std::make_shared<Queue>();
  queue->flags = flags;
  *out = state().fresh<StreamHandle>();
  state().streams[*out] = queue;
  return Result::success;
}

Result cuStreamDestroy_v2(StreamHandle stream) {
  FAKE_ENTER(kContext);
  const auto found = state().streams.find(stream);
  if (found == state().streams.end()) return Result::invalid_handle;
  const auto queue = found->second;
  if (queue->capture) {
    queue->capture->invalidated = true;
    queue->capture->members.erase(queue.get());
    queue->capture->unjoined.erase(queue.get());
  }
  std::erase_if(state().orphans, [](const auto& orphan) { return orphan->ops.empty(); });
  if (!queue->ops.empty()) state().orphans.push_back(queue);
  state().streams.erase(found);
  return Result::success;
}

Result cuStreamSynchronize(StreamHandle stream) {
  FAKE_ENTER(kContext | kNotInCapture);
  const auto queue = queue_of(stream);
  if (!queue) return Result::invalid_handle;
  if (queue->capture) {
    queue->capture->invalidated = true;
    return Result::stream_capture_unsupported;
  }
  if (const Result result = order_legacy(queue); result != Result::success) return result;
  return run(queue);
}

Result cuStreamWaitEvent(StreamHandle stream, EventHandle handle, unsigned flags) {
  FAKE_ENTER(kContext);
  const auto queue = queue_of(stream);
  const auto event = event_of(handle);
  if (!queue || !event) return Result::invalid_handle;
  if (flags != 0) return Result::invalid_value;
  if (event->captured) {
    const auto capture = event->capture.lock();
    if (!capture) return Result::captured_event;
    if (queue->capture && queue->capture != capture) return Result::stream_capture_merge;
    capture->unjoined.erase(event->recorder.get());
    if (queue != queue_of(capture->origin)) {
      if (queue->ops.size() != 0) return Result::stream_capture_isolation;
      queue->capture = capture;
      capture->members.insert(queue.get());
      capture->unjoined.insert(queue.get());
    }
    return Result::success;
  }
  if (!event->done) return Result::success;
  if (queue->capture) {
    queue->capture->invalidated = true;
    return Result::stream_capture_isolation;
  }
  return push(queue, {nullptr, event->done, event->recorder});
}

Result cuEventCreate(EventHandle* out, unsigned flags) {
  FAKE_ENTER(kContext);
  if (!out || flags > (kEventBlockingSync | kEventDisableTiming)) return Result::invalid_value;
  const auto event = std::make_shared<Event>();
  event->flags = flags;
  *out = state().fresh<EventHandle>();
  state().events[*out] = event;
  return Result::success;
}

Result cuEventDestroy_v2(EventHandle handle) {
  FAKE_ENTER(kContext);
  return state().events.erase(handle) == 1 ? Result::success : Result::invalid_handle;
}

Result cuEventRecord(EventHandle handle, StreamHandle stream) {
  FAKE_ENTER(kContext);
  const auto queue = queue_of(stream);
  const auto event = event_of(handle);
  if (!queue || !event) return Result::invalid_handle;
  event->recorder = queue;
  event->captured = queue->capture != nullptr;
  event->capture = queue->capture;
  if (event->captured) return queue->capture->invalidated ? Result::stream_capture_invalidated : Result::success;
  event->done = std::make_shared<bool>(false);
  event->not_ready = state().not_ready;
  const auto reach = [event, done = event->done] {
    *done = true;
    if (event->done == done) event->at = std::chrono::steady_clock::now();
    return Result::success;
  };
  return push(queue, {reach, nullptr, nullptr});
}

Result cuEventQuery(EventHandle handle) {
  FAKE_ENTER(kContext | kNotInCapture);
  const auto event = event_of(handle);
  if (!event) return Result::invalid_handle;
  if (asks_after_capture(*event)) return Result::captured_event;
  if (!event->done || *event->done) return Result::success;
  if (event->not_ready != 0) {
    if (event->not_ready > 0) --event->not_ready;
    return Result::not_ready;
  }
  return run_to_record(*event);
}

Result cuEventSynchronize(EventHandle handle) {
  FAKE_ENTER(kContext | kNotInCapture);
  const auto event = event_of(handle);
  if (!event) return Result::invalid_handle;
  if (asks_after_capture(*event)) return Result::captured_event;
  return run_to_record(*event);
}

Result cuEventElapsedTime(float* milliseconds, EventHandle first, EventHandle last) {
  FAKE_ENTER(kContext);
  const auto from = event_of(first);
  const auto to = event_of(last);
  if (!milliseconds) return Result::invalid_value;
  if (!from || !to || (from->flags | to->flags) & kEventDisableTiming || !from->done || !to->done)
    return Result::invalid_handle;
  if (!*from->done || !*to->done) return Result::not_ready;
  *milliseconds = std::chrono::duration<float, std::milli>(to->at - from->at).count();
  return Result::success;
}

}  // extern "C"
}  // namespace canopy::cuda
