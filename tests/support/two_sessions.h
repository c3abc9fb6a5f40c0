// Two sessions on one device, each with its loop on the test's thread: nothing here depends on
// threads, so the order is the test's.
#pragma once

#include <memory>
#include <string>

#include "tests/support/scsi_fixture.h"

namespace openiser::test {

class TwoSessions : public ScsiFixture {
 protected:
  static ByteVector test_unit_ready() { return ByteVector(6); }

  void two_sessions() {
    set_up();
    open_other();
  }
  // A second session on what there is, with no unit attention pending.
  void open_other() {
    other = std::make_unique<SessionSide>(device);
    for (const auto& [lun, unit] : device->units) {
      EXPECT_EQ(on_other(test_unit_ready(), lun), "6/29/00");
    }
  }
  void TearDown() override {
    other.reset();
    ScsiFixture::TearDown();
  }
  std::string on_other(const ByteVector& cdb, std::uint16_t lun = 0) {
    auto task = other->task(cdb, lun);
    task->execute();
    return task->status == kGood ? "good" : sense_text(task->sense);
  }
  // Runs what has been posted to both loops, until nothing more comes of it.
  void settle() {
    for (int i = 0; i < 3; ++i) {
      for (SessionSide* each : {other.get(), side.get()}) {
        each->loop.post([each] { each->loop.stop(); });
        each->loop.run();
      }
    }
  }

  std::unique_ptr<SessionSide> other;
};

}  // namespace openiser::test
