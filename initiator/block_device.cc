#include "initiator/block_device.h"

#include <future>

namespace openiser::initiator {
namespace {

template <class Start>
ErrorCode wait(Start start) {
  std::promise<ErrorCode> finished;
  start([&finished](ErrorCode error) { finished.set_value(error); });
  return finished.get_future().get();
}

}  // namespace

ErrorCode BlockDevice::read(std::uint64_t offset, MutableBytes data) {
  return wait([&](Done done) { read(offset, data, std::move(done)); });
}
ErrorCode BlockDevice::write(std::uint64_t offset, Bytes data, bool force_unit_access) {
  return wait([&](Done done) { write(offset, data, force_unit_access, std::move(done)); });
}
ErrorCode BlockDevice::flush() {
  return wait([&](Done done) { flush(std::move(done)); });
}
ErrorCode BlockDevice::unmap(std::uint64_t offset, std::uint64_t length) {
  return wait([&](Done done) { unmap(offset, length, std::move(done)); });
}
ErrorCode BlockDevice::write_zeroes(std::uint64_t offset, std::uint64_t length, bool deallocate) {
  return wait([&](Done done) { write_zeroes(offset, length, deallocate, std::move(done)); });
}

}  // namespace openiser::initiator
