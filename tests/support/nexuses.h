// Several initiator ports on one device, all on the test's own thread: what crosses from one nexus
// to another waits for settle().
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/scsi_fixture.h"

namespace openiser::test {

class NexusesFixture : public ScsiFixture {
 protected:
  static std::string port_name(unsigned number) {
    return "iqn.2026-01.test:host" + std::to_string(number) + ",i,0x80000000000" +
           std::to_string(number);
  }
  // Nexuses 0 to `count` - 1, with no unit attention pending.
  void set_up_nexuses(unsigned count) {
    set_up();
    side.reset();
    for (unsigned i = 0; i != count; ++i) {
      nexuses.emplace_back();
      log_in(i);
    }
  }
  // A new session of that initiator port, in place of the old one, if there is one.
  void log_in(unsigned number, std::uint16_t relative_target_port = 1) {
    nexuses.at(number).reset();
    nexuses[number] = std::make_unique<SessionSide>(device, target::StoreEngine::Kind::threads,
                                                    port_name(number), relative_target_port);
    EXPECT_EQ(ask(number, hex("00 00 00 00 00 00")), "6/29/00");
  }
  // What came of a command in short: "good", "conflict", "aborted" or sense_text(). `task` keeps
  // the task for more questions.
  std::string ask(unsigned number, const ByteVector& cdb, const ByteVector& data_out = {},
                  std::uint32_t room = 0) {
    task = nexuses.at(number)->task(cdb);
    task->write = !data_out.empty();
    task->read = room != 0;
    task->data_out = data_out;
    task->expected_data_transfer_length =
        room != 0 ? room : static_cast<std::uint32_t>(data_out.size());
    task->execute();
    return outcome(*task);
  }
  static std::string outcome(const FakeTask& of) {
    if (!of.status) return of.released ? "released" : "pending";
    switch (*of.status) {
      case kGood:
        return "good";
      case kReservationConflict:
        return "conflict";
      case kTaskAborted:
        return "aborted";
      default:
        return sense_text(of.sense);
    }
  }
  // Runs what has been posted to each loop, until nothing more comes of it.
  void settle() {
    for (int i = 0; i < 3; ++i) {
      for (const auto& each : nexuses) {
        if (!each) continue;
        each->loop.post([&each] { each->loop.stop(); });
        each->loop.run();
      }
    }
  }
  void TearDown() override {
    task.reset();
    nexuses.clear();
    ScsiFixture::TearDown();
  }

  std::vector<std::unique_ptr<SessionSide>> nexuses;
  std::unique_ptr<FakeTask> task;
};

}  // namespace openiser::test
