// A datamover of either role on a stream that the test holds in its hands: what it says is taken
// apart into PDUs, what it hears is whatever the test writes, in chunks of any size.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "base/crc32c.h"
#include "iscsi/errors.h"
#include "iscsi/tcp_datamover/tcp_datamover.h"
#include "tests/support/bytes.h"

namespace openiser::iscsi::testing {

using openiser::test::ByteVector;
using openiser::test::operator+;

class CountingHost final : public StreamHost {
 public:
  void attention() override { ++calls; }
  int calls = 0;
};

class RecordingClient : public DatamoverClient {
 public:
  void control_notify(ControlPdu pdu) override {
    EXPECT_TRUE(ends.empty());
    controls.push_back(std::move(pdu));
  }
  void data_completion_notify(DataCompletion completion) override {
    EXPECT_TRUE(ends.empty());
    completions.push_back(std::move(completion));
  }
  void connection_terminate_notify(ErrorCode why) override { ends.push_back(why); }
  void turn_ended() override { ++turns; }
  std::uint32_t exp_stat_sn() const override { return next_stat_sn; }
  void window_notify(std::uint32_t exp_cmd_sn, std::uint32_t max_cmd_sn) override {
    windows.emplace_back(exp_cmd_sn, max_cmd_sn);
  }

  std::vector<ControlPdu> controls;
  std::vector<DataCompletion> completions;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> windows;
  std::vector<ErrorCode> ends;
  std::uint32_t next_stat_sn = 0;
  int turns = 0;
};

// A PDU as a test sees it on the wire.
struct WirePdu {
  Bhs bhs;
  ByteVector ahs;
  ByteVector data;

  template <class T>
  T as() const {
    const Result<T> pdu = decode<T>(bhs);
    EXPECT_TRUE(pdu) << pdu.error().message();
    return pdu ? *pdu : T();
  }
};

struct Digests {
  bool header = false;
  bool data = false;
};

inline void append_digest(ByteVector& out, Bytes over) {
  std::array<std::byte, 4> digest;
  store_le32(digest.data(), crc32c(over));
  out.insert(out.end(), digest.begin(), digest.end());
}

// Bytes of a PDU, made independently of the datamover's own writer.
inline ByteVector wire(Bhs bhs, Bytes data = {}, Digests digests = {}, Bytes ahs = {}) {
  bhs.set_data_segment_length(static_cast<std::uint32_t>(data.size()));
  bhs.set_total_ahs_length(ahs.size());
  ByteVector out(bhs.raw.begin(), bhs.raw.end());
  out.insert(out.end(), ahs.begin(), ahs.end());
  if (digests.header) append_digest(out, ByteVector(out));
  if (data.empty()) return out;
  ByteVector segment(data.begin(), data.end());
  segment.resize(data.size() + pad4(data.size()));
  out.insert(out.end(), segment.begin(), segment.end());
  if (digests.data) append_digest(out, segment);
  return out;
}

// Takes a stream apart; checks digests and that padding is zero.
inline std::vector<WirePdu> unwire(Bytes stream, Digests digests = {}) {
  std::vector<WirePdu> pdus;
  ByteReader in(stream);
  const auto check_digest = [&](Bytes over) { EXPECT_EQ(in.le32(), crc32c(over)); };
  while (in.remaining() > 0 && in.ok()) {
    WirePdu pdu;
    const Bytes start = in.rest();
    const Bytes bhs = in.bytes(kBhsSize);
    if (!in.ok()) break;
    std::copy(bhs.begin(), bhs.end(), pdu.bhs.raw.begin());
    const Bytes ahs = in.bytes(pdu.bhs.total_ahs_length());
    pdu.ahs.assign(ahs.begin(), ahs.end());
    if (digests.header) check_digest(start.first(kBhsSize + ahs.size()));
    const std::size_t length = pdu.bhs.data_segment_length();
    if (length > 0) {
      const Bytes segment = in.bytes(length + pad4(length));
      if (!in.ok()) break;
      pdu.data.assign(segment.begin(), segment.begin() + static_cast<std::ptrdiff_t>(length));
      for (const std::byte b : segment.subspan(length)) EXPECT_EQ(b, std::byte{0});
      if (digests.data) check_digest(segment);
    }
    pdus.push_back(std::move(pdu));
  }
  EXPECT_TRUE(in.ok()) << "stream ends within a PDU";
  return pdus;
}

// Hands `bytes` to the endpoint in chunks; returns how many it took.
inline std::size_t feed(StreamEndpoint& endpoint, Bytes bytes, std::size_t chunk = SIZE_MAX) {
  std::size_t taken = 0;
  while (taken < bytes.size()) {
    std::array<MutableBytes, 4> places;
    const std::size_t count = endpoint.receive_space(places);
    std::size_t filled = 0;
    for (const MutableBytes place : std::span(places).first(count)) {
      const Bytes rest = bytes.subspan(taken + filled);
      const std::size_t n = std::min({place.size(), rest.size(), chunk - filled});
      if (n > 0) std::memcpy(place.data(), rest.data(), n);
      filled += n;
    }
    if (filled == 0) break;
    taken += filled;
    endpoint.received(filled, Time());
  }
  return taken;
}

// Takes up to `limit` bytes of what the endpoint has to send.
inline ByteVector take_output(StreamEndpoint& endpoint, std::size_t limit = SIZE_MAX) {
  ByteVector out;
  std::array<Bytes, 8> pieces;
  while (out.size() < limit) {
    const std::size_t count = endpoint.gather(pieces);
    std::size_t taken = 0;
    for (const Bytes piece : std::span(pieces).first(count)) {
      const Bytes part = piece.first(std::min(piece.size(), limit - out.size()));
      out.insert(out.end(), part.begin(), part.end());
      taken += part.size();
    }
    if (taken == 0) break;
    endpoint.sent(taken, Time());
  }
  return out;
}

inline void run_deadline(StreamEndpoint& endpoint) {
  if (endpoint.deadline()) endpoint.expired(Time());
}

inline Parameters parameters(Digests digests = {}) {
  Parameters parameters;
  parameters.header_digest = digests.header ? Digest::crc32c : Digest::none;
  parameters.data_digest = digests.data ? Digest::crc32c : Digest::none;
  return parameters;
}

// One datamover with everything around it.
struct Rig {
  explicit Rig(Role role, const Parameters& parameters = {},
               std::vector<std::byte> write_first = {}, std::vector<std::byte> already_read = {})
      : digests{parameters.header_digest == Digest::crc32c,
                parameters.data_digest == Digest::crc32c},
        mover(make_tcp_datamover(role, parameters, pool, std::move(write_first),
                                 std::move(already_read))) {
    mover->set_client(&client);
    mover->attach(&host);
  }
  ~Rig() {
    if (client.ends.empty()) mover->transport_closed({}, Time());
    EXPECT_EQ(client.ends.size(), 1u);
    client.controls.clear();
    client.completions.clear();
    mover.reset();
    EXPECT_EQ(pool.outstanding(), 0u);
  }

  void hear(const Bhs& bhs, Bytes data = {}, Bytes ahs = {}) {
    feed(*mover, wire(bhs, data, digests, ahs));
  }
  std::vector<WirePdu> say() { return unwire(take_output(*mover), digests); }
  void close(ErrorCode why = {}) { mover->transport_closed(why, Time()); }
  // What the connection failed with; closes it.
  ErrorCode failure() {
    if (mover->close_wish() != CloseWish::at_once) return {};
    if (client.ends.empty()) close();
    return client.ends[0];
  }

  BufferPool pool;
  CountingHost host;
  RecordingClient client;
  Digests digests;
  std::unique_ptr<TcpDatamover> mover;
};

// Moves bytes between two endpoints, `chunk` at a time each way.
class Shuttle {
 public:
  Shuttle(StreamEndpoint& a, StreamEndpoint& b, std::size_t chunk) : a_(a), b_(b), chunk_(chunk) {}

  // Until nothing moves any more.
  void run() {
    while (move(a_, b_, to_b_) | move(b_, a_, to_a_)) {
    }
  }
  std::size_t on_the_wire() const { return to_a_.size() + to_b_.size(); }

 private:
  bool move(StreamEndpoint& from, StreamEndpoint& to, ByteVector& between) {
    run_deadline(from);
    const ByteVector out =
        between.size() < chunk_ ? take_output(from, chunk_ - between.size()) : ByteVector();
    between.insert(between.end(), out.begin(), out.end());
    const std::size_t n = feed(to, between, chunk_);
    between.erase(between.begin(), between.begin() + static_cast<std::ptrdiff_t>(n));
    return n > 0 || !out.empty();
  }

  StreamEndpoint& a_;
  StreamEndpoint& b_;
  const std::size_t chunk_;
  ByteVector to_a_, to_b_;
};

}  // namespace openiser::iscsi::testing
