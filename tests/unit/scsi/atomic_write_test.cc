// WRITE ATOMIC (16), and the journal behind it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "target/scsi/atomic_writer.h"
#include "target/start_error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/two_sessions.h"

namespace openiser::test {
namespace {

using iscsi::TaskManagementAnswer;
using iscsi::TaskManagementFunction;
using target::StateFolder;
using target::StoreRequest;
using Operation = StoreDesk::Operation;

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

class AtomicWrite : public TwoSessions {
 protected:
  // The state folder is named `name`.
  void set_up_journalled(std::uint32_t block_size = 512, std::uint64_t blocks = 1024,
                         const std::string& name = "state") {
    state.emplace(folder.path(name));
    settings.state = &*state;
    set_up(block_size, blocks);
    outlive_the_process();
  }
  void outlive_the_process() {
    desk->properties.volatile_content = false;
    device->units[0] =
        target::make_logical_unit(kName, settings, std::make_unique<FaultStore>(desk));
    open();
  }
  void TearDown() override {
    TwoSessions::TearDown();
    device.reset();  // before what it keeps state in
  }
  static ByteVector cdb(std::uint64_t lba, std::uint16_t blocks, std::uint8_t flags = 0) {
    return cdb16(0x9c, lba, blocks, flags);
  }
  std::unique_ptr<FakeTask> write(const ByteVector& cdb, const ByteVector& bytes) {
    auto task = out(cdb, bytes);
    side->run_until([&] { return task->ended(); });
    return task;
  }
  std::unique_ptr<FakeTask> on_other(const ByteVector& cdb, const ByteVector& bytes) {
    auto task = other->task(cdb);
    task->write = true;
    task->data_out = bytes;
    task->expected_data_transfer_length = static_cast<std::uint32_t>(bytes.size());
    task->execute();
    return task;
  }
  std::string sense_on_other(const ByteVector& cdb, const ByteVector& bytes) {
    const auto task = on_other(cdb, bytes);
    other->run_until([&] { return task->ended(); });
    return task->status == kGood ? "good" : sense_text(task->sense);
  }
  target::StateFile journal() const { return target::atomic_journal(*state, kName, 0); }
  bool is_saved() const { return std::filesystem::exists(journal().path()); }
  // "read 5+2" and the like, with "!" for forced unit access, in blocks.
  std::vector<std::string> requests() const {
    std::vector<std::string> all;
    for (const auto& seen : desk->seen) {
      if (seen.operation == Operation::flush) {
        all.emplace_back("flush");
        continue;
      }
      all.push_back(std::string(seen.operation == Operation::read ? "read " : "write ") +
                    std::to_string(seen.offset / block_) + "+" +
                    std::to_string(seen.length / block_) + (seen.force_unit_access ? "!" : ""));
    }
    return all;
  }
  using Requests = std::vector<std::string>;

  TemporaryFolder folder;
  std::optional<StateFolder> state;
};

TEST_F(AtomicWrite, IsSavedBeforeAnythingIsWrittenInPlaceAndForgottenBeforeItEnds) {
  set_up_journalled();
  auto expected = desk->bytes;
  const auto fresh = data(3 * 512);
  std::copy(fresh.begin(), fresh.end(), expected.begin() + 5 * 512);
  std::vector<bool> saved;
  desk->fault = [&](const StoreRequest&) {
    saved.push_back(is_saved());
    return 0;
  };
  const auto task = out_task(cdb(5, 3), fresh);
  task->on_end = [&] { saved.push_back(is_saved()); };
  task->execute();
  EXPECT_FALSE(task->ended()) << "a disk has to be waited for";
  side->run_until([&] { return task->ended(); });
  EXPECT_GOOD(task);
  EXPECT_EQ(task->transfer_length, 3U * 512);
  EXPECT_TRUE(desk->bytes == expected);
  EXPECT_EQ(requests(), (Requests{"read 5+3", "write 5+3!"}));
  EXPECT_EQ(saved, (std::vector<bool>{false, true, false}));
}

TEST_F(AtomicWrite, WhatIsSavedNamesThePlaceAndTheStore) {
  set_up_journalled();
  std::optional<ByteVector> content;
  desk->fault = [&](const StoreRequest& request) {
    if (request.operation == Operation::write) content = journal().load();
    return 0;
  };
  EXPECT_GOOD(write(cdb(5, 1), data(512)));
  ASSERT_TRUE(content);
  EXPECT_EQ(to_hex(Bytes(*content).first(21)),
            "0000000000000a00000b" + to_hex(as_bytes("fault store")));
  EXPECT_EQ(ByteVector(content->begin() + 21, content->end()), data(512));
}

TEST_F(AtomicWrite, LargestAndLongerThanThat) {
  for (const std::uint32_t block : {512U, 4096U}) {
    set_up_journalled(block, 2 * kMebibyte / block);
    const auto most = static_cast<std::uint16_t>(kMebibyte / block);
    EXPECT_GE(most, 256);
    const auto fresh = data(kMebibyte, block);
    EXPECT_GOOD(write(cdb(most - 1U, most), fresh));
    EXPECT_EQ(stored(most - 1U, most), fresh);
    EXPECT_SENSE(out(cdb(0, most + 1U), data(kMebibyte + block)), "5/24/00@12");
    EXPECT_EQ(desk->count(Operation::write), 1U);
    TearDown();
  }
}

TEST_F(AtomicWrite, NoBlocksAreNothing) {
  set_up_journalled();
  EXPECT_GOOD(none(cdb(5, 0)));
  EXPECT_GOOD(none(cdb(1023, 0)));
  EXPECT_TRUE(desk->seen.empty());
  EXPECT_FALSE(std::filesystem::exists(folder.path("state")));
}

TEST_F(AtomicWrite, FieldsOfTheCdb) {
  set_up_journalled();
  EXPECT_SENSE(out(cdb(1024, 1), data(512)), "5/21/00@2");
  EXPECT_SENSE(out(cdb(1023, 2), data(1024)), "5/21/00@2");
  EXPECT_SENSE(out(cdb(UINT64_MAX, 1), data(512)), "5/21/00@2");
  EXPECT_SENSE(out(cdb(0, UINT16_MAX), data(512)), "5/21/00@2");
  for (const std::uint8_t protect : {0x20, 0x40, 0x60, 0xe0}) {
    EXPECT_SENSE(out(cdb(5, 1, protect), data(512)), "5/24/00@1.7");
  }
  for (const std::size_t at : {10U, 11U}) {
    auto boundary = cdb(5, 1);
    store_u8(&boundary[at], 1);
    EXPECT_SENSE(out(boundary, data(512)), "5/24/00@10");
  }
  auto naca = cdb(5, 1);
  store_u8(&naca[15], 0x04);
  EXPECT_SENSE(out(naca, data(512)), "5/24/00@15.2");
  EXPECT_TRUE(desk->seen.empty());
  EXPECT_GOOD(write(cdb(5, 1, 0x18), data(512)));  // DPO, FUA
}

TEST_F(AtomicWrite, LengthsThatDifferAreAsForWrite) {
  set_up_journalled();
  const auto before = stored(7, 1);
  const auto shorter = write(cdb(5, 3), data(2 * 512 + 100));
  EXPECT_GOOD(shorter);
  EXPECT_EQ(shorter->transfer_length, 3U * 512);
  EXPECT_EQ(stored(5, 2), data(2 * 512));
  EXPECT_EQ(stored(7, 1), before);
  const auto longer = write(cdb(20, 1), data(1024));
  EXPECT_GOOD(longer);
  EXPECT_EQ(longer->transfer_length, 512U);
  EXPECT_EQ(longer->asked_for, 512U);
  const auto nothing = none(cdb(5, 1));
  EXPECT_GOOD(nothing);
  EXPECT_EQ(nothing->transfer_length, 512U);
  EXPECT_EQ(desk->count(Operation::write), 2U);
}

TEST_F(AtomicWrite, PiecesOfAnySize) {
  set_up_journalled();
  for (const std::size_t piece : {1U, 511U, 513U, 1024U}) {
    const auto fresh = data(1024, static_cast<unsigned>(piece));
    auto task = out_task(cdb(5, 2), fresh);
    task->piece_size = piece;
    task->execute();
    side->run_until([&] { return task->ended(); });
    EXPECT_GOOD(task);
    EXPECT_EQ(stored(5, 2), fresh);
  }
}

TEST_F(AtomicWrite, DataThatDoesNotComeWhole) {
  set_up_journalled();
  auto task = out_task(cdb(5, 2), data(1024));
  task->data_out.resize(1000);
  task->execute();
  EXPECT_SENSE(task, "b/0c/0d");
  EXPECT_TRUE(desk->seen.empty());
}

TEST_F(AtomicWrite, WriteProtected) {
  settings.read_only = true;
  set_up_journalled();
  EXPECT_SENSE(out(cdb(5, 1), data(512)), "7/27/00");
  settings.state = nullptr;
  outlive_the_process();
  EXPECT_SENSE(out(cdb(5, 1), data(512)), "7/27/00");
}

TEST_F(AtomicWrite, IsNotThereWhereItsDataCannotBeSaved) {
  set_up();
  outlive_the_process();
  EXPECT_SENSE(out(cdb(5, 1), data(512)), "5/20/00");
  EXPECT_EQ(to_hex(in(hex("12 01 b0 00 40 00"), 64)->data_in).substr(88), std::string(40, '0'));
}

TEST_F(AtomicWrite, LimitsAreTold) {
  set_up_journalled(512, 4096);
  EXPECT_EQ(to_hex(in(hex("12 01 b0 00 40 00"), 64)->data_in).substr(88),
            "00000800" + std::string(32, '0'));
  TearDown();
  set_up_journalled(4096, 512);
  EXPECT_EQ(to_hex(in(hex("12 01 b0 00 40 00"), 64)->data_in).substr(88),
            "00000100" + std::string(32, '0'));
}

// What goes with the process cannot be found torn.
TEST_F(AtomicWrite, StoresInMemoryNeedNoJournal) {
  for (const bool has_state : {true, false}) {
    state.emplace(folder.path("state"));
    settings.state = has_state ? &*state : nullptr;
    device = std::make_shared<target::TargetDevice>();
    device->name = kName;
    device->units[0] =
        target::make_logical_unit(kName, settings, target::make_memory_store(1 << 20));
    open();
    EXPECT_GOOD(out(cdb(5, 2), data(1024)));
    EXPECT_EQ(in(cdb10(0x28, 5, 2), 1024)->data_in, data(1024));
    EXPECT_FALSE(std::filesystem::exists(folder.path("state")));
    TearDown();
  }
}

TEST_F(AtomicWrite, AJournalThatCannotBeSavedLeavesTheBlocks) {
  std::ofstream(folder.path("no-folder")) << "a file";
  set_up_journalled(512, 1024, "no-folder");
  const auto before = desk->bytes;
  const auto task = write(cdb(5, 2), data(1024));
  EXPECT_SENSE(task, "3/0c/00");
  EXPECT_EQ(load_u8(&task->sense[0]), 0xf0);
  EXPECT_EQ(load_be32(&task->sense[3]), 5U);
  EXPECT_TRUE(desk->bytes == before);
  EXPECT_EQ(requests(), (Requests{"read 5+2"}));
  EXPECT_GOOD(out(cdb10(0x2a, 5, 2), data(1024)));  // others need no journal
  std::filesystem::remove(folder.path("no-folder"));
  EXPECT_GOOD(write(cdb(5, 2), data(1024)));
}

TEST_F(AtomicWrite, OldDataThatCannotBeReadEndsIt) {
  set_up_journalled();
  desk->fail(Operation::read, EIO);
  EXPECT_SENSE(write(cdb(5, 2), data(1024)), "3/0c/00");
  EXPECT_EQ(requests(), (Requests{"read 5+2"}));
  EXPECT_FALSE(is_saved());
}

// The first write stops half way, as on a full file system; `then` is what becomes of others.
class HalfWritten : public AtomicWrite {
 protected:
  void stop_half_way(int error, std::function<int(const StoreRequest&)> then) {
    desk->fault = [this, error, then, first = true](const StoreRequest& request) mutable {
      if (request.operation != Operation::write || !first) return then(request);
      first = false;
      EXPECT_TRUE(is_saved());
      std::ranges::copy(request.pieces[0].first(512), desk->bytes.begin() + request.offset);
      return error;
    };
  }
};

TEST_F(HalfWritten, IsUndone) {
  set_up_journalled();
  const auto before = desk->bytes;
  stop_half_way(ENOSPC, [this](const StoreRequest&) {
    EXPECT_EQ(is_saved(), desk->seen.size() != 1);  // while the old data is read there is none yet
    return 0;
  });
  EXPECT_SENSE(write(cdb(5, 2), data(1024)), "7/27/07");
  EXPECT_TRUE(desk->bytes == before);
  EXPECT_EQ(requests(), (Requests{"read 5+2", "write 5+2!", "write 5+2!", "flush", "read 5+2"}));
  EXPECT_FALSE(is_saved());
  desk->fault = nullptr;
  EXPECT_GOOD(write(cdb(5, 2), data(1024)));
}

// There is no room for the old data, where there was none: it is there all the same.
TEST_F(HalfWritten, IsUndoneAlthoughThatFailsWhereNothingWasChanged) {
  set_up_journalled();
  const auto before = desk->bytes;
  stop_half_way(ENOSPC, [this](const StoreRequest& request) {
    if (request.operation != Operation::write) return 0;
    std::ranges::copy(request.pieces[0].first(512), desk->bytes.begin() + request.offset);
    return ENOSPC;
  });
  EXPECT_SENSE(write(cdb(5, 2), data(1024)), "7/27/07");
  EXPECT_TRUE(desk->bytes == before);
  EXPECT_FALSE(is_saved());
}

TEST_F(HalfWritten, AndNotToBeUndoneIsLeftToARestart) {
  for (const Operation failing : {Operation::write, Operation::flush, Operation::read}) {
    set_up_journalled();
    open_other();
    bool first_read = true;
    stop_half_way(EIO, [&, failing](const StoreRequest& request) {
      if (request.operation == Operation::read && std::exchange(first_read, false)) return 0;
      return request.operation == failing ? EIO : 0;
    });
    EXPECT_SENSE(write(cdb(5, 2), data(1024)), "3/0c/00");
    EXPECT_TRUE(is_saved());
    desk->fault = nullptr;
    // Nothing newer may be written: a restart would undo it.
    for (const ByteVector& other_write : {cdb10(0x2a, 5, 1), cdb(9, 1), cdb10(0x41, 5, 1)}) {
      EXPECT_SENSE(out(other_write, data(512)), "4/44/00");
      EXPECT_EQ(sense_on_other(other_write, data(512)), "4/44/00");
    }
    EXPECT_GOOD(in(cdb10(0x28, 5, 1), 512));
    target::finish_atomic_write(*std::make_unique<FaultStore>(desk), journal());
    EXPECT_EQ(stored(5, 2), data(1024));
    EXPECT_FALSE(is_saved());
    TearDown();
  }
}

TEST_F(AtomicWrite, AJournalThatDoesNotGoIsLeftToARestart) {
  set_up_journalled();
  // Where the file was there is a folder, which is not removed as one.
  desk->fault = [&](const StoreRequest& request) {
    if (request.operation != Operation::write) return 0;
    std::filesystem::remove(journal().path());
    std::filesystem::create_directory(journal().path());
    return 0;
  };
  EXPECT_SENSE(write(cdb(5, 2), data(1024)), "3/0c/00");
  EXPECT_SENSE(out(cdb10(0x2a, 5, 1), data(512)), "4/44/00");
  std::optional<TaskManagementAnswer> answer;
  side->nexus->manage(TaskManagementFunction::logical_unit_reset, target::encode_lun(0),
                      [&](TaskManagementAnswer given) { answer = given; });
  side->run_until([&] { return answer.has_value(); });
  EXPECT_SENSE(none(test_unit_ready()), "6/29/03");
  EXPECT_SENSE(out(cdb10(0x2a, 5, 1), data(512)), "4/44/00");  // a reset is no restart
}

TEST_F(AtomicWrite, OneWaitsForAnotherSessions) {
  set_up_journalled();
  open_other();
  desk->hold = true;
  const auto first = out(cdb(5, 2), data(1024, 1));
  const auto second = on_other(cdb(5, 2), data(1024, 2));
  const auto third = out(cdb16(0x89, 5, 1), stored(5, 1) + data(512, 3));  // COMPARE AND WRITE
  settle();
  EXPECT_EQ(requests(), (Requests{"read 5+2"})) << "of the first; others have not begun";
  desk->hold = false;
  desk->release_all();
  side->run_until([&] { return first->ended(); });
  EXPECT_GOOD(first);
  EXPECT_FALSE(second->ended());
  EXPECT_EQ(stored(5, 2), data(1024, 1));
  other->run_until([&] { return second->ended(); });
  EXPECT_GOOD(second);
  EXPECT_EQ(stored(5, 2), data(1024, 2));
  side->run_until([&] { return third->ended(); });
  EXPECT_SENSE(third, "e/1d/00");
}

// At each of its requests: all or nothing, and the journal is gone before anybody hears of it.
TEST_F(AtomicWrite, AbortMeanwhileWaitsForTheWhole) {
  for (const std::size_t held : {0U, 1U}) {
    set_up_journalled();
    const auto before = desk->bytes;
    desk->hold = true;
    const auto task = out(cdb(5, 2), data(1024));
    if (held == 1) {
      desk->release();
      side->run_until([&] { return !desk->held.empty(); });
      EXPECT_TRUE(is_saved());
    }
    task->abort();
    EXPECT_FALSE(task->ended());
    desk->hold = false;
    desk->release_all();
    side->run_until([&] { return task->ended(); });
    EXPECT_TRUE(task->released);
    EXPECT_FALSE(is_saved());
    EXPECT_EQ(stored(5, 2), data(1024));
    EXPECT_GOOD(write(cdb(5, 2), data(1024, 9)));  // the next one is let in
    TearDown();
  }
}

TEST_F(AtomicWrite, AbortWhileTheJournalIsSaved) {
  set_up_journalled();
  const auto task = out(cdb(5, 2), data(1024));
  task->abort();
  EXPECT_FALSE(task->ended());
  side->run_until([&] { return task->ended(); });
  EXPECT_TRUE(task->released);
  EXPECT_FALSE(is_saved());
  EXPECT_EQ(stored(5, 2), data(1024));
}

TEST_F(AtomicWrite, AbortWhileItWaitsForAnotherWritesNothing) {
  set_up_journalled();
  open_other();
  desk->hold = true;
  const auto first = out(cdb(5, 1), data(512, 1));
  const auto second = on_other(cdb(5, 1), data(512, 2));
  second->abort();
  EXPECT_TRUE(second->released);
  desk->hold = false;
  desk->release_all();
  side->run_until([&] { return first->ended(); });
  settle();
  EXPECT_EQ(stored(5, 1), data(512, 1));
  EXPECT_EQ(sense_on_other(cdb(5, 1), data(512, 3)), "good");
}

TEST_F(AtomicWrite, LogicalUnitResetMeanwhileWaitsForTheWhole) {
  set_up_journalled();
  open_other();
  desk->hold = true;
  const auto task = on_other(cdb(5, 2), data(1024));
  std::optional<TaskManagementAnswer> answer;
  side->nexus->manage(TaskManagementFunction::logical_unit_reset, target::encode_lun(0),
                      [&](TaskManagementAnswer given) {
                        answer = given;
                        EXPECT_FALSE(is_saved());
                      });
  settle();
  EXPECT_FALSE(answer.has_value());
  desk->release();  // the old data has been read
  other->run_until([&] { return !desk->held.empty(); });
  settle();
  EXPECT_FALSE(answer.has_value());
  EXPECT_TRUE(is_saved());
  desk->release();
  other->run_until([&] { return task->ended(); });
  EXPECT_EQ(task->status, kTaskAborted);
  side->run_until([&] { return answer.has_value(); });
  EXPECT_EQ(answer, TaskManagementAnswer::complete);
  EXPECT_EQ(stored(5, 2), data(1024));
}

TEST_F(AtomicWrite, ReservedForAnother) {
  set_up_journalled();
  other = std::make_unique<SessionSide>(device, target::StoreEngine::Kind::threads,
                                        "iqn.2026-01.test:o,i,0x800000000002");
  TwoSessions::on_other(test_unit_ready());
  ASSERT_EQ(TwoSessions::on_other(hex("16 00 00 00 00 00")), "good");
  EXPECT_EQ(out(cdb(5, 1), data(512))->status, kReservationConflict);
  EXPECT_TRUE(desk->seen.empty());
}

// --- what the next start finds ---

// The journal and the blocks as a crash before the write in place leaves them.
class Interrupted : public AtomicWrite {
 protected:
  void SetUp() override {
    set_up_journalled();
    before = desk->bytes;
    desk->fault = [&](const StoreRequest& request) {
      if (request.operation == Operation::write) std::filesystem::copy(journal().path(), kept());
      return 0;
    };
    EXPECT_GOOD(write(cdb(5, 3), data(3 * 512)));
    after = desk->bytes;
    desk->fault = nullptr;
    desk->seen.clear();
    crash(0);
  }
  std::string kept() const { return folder.path("kept"); }
  // So many bytes of the data are in place.
  void crash(std::size_t written) {
    desk->bytes = before;
    std::copy_n(after.begin() + 5 * 512, written, desk->bytes.begin() + 5 * 512);
    std::filesystem::copy(kept(), journal().path(),
                          std::filesystem::copy_options::overwrite_existing);
  }
  // What a start says; "" if it is content.
  std::string start() {
    FaultStore store(desk);
    try {
      target::finish_atomic_write(store, journal());
      return "";
    } catch (const target::StartError& error) {
      return error.what();
    }
  }
  ByteVector before;
  ByteVector after;
};

TEST_F(Interrupted, IsFinishedWhereverItStopped) {
  for (const std::size_t written : {0U, 1U, 512U, 700U, 1535U, 1536U}) {
    crash(written);
    desk->seen.clear();
    EXPECT_EQ(start(), "");
    EXPECT_TRUE(desk->bytes == after) << written;
    EXPECT_EQ(requests(), (Requests{"write 5+3!", "flush"}));
    EXPECT_FALSE(is_saved());
  }
}

TEST_F(Interrupted, OnceFinishedIsNotFinishedAgain) {
  EXPECT_EQ(start(), "");
  desk->bytes = before;
  EXPECT_EQ(start(), "");
  EXPECT_TRUE(desk->bytes == before);
}

TEST_F(Interrupted, IsKeptUntilItIsWhole) {
  for (const Operation failing : {Operation::write, Operation::flush}) {
    desk->fail(failing, EIO);
    EXPECT_NE(start().find("Input/output error"), std::string::npos);
    EXPECT_TRUE(is_saved());
  }
  desk->fault = nullptr;
  EXPECT_EQ(start(), "");
  EXPECT_TRUE(desk->bytes == after);
}

TEST_F(Interrupted, OfAnotherStoreIsNotWrittenToThisOne) {
  desk->properties.description = "another";
  EXPECT_EQ(start(), journal().path().string() +
                         ": an interrupted atomic write cannot be finished: it is of fault store, "
                         "not of another; put that right, or remove the file to go on without it");
  EXPECT_TRUE(desk->bytes == before);
  EXPECT_TRUE(is_saved());
}

TEST_F(Interrupted, ReadOnlyOrCutShort) {
  desk->properties.read_only = true;
  EXPECT_NE(start().find("fault store is read-only"), std::string::npos);
  desk->properties.read_only = false;
  for (const std::size_t size : {512U, 5U * 512, 8U * 512 - 1}) {
    desk->properties.size = size;
    EXPECT_NE(start().find("too small"), std::string::npos);
  }
  EXPECT_TRUE(desk->seen.empty());
  desk->properties.size = 8UL * 512;
  EXPECT_EQ(start(), "");
}

TEST_F(Interrupted, DamagedAtEveryByteIsNotBelieved) {
  const auto size = std::filesystem::file_size(kept());
  for (std::size_t at = 0; at < size; at += at < 100 ? 1 : 97) {
    crash(0);
    std::fstream file(journal().path(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
    file.close();
    EXPECT_NE(start().find(journal().path().string()), std::string::npos) << at;
  }
  for (std::size_t length = 0; length < size; length += 61) {
    crash(0);
    std::filesystem::resize_file(journal().path(), length);
    EXPECT_NE(start(), "") << length;
  }
  EXPECT_TRUE(desk->seen.empty());
}

}  // namespace
}  // namespace openiser::test
