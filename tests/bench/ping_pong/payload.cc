#include "tests/bench/ping_pong/payload.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/descriptor.h"

namespace openiser::bench {
namespace {

Buffer touched(std::uint64_t size, int value) {
  Buffer buffer = Buffer::allocate(size);
  std::memset(buffer.data(), value, buffer.size());
  return buffer;
}

}  // namespace

Payload::Payload(const Options& options, Side side)
    : outgoing_(side == Side::server ? options.response : options.request),
      incoming_(side == Side::server ? options.request : options.response),
      sequential_(options.sequential || side == Side::client),
      hot_(touched(outgoing_, 0x5a)) {
  if (side == Side::server && !options.lun.empty()) {
    map_lun(options);
    places_ = lun_;
  } else if (options.place && incoming_ == options.larger()) {
    kept_ = touched(incoming_ * options.depth * options.connections, 0);
    places_ = kept_.bytes();
  }
}

Payload::~Payload() {
  if (!lun_.empty()) munmap(lun_.data(), lun_.size());
}

void Payload::map_lun(const Options& options) {
  const Descriptor file(open(options.lun.c_str(), O_RDWR | O_CLOEXEC));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0)
    throw std::system_error(errno, std::generic_category(), options.lun);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size < options.larger())
    throw std::system_error(EFBIG, std::generic_category(),
                            options.lun + " is smaller than a message");
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file.get(), 0);
  if (at == MAP_FAILED) throw std::system_error(errno, std::generic_category(), options.lun);
  lun_ = {static_cast<std::byte*>(at), size};
}

MutableBytes Payload::next_place(std::uint64_t size) {
  const std::uint64_t slots = places_.size() / size;
  const std::uint64_t slot = (sequential_ ? next_++ : random_()) % slots;
  return places_.subspan(slot * size, size);
}

Bytes Payload::source() {
  if (lun_.empty() || outgoing_ < incoming_) return hot_.bytes();
  return next_place(outgoing_);
}

MutableBytes Payload::destination() {
  if (places_.empty() || incoming_ < outgoing_) return {};
  return next_place(incoming_);
}

}  // namespace openiser::bench
