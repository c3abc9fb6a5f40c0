// The suite's fixture: a connection of the provider under test, both ends recorded, all buffers on
// counted leases. When a test ends, so does the connection, and every lease must have come back.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "rdmap/errors.h"
#include "tests/conformance/provider.h"
#include "tests/support/rcap_client.h"

namespace openiser::conformance {

using rdmap::Access;
using rdmap::Completion;
using rdmap::errc;
using rdmap::MemoryRegion;
using rdmap::QueuePair;
using rdmap::RemoteMemory;
using rdmap::Stag;
using Kind = rdmap::Completion::Kind;

class Rcap : public ::testing::TestWithParam<ProviderParam> {
 protected:
  // Before anything else. The connection is established unless a test wants to do that itself.
  void open(const ProviderSettings& first = {}, const ProviderSettings& second = {}) {
    create(first, second);
    provider_->establish();
    run();
    ASSERT_TRUE(a_->how());
    ASSERT_TRUE(b_->how());
  }
  void create(const ProviderSettings& first = {}, const ProviderSettings& second = {}) {
    provider_ = GetParam().make(first, second);
    a_.emplace(provider_->first());
    b_.emplace(provider_->second());
  }
  // The second end of some providers may not send before it has heard of the first (RFC 5044
  // section 7.1.2).
  void open_both_ways(const ProviderSettings& first = {}, const ProviderSettings& second = {}) {
    open(first, second);
    write(first_pair(), {}, {});
    run();
  }

  QueuePair& first_pair() { return provider_->first(); }
  QueuePair& second_pair() { return provider_->second(); }
  std::size_t large() const { return provider_->large(); }
  bool step() { return provider_->step(); }
  void run() {
    while (step()) {
    }
  }
  template <class Done>
  bool run_until(Done done) {
    while (!done()) {
      if (!step()) return done();
    }
    return true;
  }

  Buffer filled(Bytes bytes) {
    Buffer buffer = leases_.lease(bytes.size());
    if (!bytes.empty()) std::memcpy(buffer.data(), bytes.data(), bytes.size());
    return buffer;
  }
  void receive(QueuePair& pair, std::size_t size) {
    pair.post_receive(leases_.lease(size), ++next_id_);
    ++posted_;
  }
  void send(QueuePair& pair, Bytes head, Bytes body = {}, std::optional<Stag> invalidate = {},
            bool solicited_event = false) {
    pair.post_send({.id = ++next_id_,
                    .head = filled(head),
                    .body = filled(body),
                    .invalidate = invalidate,
                    .solicited_event = solicited_event});
    ++posted_;
    pair.flush();
  }
  void write(QueuePair& pair, Bytes data, RemoteMemory sink) {
    pair.post_write({.id = ++next_id_, .data = filled(data), .sink = sink});
    ++posted_;
    pair.flush();
  }
  void read(QueuePair& pair, std::size_t size, RemoteMemory source) {
    pair.post_read({.id = ++next_id_, .sink = leases_.lease(size), .source = source});
    ++posted_;
    pair.flush();
  }
  static RemoteMemory at(const MemoryRegion& region, std::uint64_t offset = 0) {
    return {region.stag(), region.base_offset() + offset};
  }
  // Memory of the second end, opened to the first.
  MemoryRegion open_memory(std::vector<std::byte>& memory, Access access) {
    auto region = second_pair().register_memory(memory, access);
    EXPECT_TRUE(region);
    return std::move(*region);
  }

  // The connection has ended on both ends because the second refused with `why`.
  void expect_both_ended(ErrorCode why) {
    run();
    ASSERT_TRUE(a_->why());
    ASSERT_TRUE(b_->why());
    if (why && !provider_->tells_reasons()) return;
    EXPECT_EQ(*a_->why(), why);
    EXPECT_EQ(*b_->why(), why);
  }
  // What one end shows the other at the start.
  void expect_private_data(const test::RecordingClient& client, std::string_view shown) {
    const std::string_view got = as_text(client.private_data);
    if (!provider_->pads_private_data()) {
      EXPECT_EQ(got.size(), shown.size());
    }
    EXPECT_EQ(got.substr(0, shown.size()), shown);
    EXPECT_EQ(got.find_first_not_of('\0', shown.size()), got.npos);
  }
  std::vector<std::byte> received(test::RecordingClient& client, std::size_t n) {
    const Bytes bytes = client.at(Kind::receive, n).buffer.bytes();
    return {bytes.begin(), bytes.end()};
  }

  void TearDown() override {
    if (!provider_) return;
    provider_->first().disconnect();
    run();
    EXPECT_TRUE(a_->why()) << "the first end was never told of the end";
    EXPECT_TRUE(b_->why()) << "the second end was never told of the end";
    a_->poll();
    b_->poll();
    // Each lease came back, each once.
    EXPECT_EQ(a_->completions.size() + b_->completions.size(), posted_);
    a_->completions.clear();
    b_->completions.clear();
    EXPECT_EQ(leases_.out, 0);
  }

  test::CountingOwner leases_;
  std::unique_ptr<Provider> provider_;
  std::optional<test::RecordingClient> a_;
  std::optional<test::RecordingClient> b_;
  std::uint64_t next_id_ = 0;
  std::size_t posted_ = 0;
};

inline std::string provider_name(const ::testing::TestParamInfo<ProviderParam>& info) {
  return info.param.name;
}

}  // namespace openiser::conformance

// A suite of cases that each provider runs.
#define RCAP_SUITE(name)       \
  class name : public Rcap {}; \
  INSTANTIATE_TEST_SUITE_P(, name, ::testing::ValuesIn(every_provider()), provider_name)
