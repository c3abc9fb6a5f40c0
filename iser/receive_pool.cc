#include "iser/receive_pool.h"

#include <algorithm>
#include <bit>

#include "iscsi/pdu/ahs.h"
#include "iser/header.h"

namespace openiser::iser {
namespace {

// Receives for unexpected PDUs where we declared no limit, and the most where we declared one.
constexpr std::uint32_t kUndeclaredUnexpected = 32;
constexpr std::uint32_t kMostUnexpected = 1024;
// NOP-Outs that answer our pings, a Logout, and the like.
constexpr std::uint32_t kMargin = 8;
constexpr std::size_t kDataOutMemory = std::size_t{4} << 20;

// Section 8.1.1.2 a: unsolicited Data-Outs are bounded by FirstBurstLength, a command.
std::uint32_t data_outs(const Settings& settings, const iscsi::Parameters& parameters,
                        std::size_t size) {
  if (settings.role == Role::initiator || parameters.initial_r2t) return 0;
  const std::uint32_t segment = std::max(parameters.max_recv_data_segment_length, 1u);
  const std::uint64_t each = (std::uint64_t{parameters.first_burst_length} + segment - 1) / segment;
  const std::uint64_t affordable = kDataOutMemory / std::bit_ceil(size);
  return static_cast<std::uint32_t>(std::min(each * settings.command_window, affordable));
}

}  // namespace

std::size_t receive_size(Dialect dialect, std::size_t length) {
  return facts(dialect).header_size + iscsi::kBhsSize + iscsi::kMaxTotalAhs + length + pad4(length);
}

ReceivePlan receive_plan(const Settings& settings, const iscsi::Parameters& parameters) {
  const std::uint32_t declared = parameters.own_max_outstanding_unexpected_pdus;
  const std::uint32_t unexpected =
      declared == 0 ? kUndeclaredUnexpected : std::min(declared, kMostUnexpected);
  ReceivePlan plan;
  plan.size = receive_size(settings.dialect, parameters.max_recv_data_segment_length);
  plan.spare = unexpected + kMargin;
  plan.count = settings.command_window + plan.spare + data_outs(settings, parameters, plan.size);
  return plan;
}

void ReceivePool::provide(std::uint32_t count) {
  wanted_ = std::max(wanted_, count);
  replenish();
}

bool ReceivePool::replenish() {
  while (posted_ < wanted_) {
    Buffer buffer = pool_.take(size_);
    if (!buffer) return false;
    post(std::move(buffer));
  }
  return true;
}

void ReceivePool::recycle(Buffer buffer) {
  if (posted_ >= wanted_) return;
  buffer.reset_window();
  if (buffer.size() < size_) return;
  buffer.resize(size_);
  post(std::move(buffer));
}

void ReceivePool::post(Buffer buffer) {
  ++posted_;
  queue_pair_.post_receive(std::move(buffer), 0);
}

}  // namespace openiser::iser
