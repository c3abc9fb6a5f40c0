// Anything a peer may send to our RDMAP, from its first byte: MPA start-up, FPDUs, DDP, RDMAP.
//
// Input: flags, step, then either the stream as it is, or (framed) records: ULPDUs that are put
// into FPDUs with markers and CRC as agreed behind a good MPA frame. STags: see fixed_random.cc; of
// three regions of 4 KiB the first is for both, the second for reads, the third for writes.
#include "rdmap/iwarp.h"

#include <array>
#include <memory>
#include <vector>

#include "rdmap/wire/fpdu.h"
#include "rdmap/wire/mpa_frame.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/stream_feeder.h"

namespace openiser {
namespace {

enum Flags : std::uint8_t {
  crc = 1,
  markers = 2,
  initiator = 4,
  framed = 8,
  peer_to_peer = 16,
  revision_1 = 32,
  revision_0 = 64,
  small_segments = 128,
};

// Does what the first byte of each message it gets says; counts leases.
class Client final : public rdmap::QueuePairClient {
 public:
  explicit Client(rdmap::QueuePair& queue_pair) : queue_pair_(queue_pair) {
    constexpr rdmap::Access kAccess[] = {rdmap::Access::remote_read_write,
                                         rdmap::Access::remote_read, rdmap::Access::remote_write};
    for (std::size_t i = 0; i < regions_.size(); ++i)
      regions_[i] = *queue_pair.register_memory(memory_[i], kAccess[i]);
  }
  void post_receive() {
    if (posted_ > 200) return;
    ++posted_;
    queue_pair_.post_receive(Buffer::allocate(2048), 0);
  }
  // Every lease came back, and the end was told.
  void check() const { fuzz::require(posted_ == completed_ && ended_ == 1); }

  void established(const rdmap::Established&) override {
    fuzz::require(!established_ && ended_ == 0);
    established_ = true;
    read(64);
    queue_pair_.flush();
  }
  void completions_ready() override {
    std::array<rdmap::Completion, 8> done;
    while (const std::size_t n = queue_pair_.poll(done)) {
      for (std::size_t i = 0; i < n; ++i) completed(done[i]);
    }
    queue_pair_.flush();
  }
  void disconnected(ErrorCode) override {
    ++ended_;
    completions_ready();
  }

 private:
  void completed(rdmap::Completion& completion) {
    ++completed_;
    fuzz::require(static_cast<bool>(completion.buffer));
    if (completion.kind != rdmap::Completion::Kind::receive || completion.status || ended_ > 0)
      return;
    const Bytes message = completion.buffer.bytes();
    post_receive();
    if (!message.empty()) act(load_u8(message.data()));
  }
  void act(std::uint8_t what) {
    const std::uint32_t size = 1u << (what >> 4);
    switch (what & 7) {
      case 0:
        ++posted_;
        return queue_pair_.post_send({.id = 0,
                                      .head = Buffer::allocate(size),
                                      .body = Buffer::wrap(Bytes(memory_[1]).first(64)),
                                      .invalidate = {},
                                      .solicited_event = false});
      case 1:
        ++posted_;
        return queue_pair_.post_write({0, Buffer::allocate(size), {rdmap::Stag{7}, 0}});
      case 2:
        return read(size);
      case 3:
        return regions_[(what >> 4) % regions_.size()].invalidate();
      case 4:
        return queue_pair_.disconnect();
      default:
        return;
    }
  }
  void read(std::size_t size) {
    ++posted_;
    queue_pair_.post_read({0, Buffer::allocate(size), {rdmap::Stag{7}, 0}});
  }

  rdmap::QueuePair& queue_pair_;
  std::array<std::array<std::byte, 4096>, 3> memory_{};
  std::array<rdmap::MemoryRegion, 3> regions_;
  std::size_t posted_ = 0;
  std::size_t completed_ = 0;
  bool established_ = false;
  int ended_ = 0;
};

rdmap::MpaSettings settings_of(std::uint8_t flags) {
  rdmap::MpaSettings settings;
  settings.crc = (flags & crc) != 0;
  settings.markers = (flags & markers) != 0;
  settings.peer_to_peer = (flags & peer_to_peer) != 0;
  if ((flags & revision_1) != 0) settings.revision = 1;
  if ((flags & revision_0) != 0) settings.revision = 0;
  if ((flags & small_segments) != 0) settings.emss = 256;
  settings.zero_based_offsets = true;
  settings.max_regions = 15;
  settings.inbound_reads = settings.outbound_reads = 4;
  return settings;
}

void feed_framed(ByteReader in, const rdmap::MpaSettings& settings, bool reply,
                 fuzz::Feeder& feeder) {
  rdmap::MpaFrame frame;
  frame.kind = reply ? rdmap::MpaFrameKind::reply : rdmap::MpaFrameKind::request;
  frame.crc = settings.crc || settings.revision == 0;
  frame.markers = settings.markers || settings.revision == 0;
  frame.revision = settings.revision;
  if (frame.revision == 2)
    frame.enhanced = {{.peer_to_peer = settings.peer_to_peer,
                       .rtr = {.send = true, .write = true, .read = true},
                       .ird = 4,
                       .ord = 4}};
  feeder.feed(encode(frame));
  // A responder is as good as its settings; at revision 0 both sides have markers and CRC.
  rdmap::FpduEncoder encoder(frame.crc, frame.markers);
  while (in.remaining() > 0) {
    OutputQueue out;
    const Bytes ulpdu = fuzz::take_record(in);
    encoder.append(out, {}, ulpdu.first(std::min<std::size_t>(ulpdu.size(), rdmap::kMaxUlpdu)));
    std::vector<std::byte> fpdu(out.size());
    std::array<Bytes, 1024> pieces;
    std::size_t at = 0;
    const std::size_t n = out.gather(pieces);
    for (std::size_t i = 0; i < n; ++i) {
      std::memcpy(fpdu.data() + at, pieces[i].data(), pieces[i].size());
      at += pieces[i].size();
    }
    feeder.feed(Bytes(fpdu).first(at));
  }
}

void run(ByteReader in) {
  const std::uint8_t flags = in.u8();
  const std::size_t step = fuzz::step_of(in.u8());
  const rdmap::MpaSettings settings = settings_of(flags);
  const bool starts = (flags & initiator) != 0;
  const auto queue_pair = rdmap::make_iwarp_queue_pair(
      starts ? rdmap::MpaRole::initiator : rdmap::MpaRole::responder, settings, fuzz::kStart);
  Client client(*queue_pair);
  queue_pair->set_client(&client);
  for (int i = 0; i < 8; ++i) client.post_receive();
  fuzz::Feeder feeder(*queue_pair, step, fuzz::kStart);
  if ((flags & framed) != 0) {
    feed_framed(in, settings, starts, feeder);
  } else {
    feeder.feed(in.rest());
  }
  feeder.pass_time(std::chrono::seconds(20));
  feeder.close();
  client.check();
}

}  // namespace
}  // namespace openiser

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size >= 2) openiser::run(openiser::fuzz::input_of(data, size));
  return 0;
}
