// Anything a peer may send to our RDMAP, from its first byte: MPA start-up, FPDUs, DDP, RDMAP.
//
// Input: flags, step, then either the stream as it is (with step 0 all of it was read before the
// change into MPA mode), or (framed) records: ULPDUs that are put
// into FPDUs with markers and CRC as agreed behind a good MPA frame. STags: see fixed_random.cc; of
// three regions of 64 KiB the first is for both, the second for reads, the third for writes.
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

// Of a stream made of records, about.
constexpr std::size_t kMostFramed = std::size_t{1} << 20;

// Does what the first byte of each message it gets says; counts leases.
class Client final : public rdmap::QueuePairClient {
 public:
  explicit Client(rdmap::QueuePair& queue_pair) : queue_pair_(queue_pair) {
    for (std::size_t i = 0; i < regions_.size(); ++i) open_region(i);
  }
  void post_receive() {
    if (posted_ > 200) return;
    queue_pair_.post_receive(Buffer::allocate(posted_ % 4 == 3 ? 32768 : 2048), 0);
    ++posted_;
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
      case 5:
        return open_region((what >> 4) % regions_.size());
      case 6:
        ++posted_;
        return queue_pair_.post_send({.id = 0,
                                      .head = Buffer::allocate(size),
                                      .body = {},
                                      .invalidate = rdmap::Stag{7},
                                      .solicited_event = (what & 8) != 0});
      default:
        return;
    }
  }
  void open_region(std::size_t i) {
    constexpr rdmap::Access kAccess[] = {rdmap::Access::remote_read_write,
                                         rdmap::Access::remote_read,
                                         rdmap::Access::remote_write_fresh};
    regions_[i] = *queue_pair_.register_memory(memory_[i], kAccess[i]);
  }
  void read(std::size_t size) {
    ++posted_;
    queue_pair_.post_read({0, Buffer::allocate(size), {rdmap::Stag{7}, 0}});
  }

  rdmap::QueuePair& queue_pair_;
  // What is in it makes no difference.
  static inline std::array<std::array<std::byte, 65536>, 3> memory_;
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
  settings.inbound_reads = settings.outbound_reads = (flags & small_segments) != 0 ? 4 : 128;
  return settings;
}

rdmap::MpaAnswer answer(Bytes private_data) {
  rdmap::MpaAnswer answer;
  answer.reject = !private_data.empty() && load_u8(private_data.data()) == 'R';
  answer.private_data.assign(private_data.begin(), private_data.end());
  return answer;
}

std::vector<std::byte> framed_stream(ByteReader in, const rdmap::MpaSettings& settings,
                                     bool reply) {
  rdmap::MpaFrame frame;
  frame.kind = reply ? rdmap::MpaFrameKind::reply : rdmap::MpaFrameKind::request;
  frame.crc = settings.crc || settings.revision == 0;
  frame.markers = settings.markers || settings.revision == 0;
  frame.revision = settings.revision;
  if (frame.revision == 2)
    frame.enhanced = {{.peer_to_peer = settings.peer_to_peer,
                       .rtr = {.send = true, .write = true, .read = true},
                       .ird = 128,
                       .ord = 128}};
  std::vector<std::byte> stream = encode(frame);
  // A responder is as good as its settings; at revision 0 both sides have markers and CRC.
  rdmap::FpduEncoder encoder(frame.crc, frame.markers);
  while (in.remaining() > 0 && stream.size() < kMostFramed) {
    OutputQueue out;
    const std::vector<std::byte> ulpdu = fuzz::take_expanded(in);
    encoder.append(out, {}, Bytes(ulpdu));
    while (!out.empty()) {
      Bytes piece;
      out.gather({&piece, 1});
      stream.insert(stream.end(), piece.begin(), piece.end());
      out.consume(piece.size());
    }
  }
  return stream;
}

void run(ByteReader in) {
  const std::uint8_t flags = in.u8();
  const std::size_t step = fuzz::step_of(in.u8());
  const rdmap::MpaSettings settings = settings_of(flags);
  const bool starts = (flags & initiator) != 0;
  rdmap::Upgrade upgrade;
  if (step == 1 && (flags & framed) == 0)
    upgrade.already_read.assign(in.rest().begin(), in.rest().end());
  const auto queue_pair =
      rdmap::make_iwarp_queue_pair(starts ? rdmap::MpaRole::initiator : rdmap::MpaRole::responder,
                                   settings, fuzz::kStart, upgrade, answer);
  Client client(*queue_pair);
  queue_pair->set_client(&client);
  for (int i = 0; i < 24; ++i) client.post_receive();
  fuzz::Feeder feeder(*queue_pair, step, fuzz::kStart);
  if ((flags & framed) != 0) {
    feeder.feed(framed_stream(in, settings, starts));
  } else if (upgrade.already_read.empty()) {
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
