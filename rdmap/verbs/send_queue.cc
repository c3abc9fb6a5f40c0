#include "rdmap/verbs/send_queue.h"

#include <algorithm>
#include <array>
#include <utility>

#include "rdmap/errors.h"

namespace openiser::rdmap {

namespace {

// Payload from which on Linux's siw hands TCP the memory itself unless the work is signalled: then
// it may be sent, and sent again, after the work is done.
constexpr std::size_t kSentFromPlace = 4096;

}  // namespace

// Work requests that go to the device with one call. The last is signalled; so are Reads, since
// they may be overtaken, bindings, since whoever ends a region has to know that its binding is
// done, and over iWARP what might be sent from its place.
struct SendQueue::Chain {
  static constexpr std::size_t kLongest = 32;

  bool full() const { return count == kLongest; }
  ibv_send_wr& next(std::uint64_t number, ibv_wr_opcode opcode) {
    ibv_send_wr& request = requests[count];
    request = {};
    request.wr_id = number;
    request.opcode = opcode;
    request.sg_list = &elements[2 * count];
    if (count > 0) requests[count - 1].next = &request;
    ++count;
    return request;
  }

  void drop_last() {
    if (--count > 0) requests[count - 1].next = nullptr;
  }

  std::array<ibv_send_wr, kLongest> requests;
  std::array<ibv_sge, 2 * kLongest> elements;
  std::array<Window*, kLongest> windows{};
  std::size_t count = 0;
};

void SendQueue::open(ibv_qp* pair, const Limits& limits, std::uint32_t outbound_reads) {
  pair_ = pair;
  limits_ = limits;
  outbound_reads_ = outbound_reads;
}

void SendQueue::forget(Window& window) {
  std::erase(bindings_, &window);
}

ErrorCode SendQueue::pump() {
  while (pair_) {
    Chain chain;
    const ErrorCode failed = fill(chain);
    if (chain.count == 0) return failed;
    const ErrorCode refused = hand_over(chain);
    if (failed) return failed;
    if (refused) return refused;
  }
  return {};
}

ErrorCode SendQueue::fill(Chain& chain) {
  while (!bindings_.empty() && !chain.full() && in_flight_.size() < 2 * limits_.works) {
    add_binding(chain, *bindings_.front());
    bindings_.pop_front();
  }
  if (!bindings_.empty()) return {};
  while (!chain.full() && room()) {
    Work* const work = works_.next();
    if (!work) break;
    works_.start();
    if (fails_alone(*work)) continue;
    if (const ErrorCode error = add(chain, *work)) return error;
  }
  return {};
}

bool SendQueue::fails_alone(Work& work) const {
  if (work.kind == Completion::Kind::send && work.length() > limits_.max_send)
    work.status = errc::send_too_long;
  if (work.kind == Completion::Kind::read && outbound_reads_ == 0)
    work.status = errc::mpa_insufficient_ird;
  work.finished = static_cast<bool>(work.status);
  return work.finished;
}

namespace {

ibv_wr_opcode opcode_of(const Work& work) {
  switch (work.kind) {
    case Completion::Kind::write:
      return IBV_WR_RDMA_WRITE;
    case Completion::Kind::read:
      return IBV_WR_RDMA_READ;
    default:
      return work.invalidate ? IBV_WR_SEND_WITH_INV : IBV_WR_SEND;
  }
}

void describe(const Work& work, ibv_send_wr& request) {
  request.wr.rdma.remote_addr = work.remote.offset;
  request.wr.rdma.rkey = work.remote.stag.value;
  if (!work.invalidate) return;
  request.invalidate_rkey = work.invalidate->value;
  // rdma-core's siw takes it from here.
  request.wr.rdma.rkey = work.invalidate->value;
}

}  // namespace

ErrorCode SendQueue::add(Chain& chain, Work& work) {
  Request& flying = in_flight_.emplace_back();
  flying.work = &work;
  ibv_send_wr& request = chain.next(first_ + in_flight_.size() - 1, opcode_of(work));
  describe(work, request);
  const bool read = work.kind == Completion::Kind::read;
  const bool from_place = domain_.facts().iwarp && work.length() >= kSentFromPlace;
  if (read || from_place) request.send_flags |= IBV_SEND_SIGNALED;
  if (work.solicited_event) request.send_flags |= IBV_SEND_SOLICITED;
  if (!read && work.length() > 0 && work.length() <= limits_.inlined)
    request.send_flags |= IBV_SEND_INLINE;
  for (const Buffer* buffer : {&work.buffer, &work.body}) {
    if (buffer->empty()) continue;
    const ErrorCode error = add_element(request, flying, *buffer);
    if (!error) continue;
    chain.drop_last();
    return error;
  }
  return {};
}

// What goes inline need not be registered.
ErrorCode SendQueue::add_element(ibv_send_wr& request, Request& flying, const Buffer& buffer) {
  ibv_sge& element = request.sg_list[request.num_sge];
  if ((request.send_flags & IBV_SEND_INLINE) != 0) {
    element = {.addr = reinterpret_cast<std::uintptr_t>(buffer.data()),
               .length = static_cast<std::uint32_t>(buffer.size()),
               .lkey = 0};
  } else {
    auto part = local(*flying.work, buffer);
    if (!part) return part.error();
    element = part->element();
    flying.parts[request.num_sge] = std::move(*part);
  }
  ++request.num_sge;
  return {};
}

Result<LocalMemory> SendQueue::local(const Work& work, const Buffer& buffer) {
  using Use = LocalMemory::Use;
  if (work.kind != Completion::Kind::read)
    return LocalMemory::of(domain_, buffer.bytes(), Use::source);
  return LocalMemory::of(domain_, buffer.bytes(),
                         domain_.facts().iwarp ? Use::named_sink : Use::sink);
}

void SendQueue::add_binding(Chain& chain, Window& window) {
  chain.windows[chain.count] = &window;
  in_flight_.emplace_back().window = &window;
  ibv_send_wr& request = chain.next(first_ + in_flight_.size() - 1, IBV_WR_BIND_MW);
  request.send_flags = IBV_SEND_SIGNALED;
  request.bind_mw.mw = window.window.get();
  request.bind_mw.rkey = window.key;
  request.bind_mw.bind_info = {.mr = window.region,
                               .addr = reinterpret_cast<std::uintptr_t>(window.memory.data()),
                               .length = window.memory.size(),
                               .mw_access_flags = static_cast<unsigned>(window.access)};
}

// What the device does not take has failed with the queue pair: its requests end as flushed.
ErrorCode SendQueue::hand_over(Chain& chain) {
  chain.requests[chain.count - 1].send_flags |= IBV_SEND_SIGNALED;
  ibv_send_wr* refused = nullptr;
  const int error = ibv_post_send(pair_, chain.requests.data(), &refused);
  for (std::size_t n = 0; n < chain.count && &chain.requests[n] != refused; ++n) {
    Window* const window = chain.windows[n];
    if (!window) continue;
    window->window->rkey = window->key;
    window->state = Window::State::with_device;
  }
  if (error == 0) return {};
  return errc::queue_pair_failed;
}

void SendQueue::completed(std::uint64_t number, ErrorCode status) {
  if (number < first_ || number - first_ >= in_flight_.size()) return;
  const std::size_t at = number - first_;
  // What was not signalled before it is done, or was flushed with it. A Read has its own
  // completion.
  const ErrorCode before = status == errc::flushed ? status : ErrorCode();
  for (std::size_t n = 0; n < at; ++n) {
    Request& earlier = in_flight_[n];
    const bool read = earlier.work && earlier.work->kind == Completion::Kind::read;
    if (!read && !earlier.finished) finish(earlier, before);
  }
  if (!in_flight_[at].finished) finish(in_flight_[at], status);
  for (; !in_flight_.empty() && in_flight_.front().finished; ++first_) in_flight_.pop_front();
}

void SendQueue::finish(Request& request, ErrorCode status) {
  request.finished = true;
  if (status) lost_ = true;
  if (request.window) request.window->state = Window::State::settled;
  if (Work* const work = request.work) {
    if (work->kind == Completion::Kind::read && !status)
      request.parts[0].arrived(work->buffer.bytes(), work->buffer.size());
    work->status = status;
    work->finished = true;
  }
  for (LocalMemory& part : request.parts) part = {};
}

void SendQueue::abandon(ErrorCode why) {
  pair_ = nullptr;
  if (!in_flight_.empty()) lost_ = true;
  for (; !in_flight_.empty(); ++first_) in_flight_.pop_front();
  bindings_.clear();
  works_.abandon(why, completions_);
}

}  // namespace openiser::rdmap
