// The send queue of a queue pair: works as they were posted, of which the device has as many as it
// takes, and the bindings of memory windows, which go before all works not yet with the device.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "base/fifo.h"
#include "rdmap/core/work_queue.h"
#include "rdmap/verbs/local_memory.h"
#include "rdmap/verbs/protection_domain.h"

namespace openiser::rdmap {

// A memory window and what it is to be bound to.
struct Window {
  enum class State { waiting, with_device, settled };

  Owned<ibv_mw> window;
  std::uint32_t key = 0;  // once bound
  ibv_mr* region = nullptr;
  MutableBytes memory;
  int access = 0;
  State state = State::waiting;
};

class SendQueue {
 public:
  struct Limits {
    std::uint32_t works = 0;  // that the device takes, and as many bindings
    std::uint32_t inlined = 0;
    std::uint32_t max_send = 0;
  };

  SendQueue(ProtectionDomain& domain, CompletionQueue& completions)
      : domain_(domain), completions_(completions) {}
  // Works may go to the device.
  void open(ibv_qp* pair, const Limits& limits, std::uint32_t outbound_reads);

  void post(Work&& work) { works_.post(std::move(work)); }
  void flush() { works_.flush(); }
  // `window` stays where it is until it is settled or forgotten.
  void bind(Window& window) { bindings_.push_back(&window); }
  // The window is bound no more, or will not be; not while it is with the device.
  void forget(Window& window);

  // Gives the device what it takes. An error is the end of the queue pair.
  ErrorCode pump();
  // A completion of the device's for the work request `number`.
  void completed(std::uint64_t number, ErrorCode status);
  // Hands what is finished to the client.
  void retire() { works_.retire(completions_); }
  void abandon(ErrorCode why);

  // Nothing that was flushed is undone.
  bool idle() { return in_flight_.empty() && bindings_.empty() && !works_.next(); }
  // Some work was not done.
  bool lost() const { return lost_; }

 private:
  struct Request;
  struct Chain;

  bool room() const { return in_flight_.size() < limits_.works; }
  ErrorCode fill(Chain& chain);
  ErrorCode add(Chain& chain, Work& work);
  ErrorCode add_element(ibv_send_wr& request, Request& flying, const Buffer& buffer);
  void add_binding(Chain& chain, Window& window);
  ErrorCode hand_over(Chain& chain);
  bool fails_alone(Work& work) const;
  Result<LocalMemory> local(const Work& work, const Buffer& buffer);
  void finish(Request& request, ErrorCode status);

  // A work request that the device has.
  struct Request {
    Work* work = nullptr;
    Window* window = nullptr;
    LocalMemory parts[2];
    bool finished = false;
  };

  ProtectionDomain& domain_;
  CompletionQueue& completions_;
  ibv_qp* pair_ = nullptr;
  Limits limits_;
  std::uint32_t outbound_reads_ = 0;
  WorkQueue works_;
  std::deque<Window*> bindings_;
  Fifo<Request> in_flight_;
  std::uint64_t first_ = 0;  // the number of the first of these
  bool lost_ = false;
};

}  // namespace openiser::rdmap
