// The other end of an iSER connection: a queue pair that does what an input says.
#pragma once

#include <array>
#include <vector>

#include "rdmap/loopback/loopback.h"
#include "tests/fuzz/input.h"

namespace openiser::fuzz {

class IserPeer final : public rdmap::QueuePairClient {
 public:
  explicit IserPeer(rdmap::QueuePair& queue_pair) : queue_pair_(queue_pair), memory_(32768) {
    queue_pair.set_client(this);
    for (int i = 0; i < 64; ++i) queue_pair.post_receive(Buffer::allocate(16384), 0);
    for (auto& region : regions_)
      region = *queue_pair.register_memory(memory_, rdmap::Access::remote_read_write);
  }

  // Sends `message`, or with `invalidates` what follows the STag in it.
  void send(ByteReader message, bool invalidates) {
    rdmap::SendWork work;
    if (invalidates) work.invalidate = rdmap::Stag{message.be32()};
    work.head = Buffer::copy_of(message.rest());
    queue_pair_.post_send(std::move(work));
  }
  // An STag, an offset, and the data.
  void write(ByteReader what) {
    const rdmap::Stag stag{what.be32()};
    const std::uint64_t offset = what.be16();
    queue_pair_.post_write({0, Buffer::copy_of(what.rest()), {stag, offset}});
  }
  // An STag, an offset, a length.
  void read(ByteReader what) {
    const rdmap::Stag stag{what.be32()};
    const std::uint64_t offset = what.be16();
    queue_pair_.post_read({0, Buffer::allocate(what.be16()), {stag, offset}});
  }
  void disconnect() { queue_pair_.disconnect(); }
  void revoke() {
    for (auto& region : regions_) region.invalidate();
  }

  void established(const rdmap::Established&) override {}
  void completions_ready() override {
    std::array<rdmap::Completion, 16> done;
    while (const std::size_t n = queue_pair_.poll(done)) {
      for (std::size_t i = 0; i < n; ++i) {
        rdmap::Completion& one = done[i];
        if (one.kind != rdmap::Completion::Kind::receive || one.status) continue;
        one.buffer.reset_window();
        queue_pair_.post_receive(std::move(one.buffer), 0);
      }
    }
  }
  void disconnected(ErrorCode) override { completions_ready(); }

 private:
  rdmap::QueuePair& queue_pair_;
  std::vector<std::byte> memory_;
  // All of the same memory: a target may invalidate what a command names.
  std::array<rdmap::MemoryRegion, 16> regions_;
};

}  // namespace openiser::fuzz
