// What units learn of the configuration of their target.
#include "target/catalogue_builder.h"

#include <gtest/gtest.h>

#include "target/credentials.h"
#include "target/device_builder.h"
#include "target/scsi/unit.h"
#include "tests/support/daemon.h"

namespace openiser::target {
namespace {

class CatalogueBuilder : public ::testing::Test {
 protected:
  CatalogueBuilder() : config(test::daemon_config()) {
    config.portals.push_back({.host = "127.0.0.1", .port = 0, .tag = 2, .at = {}});
    config.portals.push_back({.host = "127.0.0.1", .port = 0, .tag = 3, .at = {}});
    config.targets.push_back(config.targets[0]);
    config.targets[1].name = "iqn.2026-11.org.example:disk2";
    commons.groups = port_groups(config);
  }
  static std::vector<std::uint16_t> served(const Catalogue& catalogue, unsigned disk) {
    const auto& name = "iqn.2026-11.org.example:disk" + std::to_string(disk);
    std::vector<std::uint16_t> tags;
    for (const PortGroup& group : catalogue.find(name)->device->units.at(0)->port_groups().all()) {
      if (group.served()) tags.push_back(group.tag());
    }
    return tags;
  }

  const test::QuietLog quiet;
  config::Daemon config;
  UnitCommons commons;
};

using Tags = std::vector<std::uint16_t>;

TEST_F(CatalogueBuilder, UnitsAreServedThroughTheGroupsOfTheirTarget) {
  config.targets[0].portal_groups = {{.tag = 3, .at = {}}, {.tag = 1, .at = {}}};
  const auto catalogue = build_catalogue(config, load_credentials(config), commons);
  EXPECT_EQ(served(*catalogue, 1), (Tags{1, 3}));
  EXPECT_EQ(served(*catalogue, 2), (Tags{1, 2, 3})) << "all, where nothing is said";
}

TEST_F(CatalogueBuilder, AReloadChangesTheGroupsOfUnitsThatStay) {
  const auto before = build_catalogue(config, load_credentials(config), commons);
  config.targets[1].portal_groups = {{.tag = 2, .at = {}}};
  std::vector<std::string> troubles;
  const auto after =
      rebuild_catalogue(config, load_credentials(config), commons, *before, troubles);
  EXPECT_TRUE(troubles.empty());
  EXPECT_EQ(after->find(config.targets[1].name)->device->units.at(0),
            before->find(config.targets[1].name)->device->units.at(0));
  EXPECT_EQ(served(*after, 1), (Tags{1, 2, 3}));
  EXPECT_EQ(served(*after, 2), (Tags{2}));
}

}  // namespace
}  // namespace openiser::target
