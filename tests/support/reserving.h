// Nexuses that reserve persistently.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "target/state_file.h"
#include "tests/support/nexuses.h"
#include "tests/support/reserve_out.h"
#include "tests/support/temporary_folder.h"

namespace openiser::test {

inline constexpr std::uint8_t kRegister = 0, kReserve = 1, kRelease = 2, kClear = 3, kPreempt = 4,
                              kPreemptAndAbort = 5, kIgnoreKey = 6, kMove = 7;

class ReservingFixture : public NexusesFixture {
 protected:
  // Reservations may be kept in a folder of the test's own. Before set_up_nexuses().
  void keep_state() {
    folder = std::make_unique<TemporaryFolder>();
    state = std::make_unique<target::StateFolder>(folder->path("state"));
    settings.state = state.get();
  }
  std::string state_file(const std::string& kind) const {
    return folder->path("state/" + std::string(kName)) + ".lun0." + kind;
  }
  // As after kill -9: new units, of what is in the folder.
  void restart() {
    const auto count = static_cast<unsigned>(nexuses.size());
    task.reset();
    nexuses.clear();
    device.reset();
    state = std::make_unique<target::StateFolder>(folder->path("state"));
    settings.state = state.get();
    set_up_nexuses(count);
  }
  // PERSISTENT RESERVE OUT, to its end.
  std::string out(unsigned number, std::uint8_t action, const ByteVector& list,
                  std::uint8_t type = 0) {
    ask(number, reserve_out_cdb(action, type, static_cast<std::uint32_t>(list.size())), list);
    for (int tries = 0; !task->ended() && tries != 1000; ++tries) {
      settle();
      if (!task->ended()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return outcome(*task);
  }
  std::string registers(unsigned number, std::uint64_t fresh, std::uint64_t key = 0,
                        std::uint8_t flags = 0) {
    return out(number, kRegister, basic_list(key, fresh, flags));
  }
  std::string reserves(unsigned number, std::uint64_t key, std::uint8_t type) {
    return out(number, kReserve, basic_list(key, 0), type);
  }
  // The answer to PERSISTENT RESERVE IN in hexadecimal digits, or what it came to.
  std::string in(unsigned number, std::uint8_t action, std::uint16_t allocation_length = 8192) {
    const std::string text = ask(number, reserve_in_cdb(action, allocation_length), {}, 8192);
    return text == "good" ? to_hex(task->data_in) : text;
  }
  std::string keys(unsigned number = 0) { return in(number, 0); }
  std::string read(unsigned number) { return ask(number, cdb10(0x28, 0, 1), {}, 512); }
  std::string write(unsigned number) { return ask(number, cdb10(0x2a, 0, 1), data(512)); }
  std::string ready(unsigned number) { return ask(number, hex("00 00 00 00 00 00")); }
  void TearDown() override {
    NexusesFixture::TearDown();
    device.reset();
    state.reset();
  }

  std::unique_ptr<TemporaryFolder> folder;
  std::unique_ptr<target::StateFolder> state;
};

}  // namespace openiser::test
