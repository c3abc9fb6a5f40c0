// The initiator's side of a session, with work under way of every kind.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "iscsi/session/initiator_session.h"
#include "tests/fuzz/input.h"

namespace openiser::fuzz {

class InitiatorEnd final : public iscsi::InitiatorSessionHost {
 public:
  // Needs `datamover` for as long as it lives.
  InitiatorEnd(const iscsi::Parameters& parameters, iscsi::Datamover& datamover)
      : session_(iscsi::InitiatorSession::create(parameters, datamover, *this)) {}
  // All that was asked for has been answered, once.
  ~InitiatorEnd() {
    require(ended_ == 1 && open_ == 0);
    for (const auto& task : tasks_) require(task->times_done == 1);
  }
  iscsi::InitiatorSession& session() { return *session_; }
  bool ended() const { return ended_ > 0; }

  // Something the user does; the session answers with what it sends at the next turn.
  void act(std::uint8_t what) {
    if (tasks_.size() >= 64 || open_ >= 64) return;
    const std::uint8_t detail = what >> 4;
    switch (what & 15) {
      case 0:
        return submit(0x28, 0, 4096);
      case 1:
        return submit(0x2a, 20000, 0);
      case 2:
        return submit(0x00, 0, 0);
      case 3:
        return submit(0x53, 512, 700);
      case 4:
        return abort(detail);
      case 5:
        return session_->manage(static_cast<iscsi::TaskManagementFunction>(detail), {},
                                counted<ErrorCode, iscsi::TaskManagementAnswer>());
      case 6:
        return session_->ping(as_bytes("ping"), counted<ErrorCode, Bytes>());
      case 7:
        return session_->send_targets("All",
                                      counted<ErrorCode, std::vector<iscsi::TargetRecord>>());
      case 8:
        return session_->logout();
      case 9:
        return pass_time(std::chrono::seconds(detail));
      case 10:
        return session_->end(iscsi::errc::connection_closed);
      default:
        return submit(0x12, 0, std::size_t{1} << detail);
    }
  }
  void flush() { session_->flush(); }

  void session_ended(ErrorCode) override { require(++ended_ == 1); }
  Time now() const override { return now_; }
  void deadline_changed() override {}

 private:
  struct Task final : iscsi::InitiatorTask {
    std::vector<std::byte> out, in;
    int times_done = 0;
    void done() override { require(++times_done == 1); }
  };

  void submit(std::uint8_t opcode, std::size_t out, std::size_t in) {
    auto& task = *tasks_.emplace_back(std::make_unique<Task>());
    store_u8(task.cdb.data(), opcode);
    task.out.resize(out);
    task.in.resize(in);
    task.data_out = task.out;
    task.data_in = task.in;
    session_->submit(task);
  }
  void abort(std::size_t nth) {
    if (nth >= tasks_.size() || tasks_[nth]->times_done > 0) return;
    session_->abort(*tasks_[nth], counted<ErrorCode, iscsi::TaskManagementAnswer>());
  }
  void pass_time(Duration some) {
    now_ += some;
    if (const auto deadline = session_->deadline(); deadline && *deadline <= now_)
      session_->expired(now_);
  }
  // A callback that has to come, once.
  template <class... Arguments>
  std::function<void(Arguments...)> counted() {
    ++open_;
    return [this, called = false](const Arguments&...) mutable {
      require(!std::exchange(called, true));
      --open_;
    };
  }

  Time now_ = kStart;
  int ended_ = 0;
  int open_ = 0;
  std::vector<std::unique_ptr<Task>> tasks_;
  std::unique_ptr<iscsi::InitiatorSession> session_;
};

}  // namespace openiser::fuzz
