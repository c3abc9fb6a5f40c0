#include "rdmap/core/read_queue.h"

#include "rdmap/errors.h"

namespace openiser::rdmap {
namespace {

// Sinks do not touch, so that an overrun of one is never the start of the next.
constexpr std::uint64_t kSinkAlignment = 4096;

std::uint64_t offset_after(std::uint64_t offset, std::size_t length) {
  return (offset + length) / kSinkAlignment * kSinkAlignment + 2 * kSinkAlignment;
}

}  // namespace

ReadRequestHeader ReadRequester::request(Work* work) {
  if (!work) {
    outstanding_.push_back({nullptr, 0, 0, 0});
    return {};
  }
  const std::size_t length = work->buffer.size();
  ReadRequestHeader header;
  header.sink = sink_;
  header.sink_offset = next_offset_;
  header.size = static_cast<std::uint32_t>(length);
  header.source = work->remote.stag;
  header.source_offset = work->remote.offset;
  outstanding_.push_back({work, next_offset_, length, 0});
  next_offset_ = offset_after(next_offset_, length);
  return header;
}

Result<MutableBytes> ReadRequester::place(const TaggedHeader& header, std::size_t length) const {
  if (outstanding_.empty()) return make_error_code(errc::ddp_tagged_invalid_stag);
  // A zero-length segment names no memory (RFC 5041 section 5.2).
  if (length == 0) return MutableBytes();
  if (header.stag != sink_) return make_error_code(errc::ddp_tagged_invalid_stag);
  if (header.offset + length < header.offset) return make_error_code(errc::ddp_tagged_wrap);
  const Outstanding& read = outstanding_.front();
  if (header.offset != read.offset + read.placed || length > read.length - read.placed) {
    return make_error_code(errc::ddp_tagged_bounds);
  }
  return read.work->buffer.bytes().subspan(read.placed, length);
}

MutableBytes ReadRequester::sink_behind(std::size_t length) const {
  if (outstanding_.empty()) return {};
  const Outstanding& read = outstanding_.front();
  if (length >= read.length - read.placed) return {};
  return read.work->buffer.bytes().subspan(read.placed + length);
}

void ReadResponder::Owed::advance(std::size_t n) {
  request.sink_offset += n;
  request.size -= static_cast<std::uint32_t>(n);
  request.source_offset += n;
  ByteWriter header(MutableBytes(ulpdu).subspan(kUntaggedHeaderSize));
  encode(request, header);
}

Status ReadRequester::deliver(const TaggedHeader& header, std::size_t length) {
  Outstanding& read = outstanding_.front();
  read.placed += length;
  if (!header.last) return {};
  if (read.placed != read.length) return make_error_code(errc::rdmap_stream_catastrophic);
  if (read.work) read.work->finished = true;
  outstanding_.pop_front();
  return {};
}

}  // namespace openiser::rdmap
