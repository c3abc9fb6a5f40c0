// Reads, writes and bidirectional commands between two iSER connections over the loopback provider.
#include <gtest/gtest.h>

#include "tests/support/iser.h"

namespace openiser::test {
namespace {

struct Variant {
  const char* name;
  Dialect dialect;
  iser::BaseOffset base_offset;
  bool key;  // TaggedBufferForSolicitedDataOnly=Yes
  bool zero_based;
  bool remote_invalidate;
};

constexpr Variant kVariants[] = {
    {"Rfc7145", Dialect::rfc7145, iser::BaseOffset::whole_buffer, false, false, true},
    {"Rfc7145ZeroBased", Dialect::rfc7145, iser::BaseOffset::whole_buffer, false, true, true},
    {"Rfc7145NoRemoteInvalidate", Dialect::rfc7145, iser::BaseOffset::whole_buffer, false, false,
     false},
    {"SolicitedByKey", Dialect::rfc7145, iser::BaseOffset::whole_buffer, true, false, true},
    {"SolicitedBySetting", Dialect::rfc7145, iser::BaseOffset::solicited_part, false, false, true},
    {"Rfc5046", Dialect::rfc5046, iser::BaseOffset::whole_buffer, false, true, true},
    {"Rfc5046Solicited", Dialect::rfc5046, iser::BaseOffset::solicited_part, false, true, true},
};

IserPairSettings settings_of(const Variant& variant, bool initial_r2t) {
  IserPairSettings settings = IserPairSettings::of(variant.dialect);
  settings.both([&](auto& s, auto& p) {
    s.base_offset = variant.base_offset;
    p.tagged_buffer_for_solicited_data_only = variant.key;
    p.initial_r2t = initial_r2t;
  });
  for (auto* link : {&settings.initiator_link, &settings.target_link}) {
    link->zero_based_offsets = variant.zero_based;
    link->remote_invalidate = variant.remote_invalidate;
  }
  return settings;
}

class IserData : public ::testing::TestWithParam<Variant> {
 protected:
  // Runs the command to its end and checks that nothing is left over.
  void execute(IserPair& pair, Command& command) {
    const std::size_t before = pair.initiator_client.count(Opcode::scsi_response);
    command.send(*pair.initiator);
    pair.run();
    ASSERT_FALSE(pair.initiator_client.end) << pair.initiator_client.end->message();
    ASSERT_FALSE(pair.target_client.end) << pair.target_client.end->message();
    EXPECT_EQ(pair.initiator_client.count(Opcode::scsi_response), before + 1);
  }
};

constexpr std::size_t kSizes[] = {0,    1,     3,      511,     512,           8191,   8192,
                                  8193, 65536, 262144, 1 << 20, (1 << 20) + 1, 5 << 20};

TEST_P(IserData, ReadsOfManySizes) {
  IserPair pair(settings_of(GetParam(), true));
  DiskTarget target(*pair.target, pair.target_client, pair.pool);
  target.disk = noise(target.disk.size(), 3);
  for (const std::size_t size : kSizes) {
    Command command;
    command.in.resize(size);
    execute(pair, command);
    EXPECT_TRUE(std::equal(command.in.begin(), command.in.end(), target.disk.begin())) << size;
  }
}

TEST_P(IserData, WritesOfManySizes) {
  IserPair pair(settings_of(GetParam(), true));
  DiskTarget target(*pair.target, pair.target_client, pair.pool);
  for (const std::size_t size : kSizes) {
    for (const std::uint32_t immediate : {0U, 512U, 8192U}) {
      Command command;
      command.out = noise(size, static_cast<std::uint32_t>(size) + immediate);
      command.immediate = command.unsolicited =
          std::min(immediate, static_cast<std::uint32_t>(size));
      execute(pair, command);
      EXPECT_TRUE(std::equal(command.out.begin(), command.out.end(), target.disk.begin()))
          << size << ' ' << immediate;
    }
  }
}

TEST_P(IserData, WritesWithUnsolicitedDataOuts) {
  IserPair pair(settings_of(GetParam(), false));
  DiskTarget target(*pair.target, pair.target_client, pair.pool);
  target.immediate_only = false;
  for (const std::size_t size : {8192, 8193, 20000, 65536, 65537, 300000}) {
    for (const std::uint32_t immediate : {0U, 1000U, 8192U}) {
      Command command;
      command.out = noise(size, static_cast<std::uint32_t>(size) + immediate);
      command.immediate = immediate;
      command.unsolicited = std::min(65536U, static_cast<std::uint32_t>(size));
      execute(pair, command);
      EXPECT_TRUE(std::equal(command.out.begin(), command.out.end(), target.disk.begin()))
          << size << ' ' << immediate;
    }
  }
}

TEST_P(IserData, BidirectionalCommands) {
  IserPair pair(settings_of(GetParam(), true));
  DiskTarget target(*pair.target, pair.target_client, pair.pool);
  for (const std::size_t size : {1, 4096, 100000, 3 << 20}) {
    Command command;
    command.out = noise(size, 9);
    command.in.resize(size);
    command.immediate = command.unsolicited = 1;
    execute(pair, command);
    // The write comes first.
    EXPECT_EQ(command.in, command.out) << size;
  }
}

TEST_P(IserData, ManyCommandsAtOnce) {
  IserPair pair(settings_of(GetParam(), true));
  DiskTarget target(*pair.target, pair.target_client, pair.pool);
  target.disk = noise(target.disk.size(), 4);
  std::vector<Command> commands(300);
  for (std::uint32_t i = 0; i < commands.size(); ++i) {
    commands[i].tag = i * 0x10001;
    commands[i].in.resize(1000 + i);
  }
  // More than the receives that are posted at first: provided for as they are sent.
  for (std::size_t at = 0; at < commands.size(); at += 100) {
    for (std::size_t i = at; i < at + 100; ++i) commands[i].send(*pair.initiator);
    pair.run();
  }
  EXPECT_EQ(pair.initiator_client.count(Opcode::scsi_response), commands.size());
  for (const Command& command : commands)
    EXPECT_TRUE(std::equal(command.in.begin(), command.in.end(), target.disk.begin()));
}

INSTANTIATE_TEST_SUITE_P(Variants, IserData, ::testing::ValuesIn(kVariants),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace openiser::test
