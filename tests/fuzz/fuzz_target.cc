// Anything a logged-in initiator may send over plain iSCSI: framing, session and device server over
// LUNs in memory.
//
// Input: flags, step, what the target does by itself at the end (with the top bit the initiator
// takes no answers before), then the stream without digests. With step 0 all of it was read before
// the end of the login.
#include "iscsi/tcp_datamover/tcp_datamover.h"
#include "tests/fuzz/digests.h"
#include "tests/fuzz/parameters.h"
#include "tests/fuzz/stream_feeder.h"
#include "tests/fuzz/target_end.h"

namespace openiser {
namespace {

void run(ByteReader in) {
  const iscsi::Parameters parameters = fuzz::parameters_of(in.u8(), 2048, 64);
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
