// A file that somebody else has cut short under its unit: what is gone is a medium error.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "target/state_file.h"
#include "tests/support/scsi_fixture.h"
#include "tests/support/temporary_folder.h"

namespace openiser::test {
namespace {

class CutFile : public ScsiFixture, public ::testing::WithParamInterface<bool> {
 protected:
  // 64 blocks, all written, of which 10 and a half are left. The parameter: the size is configured,
  // and not the file's.
  void SetUp() override {
    { std::ofstream(path()) << std::string(kSize, 'x'); }
    auto store = target::open_file_store(path(), {.size = GetParam() ? kSize : 0});
    ASSERT_TRUE(store);
    settings.state = &state;
    device = std::make_shared<target::TargetDevice>();
    device->name = kName;
    device->units[0] = target::make_logical_unit(kName, settings, std::move(*store));
    open();
    std::filesystem::resize_file(path(), 10 * 512 + 256);
  }
  void TearDown() override {
    ScsiFixture::TearDown();
    device.reset();
  }
  std::string path() const { return folder.path("disk"); }
  std::unique_ptr<FakeTask> ended(std::unique_ptr<FakeTask> task) {
    side->run_until([&] { return task->ended(); });
    return task;
  }
  std::unique_ptr<FakeTask> read(std::uint32_t lba, std::uint16_t blocks) {
    return ended(in(cdb10(0x28, lba, blocks), blocks * 512U));
  }
  // "3/11/00 at LBA"
  static std::string fault(const FakeTask& task) {
    if (task.status != kCheckCondition) return "none";
    return sense_text(task.sense) + " at " + std::to_string(load_be32(&task.sense[3]));
  }

  static constexpr std::size_t kSize = 64UL * 512;
  TemporaryFolder folder;
  target::StateFolder state{folder.path("state")};
};
INSTANTIATE_TEST_SUITE_P(SizeOf, CutFile, ::testing::Values(false, true),
                         [](const auto& info) { return info.param ? "Configuration" : "File"; });

TEST_P(CutFile, WhatIsLeftIsReadAndWhatIsGoneIsAnError) {
  EXPECT_GOOD(read(0, 10));
  EXPECT_EQ(fault(*read(10, 1)), "3/11/00 at 10") << "half of it is no block";
  EXPECT_EQ(fault(*read(20, 1)), "3/11/00 at 20");
  EXPECT_EQ(fault(*read(8, 4)), "3/11/00 at 8");
  EXPECT_EQ(fault(*read(63, 1)), "3/11/00 at 63");
  EXPECT_EQ(fault(*ended(none(cdb10(0x2f, 20, 1)))), "3/11/00 at 20");  // VERIFY
  EXPECT_GOOD(read(0, 10));
}

TEST_P(CutFile, NothingIsChangedForACommandThatHasToReadIt) {
  EXPECT_EQ(fault(*ended(out(cdb16(0x89, 20, 1), data(1024)))), "3/11/00 at 20");
  EXPECT_EQ(fault(*ended(out(cdb16(0x8b, 20, 1), data(512)))), "3/11/00 at 20");
  EXPECT_EQ(fault(*ended(out(cdb16(0x9c, 20, 1), data(512)))), "3/0c/00 at 20");
  EXPECT_EQ(std::filesystem::file_size(path()), 10U * 512 + 256);
}

TEST_P(CutFile, WhatIsWrittenIsThereAgain) {
  EXPECT_GOOD(ended(out(cdb10(0x2a, 20, 2), data(1024))));
  EXPECT_EQ(read(20, 2)->data_in, data(1024));
  EXPECT_EQ(fault(*read(22, 1)), "3/11/00 at 22");
}

// Who knows that the size of the file is the unit's can have it looked at.
TEST_P(CutFile, CapacityLookedAtAgain) {
  target::check_capacity(*device->units[0]);
  side->loop.post([this] { side->loop.stop(); });
  side->loop.run();
  if (GetParam()) {
    EXPECT_EQ(fault(*read(20, 1)), "3/11/00 at 20");
    return;
  }
  EXPECT_SENSE(none(ByteVector(6)), "6/2a/09");
  EXPECT_SENSE(read(20, 1), "5/21/00@2");
  EXPECT_SENSE(read(10, 1), "5/21/00@2");
  EXPECT_GOOD(read(9, 1));
}

}  // namespace
}  // namespace openiser::test
