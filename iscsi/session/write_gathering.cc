#include "iscsi/session/write_gathering.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "base/assert.h"

namespace openiser::iscsi {

void WriteGathering::begin(const Parameters& parameters, std::uint32_t expected_length,
                           bool final) {
  parameters_ = &parameters;
  expected_ = expected_length;
  wanted_ = unsolicited_ = next_data_sn_ = outstanding_ = 0;
  unsolicited_limit_ = std::min(parameters.first_burst_length, expected_length);
  // F=0 with InitialR2T=Yes announces data that may not come; if it does, that is the error.
  open_ = !final && !parameters.initial_r2t;
  want_known_ = abandoned_ = taken_ = has_memory_ = false;
  pieces_.clear();
  parts_.clear();
  next_part_ = oldest_part_ = 0;
}

std::optional<Condition> WriteGathering::add_immediate(Buffer data) {
  if (data.empty()) return {};
  if (!parameters_->immediate_data) return Condition::unexpected_unsolicited_data;
  return add_unsolicited(std::move(data));
}

std::optional<Condition> WriteGathering::add_data_out(const DataOut& header, Buffer data) {
  if (!open_) return Condition::unexpected_unsolicited_data;
  if (header.final) open_ = false;
  if (abandoned_) return {};
  if (header.data_sn != next_data_sn_++) return Condition::protocol_service_crc;
  // DataPDUInOrder=Yes is what we negotiate (section 11.7.6).
  if (header.buffer_offset != unsolicited_) return Condition::incorrect_amount_of_data;
  if (const auto fault = add_unsolicited(std::move(data))) return fault;
  return open_ ? std::nullopt : close_unsolicited();
}

std::optional<Condition> WriteGathering::add_unsolicited(Buffer data) {
  if (data.size() > unsolicited_limit_ - unsolicited_) return Condition::incorrect_amount_of_data;
  unsolicited_ += static_cast<std::uint32_t>(data.size());
  if (!taken_ && !abandoned_ && !data.empty()) pieces_.push_back(std::move(data));
  return {};
}

// Section 11.4.7.2: who sends Data-Outs unasked sends FirstBurstLength, if there is so much.
std::optional<Condition> WriteGathering::close_unsolicited() {
  if (expected_ > parameters_->first_burst_length && unsolicited_ != unsolicited_limit_)
    return Condition::incorrect_amount_of_data;
  return {};
}

void WriteGathering::want(std::uint32_t length) {
  ISER_ASSERT(!want_known_);
  want_known_ = true;
  wanted_ = std::min(length, expected_);
}

std::size_t WriteGathering::memory_needed() const {
  if (!want_known_ || open_ || abandoned_ || has_memory_ || unsolicited_ >= wanted_) return 0;
  static constexpr std::uint32_t kLeastBlock = 256;  // as BufferPool rounds
  const auto block = [](std::uint32_t n) {
    return std::size_t{std::bit_ceil(std::max(n, kLeastBlock))};
  };
  const std::uint32_t burst = parameters_->max_burst_length;
  const std::uint32_t solicited = wanted_ - unsolicited_;
  const std::uint32_t rest = solicited % burst;
  return solicited / burst * block(burst) + (rest == 0 ? 0 : block(rest));
}

// Section 11.8.4: at most MaxBurstLength an R2T.
bool WriteGathering::take_memory(BufferPool& pool) {
  for (std::uint32_t offset = unsolicited_; offset < wanted_;) {
    const std::uint32_t length = std::min(wanted_ - offset, parameters_->max_burst_length);
    Buffer buffer = pool.take(length);
    if (!buffer) {
      parts_.clear();
      return false;
    }
    parts_.push_back({offset, length, 0, std::move(buffer), false});
    offset += length;
  }
  has_memory_ = true;
  return true;
}

std::optional<WriteGathering::Request> WriteGathering::next_request(std::uint32_t r2t_sn) {
  if (!has_memory_ || abandoned_ || next_part_ == parts_.size()) return {};
  if (outstanding_ >= parameters_->max_outstanding_r2t) return {};
  Part& part = parts_[next_part_++];
  part.r2t_sn = r2t_sn;
  ++outstanding_;
  return Request{part.offset, part.length, std::move(part.buffer)};
}

void WriteGathering::fulfilled(std::uint32_t r2t_sn, Buffer data) {
  for (std::size_t i = oldest_part_; i < next_part_; ++i) {
    Part& part = parts_[i];
    if (part.r2t_sn != r2t_sn || part.arrived) continue;
    part.arrived = true;
    --outstanding_;
    if (data.size() != part.length) abandoned_ = true;
    if (!abandoned_) part.buffer = std::move(data);
    break;
  }
  while (oldest_part_ < next_part_ && parts_[oldest_part_].arrived) ++oldest_part_;
}

bool WriteGathering::complete() const {
  if (!want_known_ || taken_ || abandoned_) return false;
  if (unsolicited_ >= wanted_) return true;
  return !parts_.empty() && oldest_part_ == parts_.size();
}

void WriteGathering::take(DataPieces& data) {
  ISER_ASSERT(complete() && data.empty());
  taken_ = true;
  data.swap(pieces_);
  for (Part& part : parts_) data.push_back(std::move(part.buffer));
  std::uint32_t left = wanted_;
  for (Buffer& piece : data) {
    if (piece.size() > left) piece.resize(left);
    left -= static_cast<std::uint32_t>(piece.size());
  }
  while (!data.empty() && data.back().empty()) data.pop_back();
}

void WriteGathering::abandon() {
  abandoned_ = true;
  pieces_.clear();
  for (Part& part : parts_) part.buffer.reset();
}

}  // namespace openiser::iscsi
