#include "target/wire_settings.h"

#include <gtest/gtest.h>

namespace openiser::target {
namespace {

using BaseOffset = config::Rdma::BaseOffset;
using Dialect = config::Rdma::Dialect;
using Hello = iscsi::Parameters::HelloRequired;

iscsi::Parameters with(Hello hello, bool tagged = false, std::uint32_t ahs = 256) {
  iscsi::Parameters p;
  p.iser_hello_required = hello;
  p.tagged_buffer_for_solicited_data_only = tagged;
  p.peer_max_ahs_length = ahs;
  return p;
}

TEST(StreamFirstDialect, IsRfc5046UnlessAKeyOfRfc7145WasDeclared) {
  const auto of = [](const iscsi::Parameters& p) {
    return stream_first_dialect(Dialect::automatic, p);
  };
  EXPECT_EQ(of(with(Hello::not_negotiated)), iser::Dialect::rfc5046);
  EXPECT_EQ(of(with(Hello::no)), iser::Dialect::rfc7145);
  EXPECT_EQ(of(with(Hello::yes)), iser::Dialect::rfc7145);
  EXPECT_EQ(of(with(Hello::not_negotiated, true)), iser::Dialect::rfc7145);
  EXPECT_EQ(of(with(Hello::not_negotiated, false, 0)), iser::Dialect::rfc7145);
}

TEST(StreamFirstDialect, TheConfigurationHasTheLastWord) {
  EXPECT_EQ(stream_first_dialect(Dialect::rfc5046, with(Hello::yes)), iser::Dialect::rfc5046);
  EXPECT_EQ(stream_first_dialect(Dialect::rfc7145, with(Hello::not_negotiated)),
            iser::Dialect::rfc7145);
}

TEST(BaseOffsets, LinuxMeansTheSolicitedPartWithoutSayingSo) {
  const auto says_solicited = [](Wire wire, BaseOffset configured, Hello hello) {
    return with_base_offset(with(hello), wire, configured).tagged_buffer_for_solicited_data_only;
  };
  EXPECT_TRUE(says_solicited(Wire::rdma_first, BaseOffset::automatic, Hello::not_negotiated));
  EXPECT_FALSE(says_solicited(Wire::rdma_first, BaseOffset::automatic, Hello::no));
  EXPECT_FALSE(says_solicited(Wire::stream, BaseOffset::automatic, Hello::not_negotiated));
  EXPECT_FALSE(says_solicited(Wire::rdma_first, BaseOffset::whole_buffer, Hello::not_negotiated));
  EXPECT_TRUE(says_solicited(Wire::stream, BaseOffset::solicited_part, Hello::no));
}

TEST(BaseOffsets, AKeyThatWasDeclaredStays) {
  for (const auto configured : {BaseOffset::automatic, BaseOffset::whole_buffer}) {
    EXPECT_TRUE(with_base_offset(with(Hello::no, true), Wire::stream, configured)
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
  EXPECT_EQ(iser_settings(config, iser::Dialect::rfc5046).command_window, 5u);
  EXPECT_EQ(session_limits(config.limits).nop_interval, Duration::zero());
}

}  // namespace
}  // namespace openiser::target
