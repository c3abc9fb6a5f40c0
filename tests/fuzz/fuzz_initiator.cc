// Anything a target may send to a logged-in initiator over plain iSCSI, with tasks of every kind
// under way.
//
// Input: flags, step, then either of, over and over: an even byte and a record of PDUs without
// digests; an odd byte and one that says what the user does (InitiatorEnd::act).
#include "iscsi/tcp_datamover/tcp_datamover.h"
#include "tests/fuzz/digests.h"
#include "tests/fuzz/initiator_end.h"
#include "tests/fuzz/stream_feeder.h"

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
  p.first_burst_length = std::min<std::uint32_t>(p.max_burst_length, 16384);
  p.max_cmd_sn = 8;
  return p;
}

void run(ByteReader in) {
  const iscsi::Parameters parameters = parameters_of(in.u8());
  const std::size_t step = fuzz::step_of(in.u8());
  BufferPool pool(std::size_t{64} << 20);
  {
    const auto datamover = iscsi::make_tcp_datamover(iscsi::Role::initiator, parameters, pool);
    fuzz::InitiatorEnd initiator(parameters, *datamover);
    fuzz::Feeder feeder(*datamover, step, fuzz::kStart);
    while (in.remaining() > 0 && datamover->close_wish() == CloseWish::none) {
      const std::uint8_t kind = in.u8();
      if ((kind & 1) == 0) {
        feeder.feed(fuzz::with_digests(fuzz::take_record(in), parameters));
      } else {
        initiator.act(in.u8());
        initiator.flush();
        feeder.settle();
      }
    }
    feeder.close();
  }
  fuzz::require(pool.outstanding() == 0);
}

}  // namespace
}  // namespace openiser

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size >= 2) openiser::run(openiser::fuzz::input_of(data, size));
  return 0;
}
