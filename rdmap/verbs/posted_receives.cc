#include "rdmap/verbs/posted_receives.h"

#include <array>

#include "rdmap/errors.h"
#include "rdmap/verbs/work_number.h"

namespace openiser::rdmap {
namespace {

constexpr std::size_t kLongestChain = 32;

}  // namespace

ErrorCode PostedReceives::pump() {
  while (pair_ && !waiting_.empty() && with_device_.size() < most_) {
    std::array<ibv_recv_wr, kLongestChain> requests{};
    std::array<ibv_sge, kLongestChain> elements;
    std::size_t count = 0;
    while (count < kLongestChain && !waiting_.empty() && with_device_.size() < most_) {
      Receive& receive = waiting_.front();
      ibv_recv_wr& request = requests[count];
      // Not every device takes a receive of no memory.
      const MutableBytes memory = receive.buffer.empty() ? nothing() : receive.buffer.bytes();
      auto local = LocalMemory::of(domain_, memory, LocalMemory::Use::sink);
      if (!local) return local.error();
      receive.memory = std::move(*local);
      elements[count] = receive.memory.element();
      request.num_sge = 1;
      request.wr_id = kReceiveNumber;
      request.sg_list = &elements[count];
      if (count > 0) requests[count - 1].next = &request;
      ++count;
      with_device_.push_back(std::move(receive));
      waiting_.pop_front();
    }
    ibv_recv_wr* refused = nullptr;
    if (ibv_post_recv(pair_, requests.data(), &refused) != 0) return errc::queue_pair_failed;
  }
  return {};
}

ErrorCode PostedReceives::completed(ErrorCode status, std::size_t length,
                                    std::optional<Stag> invalidated) {
  if (with_device_.empty()) return {};
  Receive& receive = with_device_.front();
  const bool too_long = !status && length > receive.buffer.size();
  if (too_long) status = errc::flushed;
  if (!status) {
    receive.memory.arrived(receive.buffer.bytes(), length);
    receive.buffer.resize(length);
  }
  give_back(receive, status).invalidated = invalidated;
  with_device_.pop_front();
  return too_long ? make_error_code(errc::ddp_untagged_too_long) : ErrorCode();
}

Completion& PostedReceives::give_back(Receive& receive, ErrorCode status) {
  receive.memory = {};
  Completion& completion = completions_.add();
  completion.kind = Completion::Kind::receive;
  completion.id = receive.id;
  completion.status = status;
  completion.buffer = std::move(receive.buffer);
  return completion;
}

void PostedReceives::abandon(ErrorCode why) {
  pair_ = nullptr;
  for (Fifo<Receive>* queue : {&with_device_, &waiting_}) {
    for (; !queue->empty(); queue->pop_front()) give_back(queue->front(), why);
  }
}

}  // namespace openiser::rdmap
