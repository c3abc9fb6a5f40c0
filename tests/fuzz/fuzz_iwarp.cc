// Anything a peer may send to our RDMAP, from its first byte: MPA start-up, FPDUs, DDP, RDMAP.
#include <array>
#include <memory>
#include <vector>

#include "rdmap/iwarp.h"
#include "tests/fuzz/stream_feeder.h"

namespace openiser {
namespace {

class Client final : public rdmap::QueuePairClient {
 public:
  explicit Client(rdmap::QueuePair& queue_pair) : queue_pair_(queue_pair), memory_(8192) {}
  void established(const rdmap::Established&) override {
    region_ = *queue_pair_.register_memory(memory_, rdmap::Access::remote_read_write);
    queue_pair_.post_read({1, Buffer::allocate(4096), {rdmap::Stag{7}, 0}});
    queue_pair_.flush();
  }
  void completions_ready() override {
    std::array<rdmap::Completion, 8> done;
    while (queue_pair_.poll(done) > 0) {
    }
  }
  void disconnected(ErrorCode) override { completions_ready(); }

 private:
  rdmap::QueuePair& queue_pair_;
  std::vector<std::byte> memory_;
  rdmap::MemoryRegion region_;
};

}  // namespace
}  // namespace openiser

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace openiser;
  if (size < 2) return 0;
  rdmap::MpaSettings settings;
  settings.crc = (data[0] & 1) != 0;
  settings.markers = (data[0] & 2) != 0;
  settings.zero_based_offsets = true;
  const auto role = (data[0] & 4) != 0 ? rdmap::MpaRole::initiator : rdmap::MpaRole::responder;
  const Time now{std::chrono::hours(1)};
  const auto queue_pair = rdmap::make_iwarp_queue_pair(role, settings, now);
  Client client(*queue_pair);
  queue_pair->set_client(&client);
  for (rdmap::WorkId i = 0; i < 4; ++i) queue_pair->post_receive(Buffer::allocate(512), i);
  fuzz::Feeder feeder(*queue_pair);
  feeder.feed({reinterpret_cast<const std::byte*>(data) + 2, size - 2},
              std::size_t{1} + data[1] * 16u, now);
  return 0;
}
