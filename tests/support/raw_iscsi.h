// A RawSocket that speaks iSCSI PDUs, right or wrong: a login of any kind, then anything.
#pragma once

#include <optional>
#include <string>

#include "tests/support/login.h"
#include "tests/support/raw_socket.h"

namespace openiser::test {

// RFC 7143 section 11.2: header, additional header segments, data and padding as on the wire. The
// lengths in the header are the caller's.
inline std::string wire_form(const ControlPdu& pdu) {
  std::string bytes(as_text(pdu.bhs.raw));
  bytes += as_text(pdu.ahs.bytes());
  bytes += as_text(pdu.data.bytes());
  bytes.append(pad4(pdu.data.size()), '\0');
  return bytes;
}

class RawIscsi : public RawSocket {
 public:
  using RawSocket::RawSocket;

  bool send(const ControlPdu& pdu) { return write(test::wire_form(pdu)); }

  // Nothing if the connection ends first.
  std::optional<ControlPdu> receive() {
    const std::string header = read(iscsi::kBhsSize);
    if (header.size() < iscsi::kBhsSize) return {};
    ControlPdu pdu;
    std::memcpy(pdu.bhs.raw.data(), header.data(), header.size());
    const std::size_t length = pdu.bhs.data_segment_length();
    const std::string data = read(length + pad4(length));
    if (data.size() < length + pad4(length)) return {};
    pdu.data = Buffer::copy_of(as_bytes(std::string_view(data).substr(0, length)));
    return pdu;
  }

  // One Login Request and its answer: the status, or -1 for none.
  int ask(int stage, std::optional<int> next, const std::string& text, bool continues = false) {
    if (!send(requests.at(stage, next, text, continues))) return -1;
    const auto pdu = receive();
    const auto answer = pdu ? iscsi::decode<LoginResponse>(pdu->bhs)
                            : Result<LoginResponse>(make_error_code(errc::truncated));
    if (!answer) return -1;
    response = *answer;
    text_answer = with_bars(pdu->data.bytes());
    tsih = answer->tsih;
    return status_of(*answer);
  }
  // A login in one request, straight to full feature phase.
  int log_in(const std::string& text = names()) { return ask(1, 3, text); }

  Requests requests;
  // Of the last answer.
  LoginResponse response;
  std::uint16_t tsih = 0;
  std::string text_answer;
};

}  // namespace openiser::test
