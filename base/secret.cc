#include "base/secret.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/descriptor.h"

namespace openiser {

namespace {

constexpr std::size_t kLongest = 1024;

SecretFile faulty(std::string why) {
  return {{}, std::move(why)};
}

// Empty if nobody but its owner and root can learn or change what is in it.
std::string exposure(int file) {
  struct stat about {};
  if (::fstat(file, &about) != 0) return std::string("cannot be read: ") + std::strerror(errno);
  if (!S_ISREG(about.st_mode)) return "is no regular file; name the file that holds the secret";
  if (about.st_uid != 0 && about.st_uid != ::geteuid())
    return "belongs to user " + std::to_string(about.st_uid) +
           "; have it owned by root or by the user of this program";
  if ((about.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return "can be used by more than its owner; chmod 600 it";
  return {};
}

// As much as there is, or `into` can hold; negative after an error.
ssize_t read_all(int file, MutableBytes into) {
  std::size_t got = 0;
  while (got < into.size()) {
    const ssize_t n = ::read(file, into.data() + got, into.size() - got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return n;
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  return static_cast<ssize_t>(got);
}

// Without what ends a line in an editor.
Bytes without_line_end(Bytes line) {
  if (!line.empty() && line.back() == std::byte{'\n'}) {
    line = line.first(line.size() - 1);
    if (!line.empty() && line.back() == std::byte{'\r'}) line = line.first(line.size() - 1);
  }
  return line;
}

}  // namespace

Secret::~Secret() {
  wipe(bytes_);
}

void wipe(MutableBytes bytes) {
  if (!bytes.empty()) ::explicit_bzero(bytes.data(), bytes.size());
}

SecretFile read_secret_file(const std::string& path, std::size_t least) {
  // Not blocking: the name may be that of a pipe.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file)
    return faulty(std::string("cannot be opened: ") + std::strerror(errno) +
                  "; check its name and permissions");
  if (std::string why = exposure(file.get()); !why.empty()) return faulty(std::move(why));
  std::array<std::byte, kLongest + 3> room;  // and one line end, and one byte too many
  const ssize_t size = read_all(file.get(), room);
  if (size < 0) return faulty(std::string("cannot be read: ") + std::strerror(errno));
  const Bytes bytes = without_line_end(Bytes(room).first(static_cast<std::size_t>(size)));
  SecretFile result;
  if (bytes.size() > kLongest)
    result.fault = "is longer than " + std::to_string(kLongest) + " bytes; this is no secret";
  else if (bytes.size() < least)
    result.fault = "holds " + std::to_string(bytes.size()) + " bytes; write a secret of at least " +
                   std::to_string(least);
  else
    result.secret = Secret(bytes);
  wipe(room);
  return result;
}

}  // namespace openiser
