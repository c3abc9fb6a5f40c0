// WRITE AND VERIFY, ORWRITE, PRE-FETCH and READ DEFECT DATA.
#include <gtest/gtest.h>

#include "tests/support/scsi_fixture.h"

namespace openiser::test {
namespace {

using Operation = target::StoreRequest::Operation;
constexpr std::uint8_t kConditionMet = 0x04;

class WriteVerify : public ScsiFixture {};

ByteVector all_lengths(int which, std::uint32_t lba, std::uint16_t blocks, std::uint8_t flags) {
  if (which == 0) return cdb10(0x2e, lba, blocks, flags);
  if (which == 1) return cdb12(0xae, lba, blocks, flags);
  return cdb16(0x8e, lba, blocks, flags);
}

TEST_F(WriteVerify, WritesToTheMediumAndReadsBack) {
  set_up();
  for (int which = 0; which < 3; ++which) {
    for (const std::uint8_t bytchk : {0x00, 0x02, 0x12}) {
      desk->seen.clear();
      const auto bytes = data(4 * 512, 5 + which);
      const auto task = out(all_lengths(which, 8, 4, bytchk), bytes);
      EXPECT_GOOD(task);
      EXPECT_EQ(task->transfer_length, 2048U);
      EXPECT_EQ(stored(8, 4), bytes);
      ASSERT_EQ(desk->seen.size(), 2U);
      EXPECT_EQ(desk->seen[0].operation, Operation::write);
      EXPECT_TRUE(desk->seen[0].force_unit_access);
      EXPECT_EQ(desk->seen[1].operation, Operation::read);
    }
  }
}

TEST_F(WriteVerify, AMediumThatKeepsSomethingElse) {
  set_up();
  // Reads give what was there before the write.
  desk->fault = [this](const target::StoreRequest& request) {
    if (request.operation == Operation::read) desk->bytes[8 * 512 + 700] ^= std::byte{1};
    return 0;
  };
  EXPECT_SENSE(out(cdb10(0x2e, 8, 2, 0x02), data(1024)), "e/1d/00");
  EXPECT_GOOD(out(cdb10(0x2e, 8, 2, 0x00), data(1024)));  // it can be read
  desk->fail(Operation::read, EIO);
  EXPECT_SENSE(out(cdb10(0x2e, 8, 2, 0x00), data(1024)), "3/11/00");
  desk->fail(Operation::write, ENOSPC);
  EXPECT_SENSE(out(cdb10(0x2e, 8, 2, 0x00), data(1024)), "7/27/07");
}

TEST_F(WriteVerify, RefusedFields) {
  set_up();
  EXPECT_SENSE(out(cdb10(0x2e, 0, 1, 0x04), data(512)), "5/24/00@1.2");
  EXPECT_SENSE(out(cdb10(0x2e, 0, 1, 0x06), data(512)), "5/24/00@1.2");
  EXPECT_SENSE(out(cdb10(0x2e, 0, 1, 0x20), data(512)), "5/24/00@1.7");
  EXPECT_SENSE(out(cdb10(0x2e, 1024, 1), data(512)), "5/21/00@2");
  EXPECT_SENSE(out(cdb16(0x8e, 1000, 25), data(512)), "5/21/00@2");
  EXPECT_GOOD(none(cdb10(0x2e, 0, 0)));
}

TEST_F(WriteVerify, LengthsThatDiffer) {
  set_up();
  const auto before = stored(2, 1);
  EXPECT_GOOD(out(cdb10(0x2e, 0, 4, 0x02), data(1024 + 100)));
  EXPECT_EQ(stored(0, 2), data(1024));
  EXPECT_EQ(stored(2, 1), before);
}

TEST_F(WriteVerify, OrwriteOrs) {
  set_up();
  const auto before = stored(3, 600);
  const auto bytes = data(600 * 512, 9);
  const auto task = out(cdb16(0x8b, 3, 600), bytes);
  EXPECT_GOOD(task);
  EXPECT_EQ(task->transfer_length, 600 * 512U);
  const auto after = stored(3, 600);
  for (std::size_t i = 0; i < after.size(); ++i) ASSERT_EQ(after[i], before[i] | bytes[i]);
  EXPECT_EQ(desk->seen.back().operation, Operation::write);
  EXPECT_FALSE(desk->seen.back().force_unit_access);
  EXPECT_GOOD(out(cdb16(0x8b, 3, 1, 0x18), data(512)));
  EXPECT_TRUE(desk->seen.back().force_unit_access);
}

TEST_F(WriteVerify, OrwriteInOddPieces) {
  set_up();
  const auto before = stored(0, 3);
  auto task = out_task(cdb16(0x8b, 0, 3), data(3 * 512));
  task->piece_size = 7;
  task->execute();
  EXPECT_GOOD(task);
  const auto after = stored(0, 3);
  for (std::size_t i = 0; i < after.size(); ++i) {
    ASSERT_EQ(after[i], before[i] | data(3 * 512)[i]);
  }
}

TEST_F(WriteVerify, OrwriteWithoutMemoryOfTheSession) {
  set_up();
  side->pool.limit = 0;
  EXPECT_GOOD(out(cdb16(0x8b, 0, 3), data(3 * 512)));
}

TEST_F(WriteVerify, OrwritesWaitForEachOther) {
  set_up();
  desk->hold = true;
  ByteVector low(512, std::byte{0x01});
  ByteVector high(512, std::byte{0x80});
  std::fill_n(desk->bytes.begin(), 512, std::byte{0});
  const auto first = out(cdb16(0x8b, 0, 1), low);
  const auto second = out(cdb16(0x8b, 0, 1), high);
  EXPECT_EQ(desk->held.size(), 1U) << "the second has not read yet";
  desk->release();  // read
  desk->release();  // write
  side->run_until([&] { return first->ended() && !desk->held.empty(); });
  desk->release_all();
  EXPECT_GOOD(first);
  EXPECT_GOOD(second);
  EXPECT_EQ(stored(0, 1), ByteVector(512, std::byte{0x81}));
}

TEST_F(WriteVerify, OrwriteErrors) {
  set_up();
  EXPECT_SENSE(out(cdb16(0x8b, 1024, 1), data(512)), "5/21/00@2");
  EXPECT_SENSE(out(cdb16(0x8b, 0, 1, 0x20), data(512)), "5/24/00@1.7");
  EXPECT_GOOD(none(cdb16(0x8b, 1024 - 1, 0)));
  desk->fail(Operation::read, EIO);
  const auto before = stored(0, 1);
  EXPECT_SENSE(out(cdb16(0x8b, 0, 1), data(512)), "3/11/00");
  EXPECT_EQ(stored(0, 1), before);
  desk->fail(Operation::write, EIO);
  EXPECT_SENSE(out(cdb16(0x8b, 0, 1), data(512)), "3/0c/00");
}

TEST_F(WriteVerify, WriteProtected) {
  settings.read_only = true;
  set_up();
  EXPECT_SENSE(out(cdb16(0x8b, 0, 1), data(512)), "7/27/00");
  EXPECT_SENSE(out(cdb10(0x2e, 0, 1), data(512)), "7/27/00");
}

TEST_F(WriteVerify, PrefetchAdvises) {
  set_up();
  EXPECT_GOOD(none(cdb10(0x34, 8, 4)));
  EXPECT_EQ(desk->seen.back().operation, Operation::prefetch);
  EXPECT_EQ(desk->seen.back().offset, 8 * 512U);
  EXPECT_EQ(desk->seen.back().length, 4 * 512U);
  EXPECT_GOOD(none(cdb16(0x90, 1000, 0, 0x02)));
  EXPECT_EQ(desk->seen.back().length, 24 * 512U) << "to the end";
  desk->is_cached = true;
  EXPECT_EQ(none(cdb10(0x34, 8, 4))->status, kConditionMet);
  EXPECT_EQ(none(cdb16(0x90, 0, 0))->status, kConditionMet);
}

TEST_F(WriteVerify, PrefetchBeyondTheEnd) {
  set_up();
  for (const auto& cdb : {cdb10(0x34, 1023, 2), cdb10(0x34, 1024, 0), cdb16(0x90, 1023, 2),
                          cdb16(0x90, UINT64_MAX, 1)}) {
    EXPECT_SENSE(none(cdb), "5/21/00@2");
  }
}

TEST_F(WriteVerify, DefectListsAreEmpty) {
  set_up();
  for (std::uint8_t asked = 0; asked < 0x20; ++asked) {
    auto ten = hex("37 00 00 00 00 00 00 00 ff 00");
    store_u8(&ten[2], asked);
    auto twelve = hex("b7 00 00 00 00 00 00 00 00 ff 00 00");
    store_u8(&twelve[1], asked);
    if ((asked & 7) >= 6) {
      EXPECT_SENSE(in(ten, 255), "5/24/00@2.2");
      EXPECT_SENSE(in(twelve, 255), "5/24/00@1.2");
      continue;
    }
    ByteVector header(8);
    store_u8(&header[1], asked);
    EXPECT_EQ(in(twelve, 255)->data_in, header);
    header.resize(4);
    EXPECT_EQ(in(ten, 255)->data_in, header);
  }
  for (std::uint8_t length = 0; length < 12; ++length) {
    auto twelve = hex("b7 18 00 00 00 00 00 00 00 00 00 00");
    store_u8(&twelve[9], length);
    EXPECT_EQ(in(twelve, 255)->data_in.size(), std::min<std::size_t>(length, 8));
  }
}

}  // namespace
}  // namespace openiser::test
