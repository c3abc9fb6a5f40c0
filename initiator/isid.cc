#include "initiator/isid.h"

#include <openssl/evp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>

#include "base/hex.h"
#include "base/last_error.h"
#include "initiator/session.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

namespace openiser::initiator {
namespace {

// Far more than one host has sessions with one LUN.
constexpr unsigned kMostAtOnce = 4096;

[[noreturn]] void fail(const std::string& what) {
  throw SessionError("cannot choose an ISID for the session: " + what);
}

Descriptor new_claim() {
  Descriptor claim(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!claim) fail("socket: " + last_error().message());
  return claim;
}

std::string machine_id() {
  std::ifstream file("/etc/machine-id");
  std::string id;
  std::getline(file, id);
  return id;
}

// The claims of one network namespace are not seen in another, so each has ISIDs of its own. The
// host's own namespace has the same cookie after a reboot, as it is the first.
std::uint64_t network_namespace(const Descriptor& claim) {
  std::uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  ::getsockopt(claim.get(), SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size);
  return cookie;
}

std::array<unsigned char, 32> digest_of(const std::string& text) {
  std::array<unsigned char, 32> digest{};
  if (EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr) != 1) {
    fail("OpenSSL has no SHA-256");
  }
  return digest;
}

// RFC 7143 section 11.12.5: type 10b; B and C in place of a random number, D the qualifier.
iscsi::Isid isid_of(const std::array<unsigned char, 32>& digest, unsigned number) {
  const unsigned qualifier = (digest[3] << 8U | digest[4]) + number;
  return {std::byte{0x80},      std::byte{digest[0]},       std::byte{digest[1]},
          std::byte{digest[2]}, std::byte(qualifier >> 8U), std::byte(qualifier)};
}

}  // namespace

HeldIsid::HeldIsid(const NexusName& nexus) : claim_(new_claim()) {
  const auto digest =
      digest_of(machine_id() + '\n' + std::to_string(network_namespace(claim_)) + '\n' +
                nexus.initiator + '\n' + nexus.target + '\n' + std::to_string(nexus.lun));
  for (unsigned number = 0; number < kMostAtOnce; ++number) {
    if (take(isid_of(digest, number))) return;
  }
  fail("this host has " + std::to_string(kMostAtOnce) + " sessions with " + nexus.target +
       " already; end some");
}

bool HeldIsid::take(const iscsi::Isid& isid) {
  std::string name(1, '\0');
  name += "open-iser/isid/" + to_hex(isid);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  if (::bind(claim_.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0) {
    isid_ = isid;
    return true;
  }
  if (errno != EADDRINUSE) fail("bind: " + last_error().message());
  return false;
}

}  // namespace openiser::initiator
