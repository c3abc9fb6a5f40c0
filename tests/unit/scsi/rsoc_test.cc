// REPORT SUPPORTED OPERATION CODES, and how opcodes are looked up.
#include <gtest/gtest.h>

#include <algorithm>

#include <map>

#include "target/scsi/opcode_table.h"
#include "tests/support/scsi_fixture.h"

namespace openiser::test {
namespace {

class Rsoc : public ScsiFixture {
 protected:
  static ByteVector cdb(std::uint8_t options, std::uint8_t opcode = 0, std::uint16_t action = 0,
                        std::uint32_t allocation = 4096) {
    ByteVector bytes(12);
    store_u8(&bytes[0], 0xa3);
    store_u8(&bytes[1], 0x0c);
    store_u8(&bytes[2], options);
    store_u8(&bytes[3], opcode);
    store_be16(&bytes[4], action);
    store_be32(&bytes[6], allocation);
    return bytes;
  }
  std::string ask(std::uint8_t options, std::uint8_t opcode, std::uint16_t action = 0) {
    const auto task = in(cdb(options, opcode, action), 4096);
    return task->status == kGood ? to_hex(task->data_in) : sense_text(task->sense);
  }
};

TEST_F(Rsoc, AllCommands) {
  set_up();
  const auto task = in(cdb(0), 4096);
  EXPECT_GOOD(task);
  const auto& data = task->data_in;
  ASSERT_EQ(load_be32(data.data()), data.size() - 4);
  ASSERT_EQ(data.size(), 4 + 8 * target::opcode_rows().size());
  // The first, and the one with a service action.
  EXPECT_EQ(to_hex(Bytes(data).subspan(4, 8)), "0000000000000006");
  bool found = false;
  for (std::size_t at = 4; at < data.size(); at += 8) {
    if (to_hex(Bytes(data).subspan(at, 8)) == "a300000c0001000c") found = true;
  }
  EXPECT_TRUE(found);
}

TEST_F(Rsoc, AllCommandsWithTimeouts) {
  set_up();
  const auto task = in(cdb(0x80), 4096);
  const auto& data = task->data_in;
  ASSERT_EQ(data.size(), 4 + 20 * target::opcode_rows().size());
  EXPECT_EQ(to_hex(Bytes(data).subspan(4, 20)),
            "0000000000020006"
            "000a0000000000010000003c");
}

TEST_F(Rsoc, AllCommandsIsCut) {
  set_up();
  for (std::uint32_t length = 0; length < 40; ++length) {
    const auto task = in(cdb(0, 0, 0, length), 4096);
    EXPECT_EQ(task->data_in.size(), length);
    EXPECT_EQ(task->transfer_length, length);
  }
}

TEST_F(Rsoc, OneCommand) {
  set_up();
  EXPECT_EQ(ask(1, 0x28),
            "0003000a"
            "2818ffffffff00ffff04");
  EXPECT_EQ(ask(1, 0x12),
            "00030006"
            "1201ffffff04");
}

TEST_F(Rsoc, OneCommandWithTimeouts) {
  set_up();
  EXPECT_EQ(ask(0x81, 0x00),
            "00830006"
            "000000000004"
            "000a0000000000010000003c");
}

TEST_F(Rsoc, WorkOnTheWholeMediumHasNoTimeouts) {
  set_up();
  EXPECT_EQ(ask(0x82, 0x48, 0x01),
            "0083000a"
            "48a10000000000ffff04"
            "000a00000000000000000000");
}

TEST_F(Rsoc, OneCommandThatIsNotThere) {
  set_up();
  EXPECT_EQ(ask(1, 0xff), "00010000");
  EXPECT_EQ(ask(2, 0xff, 3), "00010000");
  EXPECT_EQ(ask(3, 0xff), "00010000");
  EXPECT_EQ(ask(0x81, 0xff), "00010000");
}

TEST_F(Rsoc, CommandWithServiceAction) {
  set_up();
  EXPECT_EQ(ask(2, 0xa3, 0x0c),
            "0003000c"
            "a30c87ffffffffffffff0004");
  EXPECT_EQ(ask(3, 0xa3, 0x0c),
            "0003000c"
            "a30c87ffffffffffffff0004");
  EXPECT_EQ(ask(3, 0x28, 0),
            "0003000a"
            "2818ffffffff00ffff04");
}

TEST_F(Rsoc, ServiceActionsThatAreNotThere) {
  set_up();
  EXPECT_EQ(ask(2, 0x9e, 0x13), "00010000");
  EXPECT_EQ(ask(2, 0x9e, 0x110), "00010000") << "only five bits count, but none is dropped";
  EXPECT_EQ(ask(3, 0x9e, 0), "00010000");
  EXPECT_EQ(ask(3, 0x28, 1), "00010000");
}

TEST_F(Rsoc, OptionsThatDoNotFitTheOpcode) {
  set_up();
  EXPECT_EQ(ask(1, 0x9e), "5/24/00@2.2");
  EXPECT_EQ(ask(2, 0x28), "5/24/00@2.2");
  EXPECT_EQ(ask(4, 0x28), "5/24/00@2.2");
  EXPECT_EQ(ask(7, 0x28), "5/24/00@2.2");
}

TEST_F(Rsoc, UnmapIsThereOnlyWithDiscard) {
  set_up();
  EXPECT_EQ(ask(1, 0x42),
            "0003000a"
            "420100000000"
            "00ffff04");
  set_up(512, 1024, true, false);
  EXPECT_EQ(ask(1, 0x42), "00010000");
  EXPECT_EQ(ask(2, 0x48, 0x02), "00010000");
  const auto needs_discard = [](const target::OpcodeRow& row) {
    return (row.access & target::access::needs_discard) != 0;
  };
  const auto missing = std::ranges::count_if(target::opcode_rows(), needs_discard);
  EXPECT_EQ(missing, 2);
  EXPECT_EQ(in(cdb(0), 4096)->data_in.size(), 4 + 8 * (target::opcode_rows().size() - 2));
}

TEST_F(Rsoc, WriteAtomicIsThereOnlyWhereItCanBe) {
  set_up();
  EXPECT_EQ(ask(1, 0x9c),
            "00030010"
            "9c18ffffffffffffffffffffffff0004");
  desk->properties.volatile_content = false;
  device->units[0] = target::make_logical_unit(kName, settings, std::make_unique<FaultStore>(desk));
  open();
  EXPECT_EQ(ask(1, 0x9c), "00010000");
  EXPECT_EQ(in(cdb(0), 4096)->data_in.size(), 4 + 8 * (target::opcode_rows().size() - 1));
}

TEST_F(Rsoc, UsageDataOfEveryRowFitsIt) {
  for (const target::OpcodeRow& row : target::opcode_rows()) {
    EXPECT_EQ(row.usage[0], row.opcode);
    EXPECT_EQ(row.usage[row.cdb_length - 1U], 0x04) << row.name << ": NACA is looked at";
    for (std::size_t i = row.cdb_length; i < 16; ++i) EXPECT_EQ(row.usage[i], 0) << row.name;
    if ((row.access & target::access::has_service_action) != 0) {
      EXPECT_EQ(row.usage[1] & 0x1f, row.service_action) << row.name;
    }
    EXPECT_EQ(target::find_opcode(row.opcode, row.service_action).row, &row);
  }
}

// Whatever is in the table is answered, whatever is not is refused, and nothing trips.
class Opcodes : public ScsiFixture {};

TEST_F(Opcodes, UnknownOnesAreRefused) {
  set_up();
  for (int opcode = 0; opcode < 256; ++opcode) {
    ByteVector cdb(16);
    store_u8(&cdb[0], static_cast<std::uint8_t>(opcode));
    const auto match = target::find_opcode(static_cast<std::uint8_t>(opcode), 0);
    if (match.row || match.unknown_service_action) continue;
    EXPECT_SENSE(none(cdb), "5/20/00");
  }
}

TEST_F(Opcodes, UnknownServiceActionsAreInvalidFields) {
  set_up();
  EXPECT_SENSE(in(cdb16(0x9e, 0, 32, 0x13), 32), "5/24/00@1.4");
  EXPECT_SENSE(in(cdb12(0xa3, 0, 0, 0x1f), 32), "5/24/00@1.4");
}

TEST_F(Opcodes, NacaIsRefused) {
  set_up();
  for (const target::OpcodeRow& row : target::opcode_rows()) {
    ByteVector cdb(16);
    store_u8(&cdb[0], row.opcode);
    store_u8(&cdb[1], row.service_action);
    store_u8(&cdb[row.cdb_length - 1U], 0x04);
    EXPECT_SENSE(none(cdb), "5/24/00@" + std::to_string(row.cdb_length - 1) + ".2");
  }
}

TEST_F(Opcodes, CdbsAreCutAtEveryByte) {
  set_up();
  for (const target::OpcodeRow& row : target::opcode_rows()) {
    for (std::size_t length = 2; length < row.cdb_length; ++length) {
      ByteVector cdb(length);
      store_u8(&cdb[0], row.opcode);
      store_u8(&cdb[1], row.service_action);
      EXPECT_SENSE(none(cdb), "5/24/00");
    }
  }
  EXPECT_SENSE(none({}), "5/20/00");
}

TEST_F(Opcodes, LunThatIsNotThere) {
  set_up();
  for (const target::OpcodeRow& row : target::opcode_rows()) {
    if ((row.access & target::access::any_lun) != 0) continue;
    ByteVector cdb(16);
    store_u8(&cdb[0], row.opcode);
    store_u8(&cdb[1], row.service_action);
    EXPECT_SENSE(none(cdb, 3), "5/25/00");
  }
  EXPECT_SENSE(none(hex("ff 00 00 00 00 00"), 3), "5/25/00");
}

TEST_F(Opcodes, LunsInFormsOfTheirOwn) {
  set_up();
  for (const auto& [lun, good] : {std::pair{"0000000000000000", true},
                                  {"4000000000000000", true},
                                  {"d200000000000000", true},
                                  {"0100000000000000", false},
                                  {"c101000000000000", false},
                                  {"d201000000000000", false}}) {
    auto task = side->task(hex("00 00 00 00 00 00"));
    const auto bytes = hex(lun);
    std::copy(bytes.begin(), bytes.end(), task->lun.begin());
    task->execute();
    if (good) {
      EXPECT_GOOD(task);
    } else {
      EXPECT_SENSE(task, "5/25/00");
    }
  }
}

// Random CDBs with random data: anything but a crash, an assertion or a task without an end.
TEST_F(Opcodes, RandomCdbsEnd) {
  set_up();
  unsigned seed = 42;
  const auto random = [&] { return (seed = seed * 1103515245 + 12345) >> 12; };
  const auto rows = target::opcode_rows();
  for (int round = 0; round < 20000; ++round) {
    ByteVector cdb(16);
    for (std::byte& b : cdb) b = static_cast<std::byte>(random() % 3 == 0 ? random() : 0);
    const target::OpcodeRow& row = rows[random() % rows.size()];
    store_u8(&cdb[0], row.opcode);
    if ((row.access & target::access::has_service_action) != 0) {
      store_u8(&cdb[1], row.service_action);
    }
    auto task = side->task(cdb, random() % 16 == 0 ? 1 : 0);
    task->read = random() % 2 == 0;
    task->write = !task->read;
    task->expected_data_transfer_length = random() % 3 == 0 ? 0 : random() % 70000;
    task->data_out = data(task->write ? task->expected_data_transfer_length : 0, random());
    task->execute();
    // Work on the whole medium is done by another thread.
    if (!task->ended()) side->run_until([&] { return task->ended(); });
    ASSERT_TRUE(task->status.has_value()) << to_hex(cdb);
    ASSERT_EQ(side->pool.outstanding, 0U) << to_hex(cdb);
  }
}

}  // namespace
}  // namespace openiser::test
