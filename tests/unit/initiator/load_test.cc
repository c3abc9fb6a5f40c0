#include "initiator/cli/load.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "initiator/cli/load_result.h"

namespace openiser::initiator::cli {
namespace {

BlockDeviceProperties lun() {
  BlockDeviceProperties properties;
  properties.block_size = 512;
  properties.blocks = 2048;
  return properties;
}

BenchArguments arguments(const std::string& rw, std::uint32_t block_size, std::uint64_t size = 0) {
  BenchArguments a;
  a.rw = rw, a.block_size = block_size, a.size = size;
  return a;
}

TEST(Load, IsOfTheKindThatItsWordNames) {
  const auto kind = [](const char* rw) {
    const Load load = load_of(arguments(rw, 4096), lun());
    return std::vector<bool>{load.random, load.reads, load.writes};
  };
  EXPECT_EQ(kind("read"), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(kind("write"), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(kind("randread"), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(kind("randwrite"), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(kind("randrw"), (std::vector<bool>{true, true, true}));
  for (const char* rw : {"", "rw", "rand", "randrand", "reads", "Read"})
    EXPECT_THROW(kind(rw), UsageError) << rw;
}

TEST(Load, UsesWholeBlocksOfTheLunOrOfItsBeginning) {
  EXPECT_EQ(load_of(arguments("read", 512), lun()).blocks, 2048u);
  EXPECT_EQ(load_of(arguments("read", 3072), lun()).blocks, 341u);
  EXPECT_EQ(load_of(arguments("read", 4096, 10'000), lun()).blocks, 2u);
  EXPECT_EQ(load_of(arguments("read", 4096, 1u << 30), lun()).blocks, 256u);
  EXPECT_THROW(load_of(arguments("read", 4096, 4095), lun()), UsageError);
  EXPECT_THROW(load_of(arguments("read", 2u << 20), lun()), UsageError);
  for (const std::uint32_t size : {0u, 1u, 513u, (1u << 24) + 512})
    EXPECT_THROW(load_of(arguments("read", size), lun()), UsageError) << size;
}

TEST(Stamp, TellsWhereEach512BytesBelong) {
  std::vector<std::byte> data(1536);
  EXPECT_FALSE(stamped(data, 4096));
  stamp(data, 4096);
  EXPECT_TRUE(stamped(data, 4096));
  EXPECT_FALSE(stamped(data, 0));
  EXPECT_FALSE(stamped(data, 4096 + 512));
  EXPECT_TRUE(stamped(Bytes(data).subspan(512), 4096 + 512));
  for (const std::size_t at : {0u, 511u, 512u, 1535u}) {
    std::vector<std::byte> other = data;
    other[at] ^= std::byte{1};
    EXPECT_FALSE(stamped(other, 4096)) << at;
  }
}

TEST(LoadResult, IsWrittenWithWhatElseIsTold) {
  LoadResult result;
  for (const std::uint64_t ns : {64u, 64u, 64u, 4'000u}) result.latencies.add(ns);
  result.bytes_per_io = 4096, result.errors = 2, result.seconds = 0.5, result.cpu = {1.5, 0.25};
  const std::string text =
      to_json(result, {{"wire", "verbs"}, {"threads", std::uint64_t{3}}, {"peer_cpu_s", 0.125}});
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["iops"], 8);
  EXPECT_EQ(json["ios"], 4);
  EXPECT_EQ(json["bytes"], 16384);
  EXPECT_EQ(json["bytes_per_s"], 32768);
  EXPECT_EQ(json["lat_us"]["p50"], 0.064);
  EXPECT_EQ(json["lat_us"]["max"], 4);
  EXPECT_EQ(json["lat_us"]["mean"], 1.048);
  EXPECT_EQ(json["cpu_user_s"], 1.5);
  EXPECT_EQ(json["cpu_sys_s"], 0.25);
  EXPECT_EQ(json["errors"], 2);
  EXPECT_EQ(json["wire"], "verbs");
  EXPECT_EQ(json["threads"], 3);
  EXPECT_EQ(json["peer_cpu_s"], 0.125);
}

TEST(LoadResult, OfNothingHasNoRates) {
  const auto json = nlohmann::json::parse(to_json({}, {}));
  EXPECT_EQ(json["iops"], 0);
  EXPECT_EQ(json["bytes_per_s"], 0);
}

}  // namespace
}  // namespace openiser::initiator::cli
