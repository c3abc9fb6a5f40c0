// Connections that never become a session: strangers, the impatient, the silent, and logins that
// are wrong. Each ends, costs nobody anything, and leaves nothing behind.
#include <gtest/gtest.h>

#include <array>
#include <deque>

#include "tests/support/hostile_fixture.h"

namespace openiser::test {
namespace {

constexpr int kInitiatorError = 0x0200;
constexpr int kInvalidRequest = 0x020b;

class LoginAbuseTest : public HostileTest {
 protected:
  std::string first_request(const std::string& text = names()) const {
    return wire_form(Requests().at(1, 3, text));
  }
};

TEST_F(LoginAbuseTest, PortScannersComeAndGo) {
  serve();
  for (int i = 0; i < 100; ++i) {
    RawSocket scanner(port());
    if (i % 2 == 0) {
      scanner.reset();
    } else {
      scanner.close();
    }
  }
}

TEST_F(LoginAbuseTest, GarbageIsTurnedAwayAtOnce) {
  serve();
  std::vector<std::string> firsts{"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                                  "SSH-2.0-OpenSSH_9.9\r\n",
                                  std::string(1, '\0'),
                                  std::string(512, '\xff'),
                                  std::string(64, '\x7f'),
                                  "MPA ID Rep Frame\x40\x01",
                                  "MPA ID Req FramE",
                                  "\x16\x03\x01\x02\x00\x01"};
  // Every opcode but that of a Login Request.
  for (int first = 0; first < 256; ++first) {
    if ((first & ~0x40) == 0x03 || first == 'M') continue;
    std::string header(48, '\0');
    header[0] = static_cast<char>(first);
    firsts.push_back(header);
  }
  for (const std::string& garbage : firsts) {
    RawSocket stranger(port());
    stranger.write(garbage);
    EXPECT_TRUE(stranger.sees_end()) << to_hex(as_bytes(garbage.substr(0, 4)));
  }
}

// MPA Requests that are none (RFC 5044 section 7.1.1): the connection ends without a word.
TEST_F(LoginAbuseTest, BadMpaRequestsAreClosed) {
  serve();
  const std::string key = "MPA ID Req Frame";
  const auto rest = [&key](std::initializer_list<int> bytes, std::size_t data = 0) {
    std::string frame = key;
    for (const int byte : bytes) frame += static_cast<char>(byte);
    return frame + std::string(data, 'x');
  };
  for (const std::string& frame : {rest({0x40, 0x03, 0x00, 0x00}),       // revision 3
                                   rest({0x40, 0xff, 0x00, 0x00}),       //
                                   rest({0x40, 0x00, 0x00, 0x00}),       // revision 0, no markers
                                   rest({0x40, 0x01, 0x02, 0x01}, 513),  // too much private data
                                   rest({0x40, 0x01, 0xff, 0xff}, 100),  //
                                   rest({0x50, 0x02, 0x00, 0x00}),       // S without its words
                                   rest({0x50, 0x02, 0x00, 0x03}, 3),    //
                                   std::string("MPA ID Req Frame") + "MPA ID Req Frame"}) {  //
    RawSocket peer(port());
    ASSERT_TRUE(peer.write(frame));
    EXPECT_EQ(peer.read(1), "") << to_hex(as_bytes(frame).subspan(16));
    EXPECT_TRUE(peer.sees_end());
  }
}

// In place of the MPA Request of a stream-first connection.
TEST_F(LoginAbuseTest, GarbageInPlaceOfTheSwitchIsClosed) {
  serve();
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("MPA ID Rep Frame\x40\x01\x00\x00", 20),
        std::string(48, '\0'), first_request()}) {
    RawIscsi peer(port());
    ASSERT_EQ(peer.log_in(names(kRfc7145Keys)), 0);
    ASSERT_TRUE(peer.write(bytes));
    EXPECT_EQ(peer.read(1), "");
    EXPECT_TRUE(peer.sees_end());
  }
}

// Half of anything, then nothing: over both wires, at every step. One time-out is waited for by
// all of them together.
TEST_F(LoginAbuseTest, HalfAPduThenNothingEndsInTime) {
  serve_impatiently();
  const std::string request = first_request(names(kRfc7145Keys));
  std::deque<RawIser> peers;
  for (const std::size_t cut : {0u, 1u, 15u, 16u, 47u, 48u, 49u, 100u}) {
    auto& peer = peers.emplace_back(port());
    ASSERT_TRUE(peer.socket.write(std::string_view(request).substr(0, cut)));
  }
  // A login that has begun well.
  for (const std::size_t cut : {0u, 1u, 47u, 60u}) {
    auto& peer = peers.emplace_back(port());
    ASSERT_EQ(peer.socket.ask(1, {}, names()), 0);
    ASSERT_TRUE(peer.socket.write(std::string_view(request).substr(0, cut)));
  }
  for (const std::size_t cut : {1u, 15u, 16u, 19u, 20u, 21u}) {
    auto& peer = peers.emplace_back(port());
    rdmap::MpaFrame frame = RawIwarp::request();
    const ByteVector data = hex("80000000");
    frame.private_data = data;
    ASSERT_TRUE(peer.socket.write(Bytes(encode(frame)).first(cut)));
  }
  // Over a queue pair that is up.
  for (const std::size_t cut : {0u, 1u, 2u, 20u, 48u, 100u}) {
    auto& peer = peers.emplace_back(port());
    ASSERT_TRUE(peer.iwarp.start());
    const ByteVector fpdu = peer.iwarp.fpdu(
        ulpdu(rdmap::Opcode::send, rdmap::UntaggedHeader{.invalidate = {}}, as_bytes(request)));
    ASSERT_TRUE(peer.socket.write(Bytes(fpdu).first(cut)));
  }
  for (auto& peer : peers) EXPECT_TRUE(peer.socket.sees_end()) << &peer - &peers.front();
}

// A trickle does not buy time: the deadline is of the whole login.
TEST_F(LoginAbuseTest, ALoginByTrickleEndsInTime) {
  serve_impatiently();
  RawIscsi peer(port());
  const Time start = SteadyClock().now();
  int asked = 0;
  while (peer.ask(1, {}, asked++ == 0 ? names() : "") == 0) {
    pollfd nothing{.fd = -1, .events = 0, .revents = 0};
    poll(&nothing, 1, 50);
  }
  EXPECT_LT(SteadyClock().now() - start, std::chrono::seconds(10));
  EXPECT_TRUE(peer.sees_end());
}

// --- more connections than there may be ---

TEST_F(LoginAbuseTest, ConnectionsBeyondTheLimitAreClosedAndThenThereIsRoomAgain) {
  auto config = daemon_config();
  config.limits.connections = 20;
  serve(std::move(config));
  std::deque<RawSocket> crowd;
  for (int i = 0; i < 200; ++i) crowd.emplace_back(port());
  // Beside the other connection 19 may stay; they are taken in the order in which they came.
  for (std::size_t i = 0; i < crowd.size(); ++i) {
    if (i < 19) {
      EXPECT_TRUE(crowd[i].is_open()) << i;
    } else {
      EXPECT_TRUE(crowd[i].sees_end()) << i;
    }
  }
  crowd.clear();
  EXPECT_TRUE(eventually([&] { return RawIscsi(port()).log_in() == 0; }));
}

// --- login requests that are wrong ---

// CVE-2011-0001: the length is believed by nobody before it is checked.
TEST_F(LoginAbuseTest, OversizedDataSegmentsAreNotWaitedFor) {
  serve();
  for (const std::uint32_t length : {8193u, 65536u, 0xffffffu}) {
    RawIscsi peer(port());
    ControlPdu pdu = peer.requests.at(1, 3, names());
    pdu.bhs.set_data_segment_length(length);
    ASSERT_TRUE(peer.send(pdu));
    EXPECT_TRUE(peer.sees_end()) << length;
    // Over a queue pair the message ends before its data does.
    RawIser over_rdma(port());
    ASSERT_TRUE(over_rdma.iwarp.start());
    ASSERT_TRUE(over_rdma.send(pdu));
    EXPECT_EQ(over_rdma.iwarp.fate(), "closed") << length;
  }
}

TEST_F(LoginAbuseTest, AdditionalHeadersAreNoPartOfALogin) {
  serve();
  RawIscsi peer(port());
  ControlPdu pdu = peer.requests.at(1, 3, names());
  pdu.bhs.set_total_ahs_length(1020);
  ASSERT_TRUE(peer.send(pdu));
  EXPECT_TRUE(peer.sees_end());
}

// fault 1: 8 KiB of keys nobody knows, whose answers are longer than they are.
TEST_F(LoginAbuseTest, ThousandsOfUnknownKeys) {
  serve();
  for (const int count : {1, 2, 100, 1000, 1024, 2000, 2048}) {
    RawIscsi peer(port());
    std::string keys;
    for (int i = 0; i < count; ++i) {
      // Each is another key, as short as it can be.
      keys += static_cast<char>('A' + i % 26);
      keys += static_cast<char>('a' + i / 26 % 26);
      keys += static_cast<char>('a' + i / 676);
      keys += "=|";
    }
    ASSERT_EQ(peer.ask(0, {}, names("AuthMethod=None|")), 0);
    int status = peer.ask(0, 1, keys.substr(0, 8192), false);
    std::string answers = peer.text_answer;
    while (status == 0 && peer.response.continues) {
      status = peer.ask(0, 1, "");
      answers += peer.text_answer;
    }
    if (status == 0) {
      std::size_t told = 0;
      for (auto at = answers.find("NotUnderstood"); at != std::string::npos;
           at = answers.find("NotUnderstood", at + 1)) {
        ++told;
      }
      EXPECT_EQ(told, std::min<std::size_t>(static_cast<std::size_t>(count), 8192 / 5)) << count;
    } else {
      EXPECT_EQ(status, kInitiatorError) << count;
      EXPECT_TRUE(peer.sees_end());
    }
  }
}

TEST_F(LoginAbuseTest, TheSameShortKeyTwoThousandTimes) {
  serve();
  RawIscsi peer(port());
  std::string keys;
  for (int i = 0; i < 2048; ++i) keys += "a=b|";
  EXPECT_EQ(peer.log_in(keys), kInitiatorError);
  EXPECT_TRUE(peer.sees_end());
}

TEST_F(LoginAbuseTest, AnEndlessTextIsCutOff) {
  serve();
  RawIscsi peer(port());
  int pieces = 0;
  while (pieces < 1000 && peer.ask(1, {}, "X-a=" + std::string(8000, 'v'), true) == 0) ++pieces;
  EXPECT_LT(pieces, 20);
  EXPECT_TRUE(peer.sees_end());
}

// RFC 7143 section 11.12: nothing but a login before the login.
TEST_F(LoginAbuseTest, CommandsBeforeTheLoginAreNotExecuted) {
  serve();
  const auto command = [](auto pdu) { return ControlPdu{encode(pdu), {}, {}}; };
  const ControlPdu early[] = {command(block_command(kRead10, 1, 100, 0, 1)),
                              command(block_command(kWrite10, 1, 100, 0, 1)),
                              command(ping(1, 100)),
                              command(logout(1, 100)),
                              command(iscsi::TextRequest{}),
                              command(iscsi::TaskManagementRequest{}),
                              command(iscsi::DataOut{}),
                              command(iscsi::SnackRequest{}),
                              command(iscsi::ScsiResponse{}),
                              command(LoginResponse{})};
  for (const ControlPdu& pdu : early) {
    const auto opcode = static_cast<int>(pdu.bhs.opcode());
    RawIscsi first(port());
    ASSERT_TRUE(first.send(pdu));
    EXPECT_EQ(first.read(1), "") << "as the first PDU: " << opcode;
    EXPECT_TRUE(first.sees_end());

    RawIscsi between(port());
    ASSERT_EQ(between.ask(1, {}, names()), 0);
    ASSERT_TRUE(between.send(pdu));
    const auto answer = between.receive();
    ASSERT_TRUE(answer) << opcode;
    const auto refusal = iscsi::decode<LoginResponse>(answer->bhs);
    ASSERT_TRUE(refusal) << opcode;
    EXPECT_EQ(status_of(*refusal), kInvalidRequest) << opcode;
    EXPECT_TRUE(between.sees_end());

    RawIser over_rdma(port());
    ASSERT_TRUE(over_rdma.iwarp.start());
    ASSERT_TRUE(over_rdma.send(pdu));
    EXPECT_EQ(over_rdma.iwarp.fate(), "closed") << opcode;
  }
}

struct BadRequest {
  const char* name;
  void (*spoil)(LoginRequest& request);
  int status;
};
const BadRequest kBadRequests[] = {
    {"VersionTooHigh", [](LoginRequest& r) { r.version_max = r.version_min = 1; }, 0x0205},
    {"FullFeatureAtOnce", [](LoginRequest& r) { r.current_stage = 3; }, kInitiatorError},
    {"ReservedStage", [](LoginRequest& r) { r.current_stage = 2; }, kInitiatorError},
    {"NextIsReserved", [](LoginRequest& r) { r.next_stage = 2; }, kInitiatorError},
    {"NextIsTheSame", [](LoginRequest& r) { r.next_stage = 1; }, kInitiatorError},
    {"NextIsEarlier", [](LoginRequest& r) { r.next_stage = 0; }, kInitiatorError},
    {"TransitAndMore", [](LoginRequest& r) { r.continues = true; }, kInitiatorError},
    {"UnknownSession", [](LoginRequest& r) { r.tsih = 0x1234; }, 0x020a},
};

TEST_F(LoginAbuseTest, BadRequestsAreRefused) {
  serve();
  for (const BadRequest& bad : kBadRequests) {
    RawIscsi peer(port());
    LoginRequest request = peer.requests.header;
    request.transit = true;
    request.current_stage = 1;
    request.next_stage = 3;
    bad.spoil(request);
    const ControlPdu pdu = pdu_of(encode(request), with_nuls(names()));
    ASSERT_TRUE(peer.send(pdu));
    const auto answer = peer.receive();
    ASSERT_TRUE(answer) << bad.name;
    EXPECT_EQ(status_of(*iscsi::decode<LoginResponse>(answer->bhs)), bad.status) << bad.name;
    EXPECT_TRUE(peer.sees_end()) << bad.name;

    RawIser over_rdma(port());
    ASSERT_TRUE(over_rdma.iwarp.start());
    ASSERT_TRUE(over_rdma.send(pdu));
    const auto message = over_rdma.receive();
    ASSERT_TRUE(message) << bad.name;
    EXPECT_EQ(status_of(*iscsi::decode<LoginResponse>(message->pdu.bhs)), bad.status) << bad.name;
    EXPECT_EQ(over_rdma.iwarp.fate(), "closed") << bad.name;
  }
}

// --- gone at every step ---

enum class Leave { close, reset, half_close };

const char* name_of(Leave how) {
  return std::array{"Close", "Reset", "HalfClose"}[static_cast<std::size_t>(how)];
}
void PrintTo(Leave how, std::ostream* out) {
  *out << name_of(how);
}

void leave(RawSocket& socket, Leave how) {
  switch (how) {
    case Leave::close:
      return socket.close();
    case Leave::reset:
      return socket.reset();
    case Leave::half_close:
      socket.half_close();
      EXPECT_TRUE(socket.sees_end());
      return;
  }
}

class GoneTest : public HostileCaseTest<Leave> {
 protected:
  // A request that was left behind may be granted late, and would then end its successor's session:
  // those that are to succeed come from another initiator port.
  static void another_port(RawIscsi& peer) { peer.requests.header.isid[5] = std::byte{0x66}; }
};

// What has been sent is cut at every byte of the first request, then behind each step.
TEST_P(GoneTest, DuringAPlainLogin) {
  serve();
  const std::string request = wire_form(Requests().at(1, 3, names()));
  for (std::size_t cut = 0; cut < request.size(); cut += 7) {
    RawSocket peer(port());
    ASSERT_TRUE(peer.write(request.substr(0, cut)));
    leave(peer, GetParam());
  }
  RawSocket unheard(port());  // the answer is nobody's
  ASSERT_TRUE(unheard.write(request));
  leave(unheard, GetParam());
  RawIscsi between(port());
  ASSERT_EQ(between.ask(0, 1, names("AuthMethod=None|")), 0);
  leave(between, GetParam());
  RawIscsi done(port());
  another_port(done);
  ASSERT_EQ(done.log_in(), 0);
  leave(done, GetParam());
}

TEST_P(GoneTest, DuringARdmaFirstLogin) {
  serve();
  const ByteVector frame = encode(RawIwarp::request());
  for (std::size_t cut = 1; cut <= frame.size(); ++cut) {
    RawSocket peer(port());
    ASSERT_TRUE(peer.write(Bytes(frame).first(cut)));
    leave(peer, GetParam());
  }
  const auto request = Requests().at(1, 3, names(kLinuxKeys));
  for (std::size_t cut = 0; cut < 400; cut += 11) {
    RawIser peer(port());
    ASSERT_TRUE(peer.iwarp.start());
    const ByteVector fpdu = peer.iwarp.fpdu(
        ulpdu(rdmap::Opcode::send, rdmap::UntaggedHeader{.invalidate = {}}, peer.message(request)));
    ASSERT_TRUE(peer.socket.write(Bytes(fpdu).first(std::min(cut, fpdu.size()))));
    leave(peer.socket, GetParam());
  }
  RawIser done(port());
  another_port(done.socket);
  ASSERT_EQ(done.rdma_first(), 0);
  leave(done.socket, GetParam());
}

TEST_P(GoneTest, DuringTheSwitch) {
  serve();
  for (const char* keys : {kRfc5046Keys, kRfc7145Keys, kHelloKeys}) {
    const std::string text = names(keys);
    const Dialect dialect = keys == kRfc5046Keys ? Dialect::rfc5046 : Dialect::rfc7145;
    RawIser before(port(), dialect);
    another_port(before.socket);
    ASSERT_TRUE(before.socket.send(before.socket.requests.at(1, 3, text)));
    leave(before.socket, GetParam());
    const ByteVector frame = encode(RawIwarp::request());
    for (std::size_t cut = 0; cut <= frame.size(); cut += 4) {
      RawIser peer(port(), dialect);
      ASSERT_EQ(peer.socket.log_in(text), 0);
      ASSERT_TRUE(peer.socket.write(Bytes(frame).first(cut)));
      leave(peer.socket, GetParam());
    }
    for (const std::size_t cut : {0u, 1u, 20u, 27u, 35u, 36u, 52u}) {
      RawIser peer(port(), dialect);
      ASSERT_EQ(peer.stream_first(text), 0);
      const ByteVector fpdu = peer.iwarp.fpdu(
          ulpdu(rdmap::Opcode::send, rdmap::UntaggedHeader{.invalidate = {}}, peer.hello()));
      ASSERT_TRUE(peer.socket.write(Bytes(fpdu).first(std::min(cut, fpdu.size()))));
      leave(peer.socket, GetParam());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, GoneTest,
                         ::testing::Values(Leave::close, Leave::reset, Leave::half_close),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace openiser::test
