#include "initiator/cli/load.h"

#include <algorithm>
#include <string>

#include "base/buffer.h"
#include "initiator/cli/output.h"

namespace openiser::initiator::cli {
namespace {

std::uint64_t pattern(std::uint64_t offset, std::size_t within) {
  return offset * 0x9e3779b97f4a7c15u + within;
}

void choose_kind(Load& load, const std::string& rw) {
  load.random = rw.starts_with("rand");
  const std::string kind = load.random ? rw.substr(4) : rw;
  load.reads = kind == "read" || kind == "rw";
  load.writes = kind == "write" || kind == "rw";
  if ((!load.reads && !load.writes) || rw == "rw") {
    throw UsageError("--rw takes read, write, randread, randwrite or randrw, not '" + rw + "'");
  }
}

}  // namespace

Load load_of(const BenchArguments& arguments, const BlockDeviceProperties& lun) {
  Load load;
  choose_kind(load, arguments.rw);
  const std::uint32_t bs = arguments.block_size;
  if (bs == 0 || bs % lun.block_size != 0 || bs > (1u << 24)) {
    throw UsageError("--bs " + std::to_string(bs) + ": a multiple of the LUN's block size (" +
                     std::to_string(lun.block_size) + "), 16M at most");
  }
  const std::uint64_t size = arguments.size ? std::min(arguments.size, lun.size()) : lun.size();
  load.blocks = size / bs;
  if (load.blocks == 0) throw UsageError("--size is smaller than one block of --bs");
  load.verify = arguments.verify;
  load.block_size = bs, load.depth = arguments.iodepth, load.mix = arguments.mix;
  return load;
}

void stamp(MutableBytes data, std::uint64_t offset) {
  for (std::size_t at = 0; at < data.size(); at += 512) {
    for (std::size_t i = 0; i < 512; i += 8) store_be64(&data[at + i], pattern(offset + at, i));
  }
}

bool stamped(Bytes data, std::uint64_t offset) {
  for (std::size_t at = 0; at < data.size(); at += 512) {
    for (std::size_t i = 0; i < 512; i += 8) {
      if (load_be64(&data[at + i]) != pattern(offset + at, i)) return false;
    }
  }
  return true;
}

void fill(Lun& lun, const Load& load) {
  const std::uint64_t total = load.blocks * load.block_size;
  Progress progress("filling", total);
  Buffer buffer = Buffer::allocate(std::min<std::uint64_t>(4u << 20, total));
  for (std::uint64_t at = 0; at < total; at += buffer.size()) {
    buffer.resize(std::min<std::uint64_t>(buffer.room(), total - at));
    stamp(buffer.bytes(), at);
    if (const ErrorCode error = lun.write(at, buffer.bytes()))
      throw SessionError("filling: " + error.message());
    progress.at(at + buffer.size());
  }
}

}  // namespace openiser::initiator::cli
