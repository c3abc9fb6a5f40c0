// A TCP client under a test's control that speaks iSCSI PDUs to a daemon: blocking, with a time-out
// that turns a hang into a failure.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <string>

#include "rdmap/tcp/tcp.h"
#include "tests/support/login.h"

namespace openiser::test {

class RawInitiator {
 public:
  explicit RawInitiator(std::uint16_t port)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    EXPECT_EQ(connect(socket_.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    setsockopt(socket_.fd(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }

  // False once the connection is gone.
  bool write(std::string_view bytes) {
    return ::send(socket_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  bool send(const ControlPdu& pdu) { return write(wire_form(pdu)); }
  static std::string wire_form(const ControlPdu& pdu) {
    std::string bytes(as_text(pdu.bhs.raw));
    bytes += as_text(pdu.data.bytes());
    bytes.append(pad4(pdu.data.size()), '\0');
    return bytes;
  }

  // Up to `n` bytes: fewer if the connection ends.
  std::string read(std::size_t n) {
    std::string bytes(n, '\0');
    std::size_t got = 0;
    while (got < n) {
      const ssize_t r = recv(socket_.fd(), bytes.data() + got, n - got, 0);
      if (r <= 0) {
        timed_out_ = r < 0 && errno == EAGAIN;
        break;
      }
      got += static_cast<std::size_t>(r);
    }
    bytes.resize(got);
    return bytes;
  }
  // Nothing if the connection ends first.
  std::optional<ControlPdu> receive() {
    const std::string header = read(iscsi::kBhsSize);
    if (header.size() < iscsi::kBhsSize) return {};
    ControlPdu pdu;
    std::memcpy(pdu.bhs.raw.data(), header.data(), header.size());
    const std::size_t length = pdu.bhs.data_segment_length();
    pdu.data = Buffer::copy_of(as_bytes(read(length + pad4(length))));
    if (!pdu.data.empty()) pdu.data.resize(length);
    return pdu;
  }
  // Whether the other side has closed; what it still sends is dropped.
  bool sees_end() {
    while (!read(4096).empty()) {
    }
    return !timed_out_;
  }
  void close() { socket_ = rdmap::Socket(); }

  // A login in one request, straight to full feature phase. The answer's status, or -1 for none.
  int log_in(const std::string& text = names()) {
    if (!send(requests.at(1, 3, text))) return -1;
    const auto pdu = receive();
    if (!pdu) return -1;
    const auto answer = iscsi::decode<LoginResponse>(pdu->bhs);
    if (!answer) return -1;
    tsih = answer->tsih;
    text_answer = with_bars(pdu->data.bytes());
    return status_of(*answer);
  }

  Requests requests;
  std::uint16_t tsih = 0;
  std::string text_answer;

 private:
  rdmap::Socket socket_;
  bool timed_out_ = false;
};

}  // namespace openiser::test
