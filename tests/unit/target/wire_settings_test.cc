#include "target/wire_settings.h"

#include <gtest/gtest.h>

namespace openiser::target {
namespace {

using BaseOffset = config::Rdma::BaseOffset;
using Dialect = config::Rdma::Dialect;
iscsi::Parameters with(bool knows_rfc7145, bool tagged = false) {
  iscsi::Parameters p;
  p.peer_knows_rfc7145 = knows_rfc7145;
  p.tagged_buffer_for_solicited_data_only = tagged;
  return p;
}

TEST(StreamFirstDialect, IsRfc5046UnlessAKeyOfRfc7145WasDeclared) {
  EXPECT_EQ(stream_first_dialect(Dialect::automatic, with(false)), iser::Dialect::rfc5046);
  EXPECT_EQ(stream_first_dialect(Dialect::automatic, with(true)), iser::Dialect::rfc7145);
}

TEST(StreamFirstDialect, TheConfigurationHasTheLastWord) {
  EXPECT_EQ(stream_first_dialect(Dialect::rfc5046, with(true)), iser::Dialect::rfc5046);
  EXPECT_EQ(stream_first_dialect(Dialect::rfc7145, with(false)), iser::Dialect::rfc7145);
}

TEST(VerbsSettings, AreThoseOfTheFile) {
  config::Daemon config;
  config.rdma.inbound_reads = 3;
  config.rdma.outbound_reads = 4;
  config.limits.login_timeout = 5;
  const rdmap::VerbsSettings settings = verbs_settings(config);
  EXPECT_EQ(settings.inbound_reads, 3);
  EXPECT_EQ(settings.outbound_reads, 4);
  EXPECT_EQ(settings.set_up_timeout, std::chrono::seconds(5));
  EXPECT_TRUE(settings.private_data.empty());
}

TEST(BaseOffsets, LinuxMeansTheSolicitedPartWithoutSayingSo) {
  const auto says_solicited = [](Wire wire, BaseOffset configured, bool knows_rfc7145) {
    return with_base_offset(with(knows_rfc7145), wire, configured)
        .tagged_buffer_for_solicited_data_only;
  };
  EXPECT_TRUE(says_solicited(Wire::rdma_first, BaseOffset::automatic, false));
  EXPECT_FALSE(says_solicited(Wire::rdma_first, BaseOffset::automatic, true));
  EXPECT_FALSE(says_solicited(Wire::stream, BaseOffset::automatic, false));
  EXPECT_FALSE(says_solicited(Wire::rdma_first, BaseOffset::whole_buffer, false));
  EXPECT_TRUE(says_solicited(Wire::stream, BaseOffset::solicited_part, true));
}

TEST(BaseOffsets, AKeyThatWasDeclaredStays) {
  for (const auto configured : {BaseOffset::automatic, BaseOffset::whole_buffer}) {
    EXPECT_TRUE(with_base_offset(with(true, true), Wire::stream, configured)
                    .tagged_buffer_for_solicited_data_only);
  }
}

TEST(Settings, CarryTheConfiguration) {
  config::Daemon config;
  config.negotiation.max_burst_length = 65536;
  config.negotiation.data_digest = false;
  config.rdma.crc = false;
  config.rdma.inbound_reads = 3;
  config.limits.command_window = 5;
  config.limits.login_timeout = 7;
  config.limits.nop_interval = 0;
  const auto preferences = login_preferences(config);
  EXPECT_EQ(preferences.max_burst_length, 65536u);
  EXPECT_TRUE(preferences.header_digest_crc32c);
  EXPECT_FALSE(preferences.data_digest_crc32c);
  EXPECT_EQ(preferences.login_timeout, std::chrono::seconds(7));
  const auto mpa = mpa_settings(config, 8948);
  EXPECT_FALSE(mpa.crc);
  EXPECT_EQ(mpa.inbound_reads, 3);
  EXPECT_EQ(mpa.emss, 8948u);
  config.rdma.large_fpdus = true;
  EXPECT_EQ(mpa_settings(config, 1448).emss, 65535u);
  EXPECT_EQ(iser_settings(config, iser::Dialect::rfc5046).command_window, 5u);
  EXPECT_EQ(session_limits(config.limits).nop_interval, Duration::zero());
}

}  // namespace
}  // namespace openiser::target
