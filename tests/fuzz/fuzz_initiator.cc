// Anything a target may send to a logged-in initiator over plain iSCSI, with tasks of every kind
// under way.
//
// Input: flags, step, then either of, over and over: an even byte and a record of PDUs without
// digests; an odd byte and one that says what the user does (InitiatorEnd::act).
#include "iscsi/tcp_datamover/tcp_datamover.h"
#include "tests/fuzz/digests.h"
#include "tests/fuzz/initiator_end.h"
#include "tests/fuzz/parameters.h"
#include "tests/fuzz/stream_feeder.h"

namespace openiser {
namespace {

void run(ByteReader in) {
  const iscsi::Parameters parameters = fuzz::parameters_of(in.u8(), 16384, 8);
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
