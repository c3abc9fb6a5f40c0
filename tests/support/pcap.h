// Reads a classic pcap file of one TCP connection over IPv4 and Ethernet, and puts the byte stream
// of each direction together.
#pragma once

#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "tests/support/bytes.h"

namespace openiser::test {

// One direction of a connection. What follows a packet missing from the capture is left out.
struct TcpStream {
  ByteVector bytes;
  bool complete = true;
};

struct TcpConversation {
  TcpStream from_client;
  TcpStream from_server;
};

// Orders the segments of one direction by sequence number.
class TcpReassembler {
 public:
  // `sequence` is that of the segment's first octet.
  void segment(std::uint32_t sequence, Bytes payload, bool syn) {
    if (syn) next_ = sequence + 1;
    if (!payload.empty()) waiting_.emplace(sequence - next_, exact(payload));
  }
  TcpStream stream() const {
    TcpStream stream;
    for (const auto& [offset, bytes] : waiting_) {
      if (offset > stream.bytes.size()) {
        stream.complete = false;
        break;
      }
      const std::size_t known = stream.bytes.size() - offset;
      if (known < bytes.size()) {
        stream.bytes.insert(stream.bytes.end(), bytes.begin() + static_cast<std::ptrdiff_t>(known),
                            bytes.end());
      }
    }
    return stream;
  }

 private:
  std::uint32_t next_ = 0;
  // By offset in the stream, which is short of 4 GiB.
  std::multimap<std::uint32_t, ByteVector> waiting_;
};

// Throws when the file is not what it should be.
inline TcpConversation read_pcap(const std::string& path, std::uint16_t server_port = 3260) {
  constexpr std::uint32_t kMicrosecondMagic = 0xa1b2c3d4;
  constexpr std::size_t kEthernetSize = 14;
  constexpr std::uint8_t kSyn = 0x02;

  std::ifstream file(path, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  ByteReader in(as_bytes(content));
  if (in.le32() != kMicrosecondMagic) throw std::runtime_error(path + ": no pcap file");
  in.skip(16);
  if (in.le32() != 1) throw std::runtime_error(path + ": not Ethernet");

  TcpReassembler client;
  TcpReassembler server;
  while (in.remaining() > 0) {
    in.skip(8);
    const std::uint32_t captured = in.le32();
    in.skip(4);
    const Bytes ip = ByteReader(in.bytes(captured)).rest().subspan(kEthernetSize);
    if (!in.ok()) throw std::runtime_error(path + ": cut short");
    const std::size_t ip_header = (load_u8(&ip[0]) & 0x0f) * 4u;
    const Bytes tcp = ip.subspan(ip_header, load_be16(&ip[2]) - ip_header);
    const std::size_t tcp_header = (load_u8(&tcp[12]) >> 4) * 4u;
    TcpReassembler& direction = load_be16(&tcp[0]) == server_port ? server : client;
    direction.segment(load_be32(&tcp[4]), tcp.subspan(tcp_header), (load_u8(&tcp[13]) & kSyn) != 0);
  }
  return {client.stream(), server.stream()};
}

}  // namespace openiser::test
