// Anything an initiator may send before it has logged in.
#include "iscsi/login/login.h"
#include "iscsi/login/stream_login_channel.h"
#include "tests/fuzz/stream_feeder.h"

namespace openiser {
namespace {

class Target final : public iscsi::StreamLoginChannel::Client, public iscsi::LoginAuthority {
 public:
  explicit Target(Time now, bool rdma)
      : now_(now), channel_(*this), login_(preferences(), *this, rdma, now) {}
  iscsi::StreamLoginChannel& channel() { return channel_; }

  Verdict identify(const Request&) override { return {}; }
  void login_stream_failed(ErrorCode) override {}
  void login_pdu(iscsi::ControlPdu pdu) override {
    if (over_) return;
    iscsi::LoginStep step = login_.receive(pdu, now_);
    if (step.outcome == iscsi::LoginStep::Outcome::authorize) step = login_.grant(1, 64);
    if (step.send) channel_.send(std::move(*step.send));
    over_ = step.outcome != iscsi::LoginStep::Outcome::going_on;
    if (over_) channel_.close();
  }

 private:
  static iscsi::Preferences preferences() {
    iscsi::Preferences wanted;
    wanted.rdma_extensions = true;
    wanted.header_digest_crc32c = wanted.data_digest_crc32c = true;
    return wanted;
  }
  const Time now_;
  bool over_ = false;
  iscsi::StreamLoginChannel channel_;
  iscsi::TargetLogin login_;
};

}  // namespace
}  // namespace openiser

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace openiser;
  if (size < 2) return 0;
  const Time now{std::chrono::hours(1)};
  Target target(now, (data[0] & 1) != 0);
  fuzz::Feeder feeder(target.channel());
  feeder.feed({reinterpret_cast<const std::byte*>(data) + 2, size - 2},
              std::size_t{1} + data[1] * 16u, now);
  return 0;
}
