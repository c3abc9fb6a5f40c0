#include "target/state_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <future>
#include <iterator>

#include "target/start_error.h"
#include "tests/support/bytes.h"
#include "tests/support/temporary_folder.h"

namespace openiser::test {
namespace {

using target::StartError;
using target::StateFile;
using target::StateFolder;

class State : public ::testing::Test {
 protected:
  StateFile file(std::uint32_t version = 1) const {
    return StateFolder(folder.path("state")).unit_file("iqn.2026-01.test:disk", 3, "keys", version);
  }
  static std::string read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  // What load() says is wrong; "" if nothing is.
  static std::string fault_of(const StateFile& of) {
    try {
      of.load();
      return "";
    } catch (const StartError& error) {
      return error.what();
    }
  }
  static unsigned mode_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 0777U;
  }

  TemporaryFolder folder;
  const ByteVector content = hex("00 0a ff 20 41");
};

TEST_F(State, NothingIsThereBeforeTheFirstSave) {
  EXPECT_EQ(file().load(), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(folder.path("state"))) << "looking makes no folder";
  EXPECT_TRUE(file().remove());
}

TEST_F(State, KeepsWhatWasSaved) {
  ASSERT_TRUE(file().save(content));
  EXPECT_EQ(file().load(), content);
  ASSERT_TRUE(file().save({}));
  EXPECT_EQ(file().load(), ByteVector{});
  ASSERT_TRUE(file().save(content));
  ASSERT_TRUE(file().remove());
  EXPECT_EQ(file().load(), std::nullopt);
}

TEST_F(State, NameAndFormatOfTheFile) {
  ASSERT_TRUE(file().save(std::as_bytes(std::span("123456789").first(9))));
  EXPECT_EQ(file().path().filename(), "iqn.2026-01.test:disk.lun3.keys");
  EXPECT_EQ(read(file().path()), "open-iser state keys 1 9 e3069283\n123456789");
}

TEST_F(State, IsForTheOwnerAlone) {
  ASSERT_TRUE(file().save(content));
  EXPECT_EQ(mode_of(folder.path("state")), 0700U);
  EXPECT_EQ(mode_of(file().path()), 0600U);
}

TEST_F(State, MakesTheFoldersAboveToo) {
  const StateFile deep = StateFolder(folder.path("a/b/c")).unit_file("iqn.x", 0, "keys", 1);
  ASSERT_TRUE(deep.save(content));
  EXPECT_EQ(deep.load(), content);
}

TEST_F(State, SlashesDoNotLeadOutOfTheFolder) {
  EXPECT_EQ(StateFolder(folder.path("s")).unit_file("../x/y", 0, "keys", 1).path(),
            folder.path("s/.._x_y.lun0.keys"));
}

TEST_F(State, TornAtAnyByteIsAnError) {
  ASSERT_TRUE(file().save(content));
  const std::string whole = read(file().path());
  for (std::size_t size = 0; size != whole.size(); ++size) {
    write(file().path(), whole.substr(0, size));
    EXPECT_NE(fault_of(file()), "") << size;
  }
  write(file().path(), whole + "x");
  EXPECT_NE(fault_of(file()), "");
  write(file().path(), whole);
  EXPECT_EQ(file().load(), content);
}

TEST_F(State, AnyChangedByteIsAnError) {
  ASSERT_TRUE(file().save(content));
  const std::string whole = read(file().path());
  for (std::size_t at = 0; at != whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    write(file().path(), damaged);
    EXPECT_NE(fault_of(file()), "") << at;
  }
}

TEST_F(State, OtherKindsAndVersionsAreErrors) {
  ASSERT_TRUE(file(2).save(content));
  EXPECT_NE(fault_of(file(1)).find("kind and version \"keys 1\""), std::string::npos);
  EXPECT_EQ(fault_of(file(2)), "");
}

TEST_F(State, TheFaultIsOneLineThatNamesTheFile) {
  ASSERT_TRUE(file().save(content));
  write(file().path(), read(file().path()) + "x");
  EXPECT_EQ(fault_of(file()),
            file().path().string() +
                ": is damaged (its size or checksum is wrong); put it back from a copy, or remove "
                "it to go on without what it keeps");
}

TEST_F(State, WhatACrashLeftBesideIsNoMatter) {
  ASSERT_TRUE(file().save(content));
  write(file().path().string() + ".new", "half of it");
  EXPECT_EQ(file().load(), content);
  ASSERT_TRUE(file().save(hex("01")));
  EXPECT_EQ(file().load(), hex("01"));
}

TEST_F(State, OldContentStandsWhenTheNewCannotBeWritten) {
  ASSERT_TRUE(file().save(content));
  std::filesystem::create_directory(file().path().string() + ".new");
  EXPECT_EQ(file().save(hex("01")).error().value(), EISDIR);
  EXPECT_EQ(file().load(), content);
}

TEST_F(State, FolderThatCannotBe) {
  write(folder.path("state"), "a file");
  EXPECT_EQ(file().save(content).error().value(), ENOTDIR);
  EXPECT_EQ(file().load(), std::nullopt);
  EXPECT_TRUE(file().remove());
}

TEST_F(State, LimitOfSize) {
  EXPECT_TRUE(file().save(ByteVector(StateFile::kMaxSize)));
  EXPECT_EQ(file().load(), ByteVector(StateFile::kMaxSize));
  EXPECT_EQ(file().save(ByteVector(StateFile::kMaxSize + 1)).error().value(), EFBIG);
  EXPECT_EQ(file().load(), ByteVector(StateFile::kMaxSize));
}

TEST(StateWriter, DoesJobsInOrderOnAThreadOfItsOwn) {
  std::vector<int> done;
  std::thread::id where;
  {
    target::StateWriter writer;
    for (int i = 0; i != 100; ++i) {
      writer.post([&, i] {
        done.push_back(i);
        where = std::this_thread::get_id();
      });
    }
  }
  ASSERT_EQ(done.size(), 100U) << "what was posted is done before it ends";
  for (int i = 0; i != 100; ++i) EXPECT_EQ(done[static_cast<std::size_t>(i)], i);
  EXPECT_NE(where, std::this_thread::get_id());
}

TEST(StateWriter, JobsMayPostJobs) {
  std::promise<void> second;
  target::StateWriter writer;
  writer.post([&] { writer.post([&] { second.set_value(); }); });
  EXPECT_EQ(second.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
}

}  // namespace
}  // namespace openiser::test
