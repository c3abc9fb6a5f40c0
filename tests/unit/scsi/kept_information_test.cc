// Identifying information that outlives the daemon.
#include <gtest/gtest.h>

#include <fstream>

#include "target/scsi/unit_notes.h"
#include "target/start_error.h"
#include "tests/support/reserving.h"

namespace openiser::test {
namespace {

constexpr std::uint8_t kIdentifier = 0;
constexpr std::uint8_t kText = 2;

ByteVector maintenance(std::uint8_t opcode, std::uint8_t action, std::uint32_t length,
                       std::uint8_t type) {
  ByteVector cdb = cdb12(opcode, 0, length, action);
  store_u8(&cdb[10], static_cast<std::uint8_t>(type << 1));
  return cdb;
}

class KeptInformation : public ReservingFixture {
 protected:
  std::string file() const { return state_file("identifying-information"); }
  void begin_set(unsigned number, std::uint8_t type, const ByteVector& value) {
    ask(number, maintenance(0xa4, 0x06, static_cast<std::uint32_t>(value.size()), type), value);
  }
  std::string set(unsigned number, std::uint8_t type, const ByteVector& value) {
    begin_set(number, type, value);
    nexuses[number]->run_until([&] { return task->ended(); });
    return outcome(*task);
  }
  std::string report(unsigned number, std::uint8_t type) {
    const auto answer = ask(number, maintenance(0xa3, 0x05, 1024, type), {}, 1024);
    return answer == "good" ? to_hex(task->data_in) : answer;
  }
  auto build() {
    return target::make_logical_unit(kName, settings, std::make_unique<FaultStore>(desk));
  }
};

TEST_F(KeptInformation, IsThereAfterARestart) {
  keep_state();
  set_up_nexuses(1);
  EXPECT_EQ(set(0, kIdentifier, hex("00 0a ff")), "good");
  EXPECT_EQ(set(0, kText, hex("61 62 00")), "good");
  restart();
  EXPECT_EQ(report(0, kIdentifier), "00000003000aff");
  EXPECT_EQ(report(0, kText), "00000003616200");
  EXPECT_EQ(set(0, kIdentifier, {}), "good");
  restart();
  EXPECT_EQ(report(0, kIdentifier), "00000000");
  EXPECT_EQ(report(0, kText), "00000003616200") << "the other one stays";
  EXPECT_EQ(set(0, kText, {}), "good");
  EXPECT_FALSE(std::filesystem::exists(file()));
  restart();
  EXPECT_EQ(report(0, kText), "00000000");
}

TEST_F(KeptInformation, OfTheGreatestLength) {
  keep_state();
  set_up_nexuses(1);
  EXPECT_EQ(set(0, kIdentifier, data(512)), "good");
  EXPECT_EQ(set(0, kText, ByteVector(256)), "good");
  restart();
  EXPECT_EQ(report(0, kIdentifier), "00000200" + to_hex(data(512)));
  EXPECT_EQ(report(0, kText), "00000100" + std::string(512, '0'));
}

TEST_F(KeptInformation, IsOnDiskBeforeTheAnswer) {
  keep_state();
  set_up_nexuses(2);
  begin_set(0, kIdentifier, hex("42"));
  const auto setting = std::move(task);
  EXPECT_EQ(outcome(*setting), "pending");
  EXPECT_EQ(report(1, kIdentifier), "00000000") << "not before it is kept";
  nexuses[0]->run_until([&] { return setting->ended(); });
  EXPECT_EQ(outcome(*setting), "good");
  EXPECT_TRUE(std::filesystem::exists(file()));
  settle();
  EXPECT_EQ(ready(1), "6/3f/05");
  EXPECT_EQ(report(1, kIdentifier), "0000000142");
}

TEST_F(KeptInformation, IsWrittenOneAfterTheOther) {
  keep_state();
  set_up_nexuses(2);
  begin_set(0, kIdentifier, hex("42"));
  const auto first = std::move(task);
  begin_set(1, kText, hex("61 00"));
  const auto second = std::move(task);
  while (!first->ended() || !second->ended()) settle();
  restart();
  EXPECT_EQ(report(0, kIdentifier), "0000000142");
  EXPECT_EQ(report(0, kText), "000000026100");
}

TEST_F(KeptInformation, ThatCannotBeWrittenChangesNothing) {
  keep_state();
  set_up_nexuses(2);
  EXPECT_EQ(set(0, kIdentifier, hex("42")), "good");
  settle();
  EXPECT_EQ(ready(1), "6/3f/05");
  std::filesystem::rename(folder->path("state"), folder->path("away"));
  std::ofstream(folder->path("state")) << "in the way";
  EXPECT_EQ(set(0, kIdentifier, hex("43")), "4/44/00");
  EXPECT_EQ(report(0, kIdentifier), "0000000142");
  settle();
  EXPECT_EQ(ready(1), "good") << "there is nothing to tell";
  std::filesystem::remove(folder->path("state"));
  std::filesystem::rename(folder->path("away"), folder->path("state"));
  restart();
  EXPECT_EQ(report(0, kIdentifier), "0000000142");
}

TEST_F(KeptInformation, AbortedWhileItIsWrittenEndsAfterwards) {
  keep_state();
  set_up_nexuses(1);
  begin_set(0, kIdentifier, hex("42"));
  task->abort();
  EXPECT_FALSE(task->released);
  while (!task->ended()) settle();
  EXPECT_TRUE(task->released);
  EXPECT_EQ(report(0, kIdentifier), "0000000142") << "memory and file say the same";
  restart();
  EXPECT_EQ(report(0, kIdentifier), "0000000142");
}

TEST_F(KeptInformation, TheSameValueAgainWritesNothing) {
  keep_state();
  set_up_nexuses(1);
  EXPECT_EQ(set(0, kIdentifier, {}), "good");
  EXPECT_FALSE(std::filesystem::exists(folder->path("state")));
}

TEST_F(KeptInformation, DamagedStopsTheStart) {
  keep_state();
  set_up_nexuses(1);
  EXPECT_EQ(set(0, kIdentifier, hex("42")), "good");
  EXPECT_NO_THROW(build());
  std::fstream(file(), std::ios::in | std::ios::out | std::ios::ate) << "x";
  EXPECT_THROW(build(), target::StartError);
}

TEST_F(KeptInformation, WithGoodChecksumButNoSenseStopsTheStart) {
  keep_state();
  set_up_nexuses(1);
  const std::string text = "disk fault store\n";
  const ByteVector start = exact(std::as_bytes(std::span(text)));
  const target::StateFile kept = state->unit_file(kName, 0, "identifying-information", 1);
  const ByteVector whole = hex("00 01 42 00 02 61 00");
  for (std::size_t there = 0; there < whole.size(); ++there) {
    EXPECT_TRUE(kept.save(joined(
        {start, ByteVector(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(there))})));
    EXPECT_THROW(build(), target::StartError) << there;
  }
  EXPECT_TRUE(kept.save(joined({start, whole, ByteVector(1)})));
  EXPECT_THROW(build(), target::StartError);
  EXPECT_TRUE(kept.save(joined({start, hex("02 01"), data(513), hex("00 00")})));
  EXPECT_THROW(build(), target::StartError) << "longer than can be set";
  EXPECT_TRUE(kept.save(joined({start, whole})));
  EXPECT_NO_THROW(build());
}

TEST_F(KeptInformation, OfAnotherDiskStopsTheStart) {
  keep_state();
  set_up_nexuses(1);
  EXPECT_EQ(set(0, kIdentifier, hex("42")), "good");
  desk->properties.description = "file /other.img";
  EXPECT_THROW(build(), target::StartError);
}

}  // namespace
}  // namespace openiser::test
