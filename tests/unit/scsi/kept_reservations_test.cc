// APTPL: reservations that outlive the daemon, and those that must not.
#include <gtest/gtest.h>

#include <fstream>

#include "target/start_error.h"
#include "tests/support/reserving.h"

namespace openiser::test {
namespace {

constexpr std::uint8_t kAptpl = 0x01;

class KeptReservations : public ReservingFixture {
 protected:
  std::string file() const { return state_file("reservations"); }
};

TEST_F(KeptReservations, AreThereAfterARestart) {
  keep_state();
  set_up_nexuses(3);
  EXPECT_EQ(registers(0, 0x11, 0, kAptpl), "good");
  EXPECT_EQ(registers(1, 0x22, 0, kAptpl), "good");
  EXPECT_EQ(reserves(0, 0x11, 6), "good");
  restart();
  EXPECT_EQ(keys(),
            "0000000000000010"
            "00000000000000110000000000000022")
      << "PRGENERATION begins again";
  EXPECT_EQ(in(1, 1),
            "0000000000000010"
            "0000000000000011"
            "0000000000060000");
  EXPECT_EQ(write(1), "good");
  EXPECT_EQ(read(2), "conflict");
  EXPECT_EQ(in(0, 2), "00081db1ea010000") << "PTPL_A";
}

TEST_F(KeptReservations, EveryChangeIsKept) {
  keep_state();
  set_up_nexuses(3);
  EXPECT_EQ(registers(0, 1, 0, kAptpl), "good");
  EXPECT_EQ(registers(1, 2, 0, kAptpl), "good");
  EXPECT_EQ(reserves(0, 1, 5), "good");
  EXPECT_EQ(out(1, kPreempt, basic_list(2, 1), 3), "good");
  restart();
  EXPECT_EQ(in(0, 1).substr(16), "00000000000000020000000000030000");
  EXPECT_EQ(out(1, kRelease, basic_list(2, 0), 3), "good");
  restart();
  EXPECT_EQ(in(0, 1), "0000000000000000");
  EXPECT_EQ(keys(), "00000000000000080000000000000002");
  EXPECT_EQ(out(1, kClear, basic_list(2, 0)), "good");
  EXPECT_FALSE(std::filesystem::exists(file()));
  restart();
  EXPECT_EQ(keys(), "0000000000000000");
}

TEST_F(KeptReservations, WithoutAptplTheyAreGone) {
  keep_state();
  set_up_nexuses(1);
  EXPECT_EQ(registers(0, 1), "good");
  EXPECT_EQ(reserves(0, 1, 3), "good");
  EXPECT_FALSE(std::filesystem::exists(folder->path("state"))) << "and nothing was touched";
  restart();
  EXPECT_EQ(keys(), "0000000000000000");
}

TEST_F(KeptReservations, TheLastRegistrationSaysWhetherTheyAreKept) {
  keep_state();
  set_up_nexuses(2);
  EXPECT_EQ(registers(0, 1, 0, kAptpl), "good");
  EXPECT_TRUE(std::filesystem::exists(file()));
  EXPECT_EQ(registers(1, 2), "good");
  EXPECT_FALSE(std::filesystem::exists(file()));
  restart();
  EXPECT_EQ(keys(), "0000000000000000");
}

TEST_F(KeptReservations, AreOnDiskBeforeTheAnswer) {
  keep_state();
  set_up_nexuses(1);
  ask(0, reserve_out_cdb(kRegister, 0, 24), basic_list(0, 1, kAptpl));
  const auto registering = std::move(task);
  EXPECT_EQ(outcome(*registering), "pending") << "a thread writes";
  EXPECT_EQ(write(0), "good") << "and nobody waits for it";
  nexuses[0]->run_until([&] { return registering->ended(); });
  EXPECT_EQ(outcome(*registering), "good");
  EXPECT_TRUE(std::filesystem::exists(file()));
}

TEST_F(KeptReservations, AreWrittenOneAfterTheOther) {
  keep_state();
  set_up_nexuses(2);
  const auto list = basic_list(0, 1, kAptpl);
  auto first = nexuses[0]->task(reserve_out_cdb(kRegister, 0, 24));
  auto second = nexuses[1]->task(reserve_out_cdb(kRegister, 0, 24));
  for (FakeTask* each : {first.get(), second.get()}) {
    each->write = true;
    each->data_out = list;
    each->expected_data_transfer_length = 24;
    each->execute();
  }
  while (!first->ended() || !second->ended()) settle();
  EXPECT_EQ(outcome(*first), "good");
  EXPECT_EQ(outcome(*second), "good");
  restart();
  EXPECT_EQ(keys(),
            "0000000000000010"
            "00000000000000010000000000000001");
}

TEST_F(KeptReservations, ThatCannotBeWrittenChangeNothing) {
  keep_state();
  set_up_nexuses(2);
  std::ofstream(folder->path("state")) << "in the way";
  EXPECT_EQ(registers(0, 1, 0, kAptpl), "4/44/00");
  EXPECT_EQ(keys(), "0000000000000000");
  EXPECT_EQ(in(0, 2), "00081db0ea010000");
  EXPECT_EQ(registers(0, 1), "good") << "which keeps nothing";
  std::filesystem::remove(folder->path("state"));
  EXPECT_EQ(registers(0, 2, 1, kAptpl), "good");
  restart();
  EXPECT_EQ(keys(), "00000000000000080000000000000002");
}

TEST_F(KeptReservations, AbortedWhileItIsWrittenEndsAfterwards) {
  keep_state();
  set_up_nexuses(1);
  ask(0, reserve_out_cdb(kRegister, 0, 24), basic_list(0, 1, kAptpl));
  task->abort();
  EXPECT_FALSE(task->released) << "what it has begun is not over";
  while (!task->ended()) settle();
  EXPECT_TRUE(task->released);
  EXPECT_EQ(keys(), "00000001000000080000000000000001") << "memory and file say the same";
  restart();
  EXPECT_EQ(keys(), "00000000000000080000000000000001");
}

TEST_F(KeptReservations, DamagedOnesStopTheStart) {
  keep_state();
  set_up_nexuses(1);
  EXPECT_EQ(registers(0, 1, 0, kAptpl), "good");
  std::fstream(file(), std::ios::in | std::ios::out | std::ios::ate) << "x";
  EXPECT_THROW(target::make_logical_unit(kName, settings, std::make_unique<FaultStore>(desk)),
               target::StartError);
}

TEST_F(KeptReservations, WithGoodChecksumButNoSenseStopTheStart) {
  keep_state();
  set_up_nexuses(1);
  const std::string text = "disk fault store\ntype 5\n";
  EXPECT_TRUE(state->unit_file(kName, 0, "reservations", 1).save(std::as_bytes(std::span(text))));
  EXPECT_THROW(target::make_logical_unit(kName, settings, std::make_unique<FaultStore>(desk)),
               target::StartError);
}

TEST_F(KeptReservations, OfAnotherDiskStopTheStart) {
  keep_state();
  set_up_nexuses(1);
  EXPECT_EQ(registers(0, 1, 0, kAptpl), "good");
  desk->properties.description = "file /other.img";
  try {
    target::make_logical_unit(kName, settings, std::make_unique<FaultStore>(desk));
    FAIL() << "it has the reservations of the disk before";
  } catch (const target::StartError& error) {
    const std::string words = error.what();
    EXPECT_EQ(words.find(file() + ": belongs to another disk: fault store, not file /other.img"),
              0U)
        << words;
  }
  std::filesystem::remove(file());
  EXPECT_NO_THROW(target::make_logical_unit(kName, settings, std::make_unique<FaultStore>(desk)));
}

TEST_F(KeptReservations, FollowASerialNumberToAnotherFile) {
  keep_state();
  settings.serial = "4711";
  set_up_nexuses(1);
  EXPECT_EQ(registers(0, 1, 0, kAptpl), "good");
  desk->properties.description = "file /moved.img";
  EXPECT_NO_THROW(target::make_logical_unit(kName, settings, std::make_unique<FaultStore>(desk)));
  settings.serial = "4712";
  EXPECT_THROW(target::make_logical_unit(kName, settings, std::make_unique<FaultStore>(desk)),
               target::StartError);
}

TEST_F(KeptReservations, WithoutTheirDiskStopTheStart) {
  keep_state();
  set_up_nexuses(1);
  for (const std::string_view text : {"", "type 0\n", "disk fault store"}) {
    EXPECT_TRUE(state->unit_file(kName, 0, "reservations", 1).save(std::as_bytes(std::span(text))));
    EXPECT_THROW(target::make_logical_unit(kName, settings, std::make_unique<FaultStore>(desk)),
                 target::StartError);
  }
}

TEST_F(KeptReservations, NowhereToKeepThem) {
  set_up_nexuses(1);
  EXPECT_EQ(registers(0, 1, 0, kAptpl), "5/26/00#20.0");
  EXPECT_EQ(keys(), "0000000000000000");
}

}  // namespace
}  // namespace openiser::test
