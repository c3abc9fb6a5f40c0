// One target device with one session (nexus) on it, and short ways to build CDBs and read answers.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "rdmap/tcp/event_loop.h"
#include "target/scsi/cdb.h"
#include "target/scsi/nexus.h"
#include "tests/support/fake_task.h"
#include "tests/support/fault_store.h"

namespace openiser::test {

inline constexpr std::uint8_t kGood = 0x00;
inline constexpr std::uint8_t kCheckCondition = 0x02;
inline constexpr std::uint8_t kReservationConflict = 0x18;
inline constexpr std::uint8_t kTaskAborted = 0x40;

// Sense data in short: "key/asc/ascq", with "@byte" or "@byte.bit" for a field in the CDB and
// "#byte" for one in the parameter list.
inline std::string sense_text(Bytes sense) {
  if (sense.size() < 18) return "none";
  char text[64];
  const auto at = [&](std::size_t i) { return load_u8(&sense[i]); };
  std::snprintf(text, sizeof text, "%x/%02x/%02x", at(2) & 0xf, at(12), at(13));
  std::string all = text;
  if ((at(15) & 0x80) == 0) return all;
  all += (at(15) & 0x40) != 0 ? "@" : "#";
  all += std::to_string(load_be16(&sense[16]));
  if ((at(15) & 0x08) != 0) all += "." + std::to_string(at(15) & 7);
  return all;
}

inline ByteVector cdb6(std::uint8_t opcode, std::uint32_t lba, std::uint8_t length) {
  ByteVector cdb(6);
  store_be24(&cdb[1], lba);
  store_u8(&cdb[0], opcode);
  store_u8(&cdb[4], length);
  return cdb;
}
inline ByteVector cdb10(std::uint8_t opcode, std::uint32_t lba, std::uint16_t blocks,
                        std::uint8_t flags = 0) {
  ByteVector cdb(10);
  store_u8(&cdb[0], opcode);
  store_u8(&cdb[1], flags);
  store_be32(&cdb[2], lba);
  store_be16(&cdb[7], blocks);
  return cdb;
}
inline ByteVector cdb12(std::uint8_t opcode, std::uint32_t lba, std::uint32_t blocks,
                        std::uint8_t flags = 0) {
  ByteVector cdb(12);
  store_u8(&cdb[0], opcode);
  store_u8(&cdb[1], flags);
  store_be32(&cdb[2], lba);
  store_be32(&cdb[6], blocks);
  return cdb;
}
inline ByteVector cdb16(std::uint8_t opcode, std::uint64_t lba, std::uint32_t blocks,
                        std::uint8_t flags = 0) {
  ByteVector cdb(16);
  store_u8(&cdb[0], opcode);
  store_u8(&cdb[1], flags);
  store_be64(&cdb[2], lba);
  store_be32(&cdb[10], blocks);
  return cdb;
}

// A session's side of the target: its loop, engine and nexus.
struct SessionSide {
  rdmap::EventLoop loop;
  std::unique_ptr<target::StoreEngine> engine;
  FakePool pool;
  std::unique_ptr<iscsi::TaskHandler> nexus;

  explicit SessionSide(std::shared_ptr<target::TargetDevice> device,
                       target::StoreEngine::Kind kind = target::StoreEngine::Kind::threads,
                       std::string initiator_port = "iqn.2026-01.test:i,i,0x800000000001",
                       std::uint16_t relative_target_port = 1)
      : engine(target::StoreEngine::create(loop, kind)) {
    const std::string name = device->name;
    nexus = target::make_nexus(std::move(device),
                               {.initiator_port = std::move(initiator_port),
                                .target_port = name + ",t,0x0001",
                                .relative_target_port = relative_target_port,
                                .initiator_name = "iqn.2026-01.test:i"},
                               loop, *engine);
  }
  // Runs the loop until `done` says so; fails after ten seconds.
  template <class Done>
  void run_until(Done done) {
    bool late = false;
    rdmap::Timer limit(loop, [&] {
      late = true;
      loop.stop();
    });
    limit.set(loop.now() + std::chrono::seconds(10));
    rdmap::Timer look(loop, [&] { loop.stop(); });
    while (!late && !done()) {
      look.set(loop.now() + std::chrono::milliseconds(1));
      loop.run();
    }
    ASSERT_FALSE(late) << "nothing came";
  }
  std::unique_ptr<FakeTask> task(const ByteVector& cdb, std::uint16_t lun = 0) {
    auto made = std::make_unique<FakeTask>(*nexus, pool, cdb);
    made->lun = target::encode_lun(lun);
    return made;
  }
};

class ScsiFixture : public ::testing::Test {
 protected:
  static constexpr const char* kName = "iqn.2026-01.test:disk";

  // LUN 0 of `blocks` blocks on a fault store, with no unit attention pending.
  void set_up(std::uint32_t block_size = 512, std::uint64_t blocks = 1024,
              bool volatile_cache = true, bool discard = true) {
    block_ = block_size;
    desk = FaultStore::make_desk(block_size * blocks);
    desk->properties.volatile_cache = volatile_cache;
    desk->properties.discard = discard;
    for (std::size_t i = 0; i < desk->bytes.size(); ++i) {
      desk->bytes[i] = static_cast<std::byte>(i / block_size * 7 + i);
    }
    settings.block_size = block_size;
    device = std::make_shared<target::TargetDevice>();
    device->name = kName;
    device->units[settings.lun] =
        target::make_logical_unit(kName, settings, std::make_unique<FaultStore>(desk));
    open();
  }
  // A new session.
  void open() {
    side = std::make_unique<SessionSide>(device);
    for (const auto& [lun, unit] : device->units) {
      EXPECT_EQ(none(hex("00 00 00 00 00 00"), lun)->status, kCheckCondition);
    }
  }
  void TearDown() override { side.reset(); }

  // Runs a task to its end, if the store lets it.
  std::unique_ptr<FakeTask> run(std::unique_ptr<FakeTask> task) {
    task->execute();
    return task;
  }
  std::unique_ptr<FakeTask> none(const ByteVector& cdb, std::uint16_t lun = 0) {
    return run(side->task(cdb, lun));
  }
  std::unique_ptr<FakeTask> in(const ByteVector& cdb, std::uint32_t expected,
                               std::uint16_t lun = 0) {
    auto task = side->task(cdb, lun);
    task->read = true;
    task->expected_data_transfer_length = expected;
    return run(std::move(task));
  }
  std::unique_ptr<FakeTask> out_task(const ByteVector& cdb, const ByteVector& data,
                                     std::uint16_t lun = 0) {
    auto task = side->task(cdb, lun);
    task->write = true;
    task->expected_data_transfer_length = static_cast<std::uint32_t>(data.size());
    task->data_out = data;
    return task;
  }
  std::unique_ptr<FakeTask> out(const ByteVector& cdb, const ByteVector& data,
                                std::uint16_t lun = 0) {
    return run(out_task(cdb, data, lun));
  }
  ByteVector stored(std::uint64_t block, std::size_t blocks) const {
    const auto start = desk->bytes.begin() + static_cast<std::ptrdiff_t>(block * block_);
    return {start, start + static_cast<std::ptrdiff_t>(blocks * block_)};
  }
  // Random-looking, never zero.
  static ByteVector data(std::size_t size, unsigned seed = 1) {
    ByteVector bytes(size);
    for (std::size_t i = 0; i < size; ++i) {
      seed = seed * 1103515245 + 12345;
      bytes[i] = static_cast<std::byte>(seed >> 16 | 1);
    }
    return bytes;
  }

  std::uint32_t block_ = 512;
  target::LogicalUnitSettings settings;
  std::shared_ptr<StoreDesk> desk;
  std::shared_ptr<target::TargetDevice> device;
  std::unique_ptr<SessionSide> side;
};

#define EXPECT_GOOD(task)                                                       \
  do {                                                                          \
    const auto& checked_task = (task);                                          \
    ASSERT_TRUE(checked_task->status.has_value());                              \
    EXPECT_EQ(*checked_task->status, kGood) << sense_text(checked_task->sense); \
  } while (false)
#define EXPECT_SENSE(task, text)                        \
  do {                                                  \
    const auto& checked_task = (task);                  \
    ASSERT_TRUE(checked_task->status.has_value());      \
    EXPECT_EQ(*checked_task->status, kCheckCondition);  \
    EXPECT_EQ(sense_text(checked_task->sense), (text)); \
  } while (false)

}  // namespace openiser::test
