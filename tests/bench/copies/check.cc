// Copies, CRCs and system calls as many as it says, for the harness to see whether they are
// counted. Prints as JSON, for each kind, calls and bytes.
#include <isa-l/crc.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace {

constexpr int kRounds = 1000;
// Not known to the compiler, which would make code of its own for some sizes.
volatile std::size_t size = 4096;
volatile std::size_t below = 511;

void copies(std::vector<char>& a, std::vector<char>& b) {
  for (int i = 0; i != kRounds; ++i) {
    std::memcpy(a.data(), b.data(), size);
    std::memcpy(a.data(), b.data(), below);
    std::memmove(a.data() + 1, a.data(), size);
    std::memset(b.data(), i, size);
  }
}

void crcs(std::vector<char>& a) {
  unsigned crc = 0;
  for (int i = 0; i != kRounds; ++i) {
    crc = crc32_iscsi(reinterpret_cast<unsigned char*>(a.data()), static_cast<int>(size), crc);
  }
}

bool transfers(std::vector<char>& a) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return false;
  iovec piece{a.data(), size};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  for (int i = 0; i != kRounds; ++i) {
    const auto whole = static_cast<ssize_t>(size);
    if (sendmsg(ends[0], &message, 0) != whole || recvmsg(ends[1], &message, 0) != whole) {
      return false;
    }
  }
  return true;
}

}  // namespace

int main() {
  std::vector<char> a(8192), b(8192);
  copies(a, b);
  crcs(a);
  if (!transfers(a)) return EXIT_FAILURE;
  const char* between = "{";
  for (const char* what : {"memcpy", "memmove", "memset", "crc32_iscsi", "sendmsg", "recvmsg"}) {
    std::printf("%s\"%s\": [%d, %zu]", std::exchange(between, ", "), what, kRounds, kRounds * size);
  }
  std::printf("}\n");
}
