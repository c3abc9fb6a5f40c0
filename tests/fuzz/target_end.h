// The target's side of a session: session and device server over logical units in memory.
#pragma once

#include <memory>

#include "iscsi/session/target_session.h"
#include "rdmap/tcp/event_loop.h"
#include "target/scsi/nexus.h"
#include "tests/fuzz/input.h"

namespace openiser::fuzz {

class TargetEnd final : public iscsi::SessionHost {
 public:
  // Needs `datamover` for as long as it lives.
  TargetEnd(const iscsi::Parameters& parameters, iscsi::Datamover& datamover)
      : nexus_(nexus_of("iqn.i,i,0x00")), bystander_(nexus_of("iqn.j,i,0x00")) {
    iscsi::TargetSessionLimits limits;
    limits.command_window = 64;
    limits.buffer_bytes = std::size_t{512} << 10;
    const bool normal = parameters.session_type == iscsi::SessionType::normal;
    session_ = iscsi::TargetSession::create(parameters, datamover, normal ? nexus_.get() : nullptr,
                                            *this, limits);
  }
  iscsi::TargetSession& session() { return *session_; }
  bool ended() const { return ended_ > 0; }

  // What nexus and stores have put off.
  void turn() {
    loop().post([] { loop().stop(); });
    loop().run();
  }
  void pass_time(Duration some) {
    now_ += some;
    if (const auto deadline = session_->deadline(); deadline && *deadline <= now_)
      session_->expired(now_);
  }
  // Something that happens at the target by itself.
  void act(std::uint8_t what) {
    switch (what % 4) {
      case 0:
        return session_->request_logout(std::chrono::seconds(5));
      case 1:
        return session_->report_event({}, as_bytes("sense"));
      case 2:
        return pass_time(std::chrono::seconds(31));
      default:
        return session_->end(iscsi::errc::reinstated);
    }
  }

  std::vector<iscsi::TargetRecord> send_targets(const std::string& name) override {
    return {{name.empty() ? "iqn.2026-11.org.example:x" : name, "", {"127.0.0.1:3260,1"}}};
  }
  void session_ended(ErrorCode) override { require(++ended_ == 1); }
  Time now() const override { return now_; }
  void deadline_changed() override {}

 private:
  // Slow to make, and without a memory of inputs.
  static rdmap::EventLoop& loop() {
    static rdmap::EventLoop loop;
    return loop;
  }
  static target::StoreEngine& engine() {
    static const auto engine =
        target::StoreEngine::create(loop(), target::StoreEngine::Kind::threads);
    return *engine;
  }
  std::unique_ptr<iscsi::TaskHandler> nexus_of(const char* initiator_port) {
    return target::make_nexus(device_, {initiator_port, "iqn.t,t,0x0001", 1}, loop(), engine());
  }
  // LUN 0: 64 KiB in memory; LUN 1: nothing behind 1 TiB of large blocks.
  static std::shared_ptr<target::TargetDevice> device() {
    auto device = std::make_shared<target::TargetDevice>();
    device->name = "iqn.2026-11.org.example:x";
    device->units[0] =
        target::make_logical_unit(device->name, {}, target::make_memory_store(1 << 16));
    target::LogicalUnitSettings large;
    large.lun = 1;
    large.block_size = 4096;
    device->units[1] = target::make_logical_unit(device->name, large,
                                                 target::make_null_store(std::uint64_t{1} << 40));
    return device;
  }

  Time now_ = kStart;
  int ended_ = 0;
  const std::shared_ptr<target::TargetDevice> device_ = device();
  std::unique_ptr<iscsi::TaskHandler> nexus_;
  // Another initiator's, which hears of what this one does to the units.
  std::unique_ptr<iscsi::TaskHandler> bystander_;
  std::unique_ptr<iscsi::TargetSession> session_;
};

}  // namespace openiser::fuzz
