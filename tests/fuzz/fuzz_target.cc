// Anything a logged-in initiator may send over plain iSCSI: framing, session and device server over
// a LUN in memory.
#include <memory>

#include "base/buffer.h"
#include "iscsi/session/target_session.h"
#include "iscsi/tcp_datamover/tcp_datamover.h"
#include "rdmap/tcp/event_loop.h"
#include "target/scsi/nexus.h"
#include "tests/fuzz/stream_feeder.h"

namespace openiser {
namespace {

class Host final : public iscsi::SessionHost {
 public:
  std::vector<iscsi::TargetRecord> send_targets(const std::string&) override {
    return {{"iqn.2026-11.org.example:x", "", {"127.0.0.1:3260,1"}}};
  }
  void session_ended(ErrorCode) override { ended = true; }
  Time now() const override { return Time{std::chrono::hours(1)}; }
  void deadline_changed() override {}
  bool ended = false;
};

// What outlives one input, since it is slow to make.
struct Lasting {
  rdmap::EventLoop loop;
  std::unique_ptr<target::StoreEngine> engine =
      target::StoreEngine::create(loop, target::StoreEngine::Kind::threads);
  std::shared_ptr<target::TargetDevice> device = std::make_shared<target::TargetDevice>();
  Lasting() {
    device->name = "iqn.2026-11.org.example:x";
    device->units[0] =
        target::make_logical_unit(device->name, {}, target::make_memory_store(1 << 20));
  }
};

}  // namespace
}  // namespace openiser

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace openiser;
  if (size < 2) return 0;
  static Lasting lasting;
  iscsi::Parameters parameters;
  parameters.tsih = 1;
  parameters.initial_r2t = (data[0] & 1) != 0;
  parameters.immediate_data = (data[0] & 2) != 0;
  if ((data[0] & 4) != 0) parameters.session_type = iscsi::SessionType::discovery;
  parameters.max_cmd_sn = 64;
  BufferPool pool(std::size_t{64} << 20);
  Host host;
  const auto datamover = iscsi::make_tcp_datamover(iscsi::Role::target, parameters, pool);
  auto nexus = target::make_nexus(lasting.device, {"iqn.i,i,0x00", "iqn.t,t,0x0001", 1},
                                  lasting.loop, *lasting.engine);
  const bool normal = parameters.session_type == iscsi::SessionType::normal;
  const auto session =
      iscsi::TargetSession::create(parameters, *datamover, normal ? nexus.get() : nullptr, host);
  datamover->set_client(session.get());
  fuzz::Feeder feeder(*datamover);
  feeder.feed({reinterpret_cast<const std::byte*>(data) + 2, size - 2},
              std::size_t{1} + data[1] * 16u, host.now());
  if (!host.ended) __builtin_trap();  // the transport is gone: the session must have ended
  return 0;
}
