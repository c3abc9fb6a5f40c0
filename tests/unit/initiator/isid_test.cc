#include "initiator/isid.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
#include <set>

namespace openiser::initiator {
namespace {

// This process's own: tests that run at the same time hold ISIDs too.
const NexusName kDisk{"iqn.2026-11.org.example:isid-test-" + std::to_string(getpid()),
                      "iqn.2026-11.org.example:disk1", 0};

// RFC 7143 section 11.12.5.
TEST(HeldIsid, IsOfTypeRandom) {
  EXPECT_EQ(HeldIsid(kDisk).value()[0], std::byte{0x80});
}

TEST(HeldIsid, ComesBackWhenLetGo) {
  std::optional<HeldIsid> held(std::in_place, kDisk);
  const iscsi::Isid first = held->value();
  held.reset();
  EXPECT_EQ(HeldIsid(kDisk).value(), first);
}

TEST(HeldIsid, IsNobodyElsesWhileHeld) {
  std::set<iscsi::Isid> all;
  std::vector<HeldIsid> held;
  for (int i = 0; i < 100; ++i) all.insert(held.emplace_back(kDisk).value());
  EXPECT_EQ(all.size(), 100U);

  const iscsi::Isid third = held[2].value();
  held.erase(held.begin() + 2);
  EXPECT_EQ(HeldIsid(kDisk).value(), third);
}

TEST(HeldIsid, DependsOnInitiatorTargetAndLun) {
  std::set<iscsi::Isid> all;
  all.insert(HeldIsid(kDisk).value());
  all.insert(HeldIsid({kDisk.initiator, kDisk.target, 1}).value());
  all.insert(HeldIsid({kDisk.initiator, kDisk.target + "0", 0}).value());
  all.insert(HeldIsid({kDisk.initiator + "x", kDisk.target, 0}).value());
  EXPECT_EQ(all.size(), 4U);
}

}  // namespace
}  // namespace openiser::initiator
