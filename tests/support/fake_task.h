// A SCSI task as a session would hand it to the device server, with the initiator's memory on both
// sides of it, and the checks a session would make.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "iscsi/session/target_session.h"
#include "tests/support/bytes.h"

namespace openiser::test {

// Memory that tasks may take, counted, with a limit.
class FakePool final : public BufferOwner {
 public:
  std::size_t limit = SIZE_MAX;
  std::size_t outstanding = 0;
  std::size_t refusals = 0;

  Buffer take(std::size_t size) {
    if (size > limit - std::min(limit, outstanding)) {
      ++refusals;
      return {};
    }
    outstanding += size;
    return {new std::byte[size], size, this};
  }
  void release(std::byte* block, std::size_t capacity) noexcept override {
    outstanding -= capacity;
    delete[] block;
  }
};

class FakeTask final : public iscsi::TargetTask {
 public:
  FakeTask(iscsi::TaskHandler& task_handler, FakePool& pool, const ByteVector& cdb_bytes)
      : handler_(task_handler), pool_(pool), cdb_(exact(cdb_bytes)) {
    cdb = cdb_;
  }

  // --- set before execute() ---
  ByteVector data_out;            // what the initiator has to write
  std::size_t piece_size = 4096;  // how it comes
  bool hold_data = false;         // keep it until deliver()
  bool may_be_dropped = false;    // release() without abort(): TAS is 0
  bool keep_data_in = false;      // do not give read buffers back (a slow connection)
  std::function<void()> on_end;

  // --- what came of it ---
  std::optional<std::uint8_t> status;
  ByteVector sense;
  std::uint64_t transfer_length = 0;
  ByteVector data_in;
  std::vector<Buffer> kept;
  std::optional<std::uint32_t> asked_for;
  bool released = false;
  bool aborted = false;
  bool ended() const { return status.has_value() || released; }

  std::uint32_t data_in_room() const {
    if (!read) return 0;
    return write ? expected_bidi_read_length : expected_data_transfer_length;
  }

  void execute() { handler_.execute(*this); }
  void abort() {
    aborted = true;
    handler_.abort(*this);
  }
  void deliver() {
    ASSERT_TRUE(asked_for.has_value());
    const std::size_t size =
        std::min<std::size_t>({*asked_for, expected_data_transfer_length, data_out.size()});
    iscsi::DataPieces pieces;
    for (std::size_t at = 0; at < size; at += piece_size) {
      pieces.push_back(
          Buffer::copy_of(Bytes(data_out).subspan(at, std::min(piece_size, size - at))));
    }
    handler_.data_received(*this, pieces);
  }

  // --- TargetTask ---
  void send_data(Buffer data, std::uint32_t offset) override {
    EXPECT_FALSE(ended());
    EXPECT_EQ(offset, sent_) << "ascending, without gaps";
    EXPECT_FALSE(data.empty());
    sent_ = offset + data.size();
    const std::size_t room = data_in_room() - std::min<std::size_t>(data_in_room(), offset);
    const Bytes taken = Bytes(data.bytes()).first(std::min(room, data.size()));
    data_in.insert(data_in.end(), taken.begin(), taken.end());
    if (keep_data_in) kept.push_back(std::move(data));
  }
  void receive_data(std::uint32_t length) override {
    EXPECT_FALSE(asked_for.has_value()) << "at most once";
    EXPECT_GT(length, 0U);
    asked_for = length;
    if (!hold_data) deliver();
  }
  void finish(std::uint8_t end_status, Bytes end_sense, std::uint64_t length) override {
    EXPECT_FALSE(ended());
    status = end_status;
    sense = exact(end_sense);
    transfer_length = length;
    if (on_end) on_end();
  }
  void release() override {
    EXPECT_TRUE(aborted || may_be_dropped);
    EXPECT_FALSE(ended());
    released = true;
    if (on_end) on_end();
  }
  Buffer take_buffer(std::size_t size) override { return pool_.take(size); }

 private:
  iscsi::TaskHandler& handler_;
  FakePool& pool_;
  ByteVector cdb_;
  std::size_t sent_ = 0;
};

}  // namespace openiser::test
