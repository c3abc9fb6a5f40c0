// Anything a logged-in initiator may send over plain iSCSI: framing, session and device server over
// LUNs in memory.
//
// Input: flags, step, what the target does by itself at the end (with the top bit the initiator
// takes no answers before), then the stream without digests. With step 0 all of it was read before
// the end of the login.
#include "iscsi/tcp_datamover/tcp_datamover.h"
#include "tests/fuzz/digests.h"
#include "tests/fuzz/stream_feeder.h"
#include "tests/fuzz/target_end.h"

namespace openiser {
namespace {

iscsi::Parameters parameters_of(std::uint8_t flags) {
  iscsi::Parameters p;
  p.tsih = 1;
  p.initial_r2t = (flags & 1) != 0;
  p.immediate_data = (flags & 2) != 0;
  if ((flags & 4) != 0) p.session_type = iscsi::SessionType::discovery;
  if ((flags & 8) != 0) p.header_digest = iscsi::Digest::crc32c;
  if ((flags & 16) != 0) p.data_digest = iscsi::Digest::crc32c;
  if ((flags & 32) != 0) p.max_send_data_segment_length = p.max_burst_length = 512;
  if ((flags & 64) != 0) p.max_outstanding_r2t = 4;
  if ((flags & 128) != 0) p.protocol_level = 2;
  p.first_burst_length = std::min<std::uint32_t>(p.max_burst_length, 2048);
  p.max_cmd_sn = 64;
  return p;
}

void run(ByteReader in) {
  const iscsi::Parameters parameters = parameters_of(in.u8());
  const std::size_t step = fuzz::step_of(in.u8());
  const std::uint8_t act = in.u8();
  BufferPool pool(std::size_t{64} << 20);
  {
    const auto stream = fuzz::with_digests(in.rest(), parameters);
    const bool already_read = step == 1;
    const auto datamover =
        iscsi::make_tcp_datamover(iscsi::Role::target, parameters, pool, {},
                                  already_read ? stream : std::vector<std::byte>());
    fuzz::TargetEnd target(parameters, *datamover);
    fuzz::Feeder feeder(*datamover, step, fuzz::kStart);
    feeder.stall((act & 0x80) != 0);
    if (!already_read) feeder.feed(stream);
    target.turn();
    feeder.settle();
    feeder.stall(false);
    feeder.settle();
    target.turn();
    feeder.settle();
    if ((act & 0x7f) > 0 && !target.ended()) target.act(act);
    target.turn();
    feeder.settle();
    feeder.close();
    target.turn();
    fuzz::require(target.ended());
  }
  fuzz::require(pool.outstanding() == 0);
}

}  // namespace
}  // namespace openiser

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size >= 3) openiser::run(openiser::fuzz::input_of(data, size));
  return 0;
}
