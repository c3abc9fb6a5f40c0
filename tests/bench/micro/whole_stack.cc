#include "tests/bench/micro/whole_stack.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "iscsi/recorder.h"
#include "iscsi/session/initiator_session.h"
#include "iscsi/session/target_session.h"
#include "iscsi/tcp_datamover/tcp_datamover.h"
#include "iser/iser_datamover.h"
#include "iser/iser_endpoint.h"
#include "rdmap/iwarp.h"
#include "target/scsi/nexus.h"

namespace openiser::bench {
namespace {

constexpr std::uint32_t kWindow = 128;
constexpr std::uint32_t kLoopbackSegment = 65483;
constexpr const char* kTarget = "iqn.2026-11.org.example:x";

bool is_iser(Wire wire) {
  return wire == Wire::iser || wire == Wire::iser_no_crc;
}

// What `iser` and `iser-targetd` agree on when nobody has configured anything.
iscsi::Parameters parameters_of(Wire wire) {
  iscsi::Parameters p;
  p.initiator_name = "iqn.2026-11.org.example:i";
  p.target_name = kTarget;
  p.tsih = 1;
  p.initial_r2t = false;
  p.max_burst_length = 1u << 20;
  p.max_outstanding_r2t = 8;
  p.max_cmd_sn = kWindow;
  if (is_iser(wire)) {
    p.rdma_extensions = p.peer_knows_rfc7145 = true;
  } else {
    p.max_send_data_segment_length = p.max_recv_data_segment_length = 262144;
  }
  if (wire == Wire::plain_digests) p.header_digest = p.data_digest = iscsi::Digest::crc32c;
  return p;
}

class FixedClock final : public Clock {
 public:
  Time now() const override { return kNow; }
};

// One end's way from a datamover to bytes.
class Transport {
 public:
  Transport(Wire wire, bool is_target) {
    const iscsi::Parameters parameters = parameters_of(wire);
    if (is_iser(wire)) {
      make_iser(parameters, wire == Wire::iser, is_target);
    } else {
      plain_ = iscsi::make_tcp_datamover(is_target ? iscsi::Role::target : iscsi::Role::initiator,
                                         parameters, pool_);
      recorder_.emplace(*plain_, clock_);
    }
  }
  iscsi::Datamover& datamover() { return *recorder_; }
  StreamEndpoint& endpoint() {
    if (plain_) return *plain_;
    return *endpoint_;
  }
  // The session has been made.
  void enable() {
    if (iser_) iser_->enable_datamover(*recorder_);
  }

 private:
  void make_iser(const iscsi::Parameters& parameters, bool crc, bool is_target) {
    rdmap::MpaSettings mpa;
    mpa.crc = crc;
    mpa.emss = kLoopbackSegment;
    auto queue_pair = rdmap::make_iwarp_queue_pair(
        is_target ? rdmap::MpaRole::responder : rdmap::MpaRole::initiator, mpa, kNow);
    StreamEndpoint& stream = *queue_pair;
    iser::Settings settings;
    settings.role = is_target ? iser::Role::target : iser::Role::initiator;
    settings.command_window = kWindow;
    iser_ = iser::IserConnection::create(std::move(queue_pair), settings, pool_, nullptr);
    ISER_ASSERT(iser_->allocate_connection_resources(parameters));
    endpoint_.emplace(stream, *iser_);
    recorder_.emplace(*iser_, clock_);
  }

  FixedClock clock_;
  BufferPool pool_;
  std::unique_ptr<iscsi::TcpDatamover> plain_;
  std::unique_ptr<iser::IserConnection> iser_;
  std::optional<iser::IserEndpoint> endpoint_;
  std::optional<iscsi::Recorder> recorder_;
};

class Target final : public iscsi::SessionHost {
 public:
  Target(Wire wire, Medium medium, std::uint64_t bytes)
      : nexus_(target::make_nexus(device_of(medium, bytes), {"iqn.i,i,0x00", "iqn.t,t,0x0001", 1},
                                  loop_, *engine_)),
        transport_(wire, true) {
    iscsi::TargetSessionLimits limits;
    limits.command_window = kWindow;
    session_ = iscsi::TargetSession::create(parameters_of(wire), transport_.datamover(),
                                            nexus_.get(), *this, limits);
    transport_.enable();
  }
  StreamEndpoint& endpoint() { return transport_.endpoint(); }

  std::vector<iscsi::TargetRecord> send_targets(const std::string&) override { return {}; }
  void session_ended(ErrorCode) override {}
  Time now() const override { return kNow; }
  void deadline_changed() override {}

 private:
  static std::shared_ptr<target::TargetDevice> device_of(Medium medium, std::uint64_t bytes) {
    auto device = std::make_shared<target::TargetDevice>();
    device->name = kTarget;
    target::LogicalUnitSettings settings;
    settings.block_size = WholeStack::kBlock;
    device->units[0] = target::make_logical_unit(
        device->name, settings,
        medium == Medium::null ? target::make_null_store(bytes) : target::make_memory_store(bytes));
    return device;
  }

  // The stores here do their work at once: nothing waits for the loop.
  rdmap::EventLoop loop_;
  std::unique_ptr<target::StoreEngine> engine_ =
      target::StoreEngine::create(loop_, target::StoreEngine::Kind::threads);
  std::unique_ptr<iscsi::TaskHandler> nexus_;
  Transport transport_;
  std::unique_ptr<iscsi::TargetSession> session_;
};

class Initiator final : public iscsi::InitiatorSessionHost {
 public:
  explicit Initiator(Wire wire)
      : transport_(wire, false),
        session_(iscsi::InitiatorSession::create(parameters_of(wire), transport_.datamover(), *this,
                                                 {.nop_interval = Duration::zero()})) {
    transport_.enable();
  }
  StreamEndpoint& endpoint() { return transport_.endpoint(); }
  iscsi::InitiatorSession& session() { return *session_; }

  void session_ended(ErrorCode) override {}
  Time now() const override { return kNow; }
  void deadline_changed() override {}

 private:
  Transport transport_;
  std::unique_ptr<iscsi::InitiatorSession> session_;
};

struct Task final : iscsi::InitiatorTask {
  bool is_done = false;
  void done() override { is_done = true; }
};

void describe(const WholeStack::Io& io, Task& task) {
  task.is_done = false;
  task.cdb = {};
  store_u8(task.cdb.data(), io.write ? 0x8a : 0x88);  // WRITE (16), READ (16)
  store_be64(&task.cdb[2], io.lba);
  store_be32(&task.cdb[10], static_cast<std::uint32_t>(io.data.size() / WholeStack::kBlock));
  task.data_out = io.write ? Bytes(io.data) : Bytes();
  task.data_in = io.write ? MutableBytes() : io.data;
}

}  // namespace

struct WholeStack::State {
  State(Wire wire, Medium medium, std::uint64_t bytes)
      : target(wire, medium, bytes), initiator(wire) {}

  bool submit_and_wait(std::span<Task> some) {
    link.cost(0).of([&] {
      for (Task& task : some) initiator.session().submit(task);
      initiator.session().flush();
    });
    link.settle();
    for (const Task& task : some) {
      if (!task.is_done || task.error || task.status != 0) return false;
    }
    return true;
  }

  Target target;
  Initiator initiator;
  MemoryLink link{initiator.endpoint(), target.endpoint()};
  std::vector<Task> tasks = std::vector<Task>(kWindow);
};

WholeStack::WholeStack(Wire wire, Medium medium, std::uint64_t blocks)
    : state_(std::make_unique<State>(wire, medium, blocks * kBlock)) {
  // The first command is told of the power on.
  state_->submit_and_wait(std::span(state_->tasks).first(1));
}
WholeStack::~WholeStack() = default;

bool WholeStack::run(std::span<const Io> ios) {
  ISER_ASSERT(ios.size() <= kWindow);
  for (std::size_t i = 0; i < ios.size(); ++i) describe(ios[i], state_->tasks[i]);
  return state_->submit_and_wait(std::span(state_->tasks).first(ios.size()));
}

const Cost& WholeStack::initiator_cost() const {
  return state_->link.cost(0);
}
const Cost& WholeStack::target_cost() const {
  return state_->link.cost(1);
}
void WholeStack::reset_costs() {
  state_->link.reset_costs();
}

}  // namespace openiser::bench
