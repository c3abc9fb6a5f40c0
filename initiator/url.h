// The URLs that users type: iser://[HOST][:PORT]/TARGET-IQN/LUN[?key=value&...] and iscsi://...
// iser:// means iSER or a clear failure; iscsi:// means plain iSCSI.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace openiser::initiator {

// What the user typed, or a file says, cannot be: what, where, and what to do, in one line. Exit
// status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Wire : std::uint8_t {
  automatic,     // rdma-first, then stream-first
  rdma_first,    // MPA at once, login in Sends
  stream_first,  // login as a byte stream, then the switch
  verbs,         // an RDMA device, login in Sends; never chosen by automatic
  plain,         // iSCSI without RDMA
};

struct Url {
  bool iser = true;
  std::string host = "127.0.0.1";
  std::uint16_t port = 3260;
  std::string target;                // empty: only host and port were given
  std::optional<std::uint16_t> lun;  // 0 to 16383
  Wire wire = Wire::automatic;
  bool rfc5046 = false;
  bool crc = true;
  bool markers = false;
  bool header_digest = false;
  bool data_digest = false;
  std::string user;

  // Canonical form, the scheme and keys that differ from the default included.
  std::string text() const;
};

// Throws UsageError.
Url parse_url(std::string_view text);
// HOST[:PORT], [IPv6]:PORT, or any URL: for commands that name a portal. Throws UsageError.
Url parse_portal(std::string_view text);

const char* name_of(Wire wire);

}  // namespace openiser::initiator
