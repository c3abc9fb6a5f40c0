// read, write and cp: blocks to and from files, pipes and other LUNs.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/buffer.h"
#include "base/descriptor.h"
#include "initiator/cli/commands.h"
#include "initiator/cli/copy_engine.h"
#include "initiator/cli/output.h"
#include "initiator/lun.h"

namespace openiser::initiator::cli {
namespace {

constexpr std::size_t kChunk = 4u << 20;

bool is_url(const std::string& text) {
  return text.starts_with("iser://") || text.starts_with("iscsi://");
}

std::unique_ptr<Lun> open_lun(const Common& common, const std::string& text) {
  const Url url = parse_url(text);
  if (url.target.empty() || !url.lun)
    throw UsageError("URL '" + text + "' names no LUN: iser://HOST/TARGET/LUN");
  return Lun::open(Session::open(url, common.session), *url.lun);
}

[[noreturn]] void fail(const std::string& what) {
  throw SessionError(what + ": " + std::strerror(errno));
}

void write_all(int fd, Bytes data, const std::string& name) {
  while (!data.empty()) {
    const ssize_t n = ::write(fd, data.data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("writing " + name);
    data = data.subspan(static_cast<std::size_t>(n));
  }
}

// Fills `data` as far as the input goes.
std::size_t read_full(int fd, MutableBytes data, const std::string& name) {
  std::size_t got = 0;
  while (got < data.size()) {
    const ssize_t n = ::read(fd, data.data() + got, data.size() - got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("reading " + name);
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  return got;
}

void check_range(const BlockDeviceProperties& p, std::uint64_t lba, std::uint64_t count) {
  if (lba <= p.blocks && count <= p.blocks - lba) return;
  throw SessionError("blocks " + std::to_string(lba) + " to " + std::to_string(lba + count - 1) +
                     " are not all on the LUN, which has " + std::to_string(p.blocks));
}

struct Side {
  std::unique_ptr<BlockDevice> device;
  std::string wire;
};

void report(const Common& common, const CopyArguments& arguments, const CopyResult& result,
            double seconds, const std::string& wire) {
  const std::uint64_t total = result.data + result.holes;
  if (common.json) {
    const nlohmann::ordered_json out{{"bytes", total},         {"data", result.data},
                                     {"zeroes", result.holes}, {"seconds", seconds},
                                     {"wire", wire},           {"verified", arguments.verify}};
    std::cout << out.dump(2) << '\n';
    return;
  }
  const auto rate =
      static_cast<std::uint64_t>(static_cast<double>(total) / std::max(seconds, 1e-6));
  std::printf("%s (%s of it zeroes) in %.2f s, %s/s, over %s%s\n", size_text(total).c_str(),
              size_text(result.holes).c_str(), seconds, size_text(rate).c_str(), wire.c_str(),
              arguments.verify ? "; read back and compared: equal" : "");
}

// The secrets are for the side whose URL names a user, if only one does.
Common without_secrets(Common common) {
  common.session.secret = common.session.target_secret = {};
  return common;
}
bool has_user(const std::string& name) {
  return is_url(name) && !parse_url(name).user.empty();
}

}  // namespace

int read(const Common& common, const ReadArguments& arguments) {
  const auto lun = open_lun(common, arguments.url);
  const BlockDeviceProperties& p = lun->properties();
  check_range(p, arguments.lba, arguments.count);
  const bool to_stdout = arguments.output.empty() || arguments.output == "-";
  Descriptor file;
  if (!to_stdout) {
    file =
        Descriptor(open(arguments.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!file) fail("cannot open " + arguments.output);
  }
  std::uint64_t offset = arguments.lba * p.block_size, left = arguments.count * p.block_size;
  Progress progress("reading", left);
  Buffer buffer = Buffer::allocate(std::min<std::uint64_t>(kChunk, left));
  while (left > 0) {
    buffer.resize(std::min<std::uint64_t>(kChunk, left));
    if (const ErrorCode error = lun->read(offset, buffer.bytes())) {
      throw SessionError("reading at block " + std::to_string(offset / p.block_size) + ": " +
                         error.message());
    }
    write_all(to_stdout ? STDOUT_FILENO : file.get(), buffer.bytes(),
              to_stdout ? "standard output" : arguments.output);
    offset += buffer.size(), left -= buffer.size();
    progress.at(offset - arguments.lba * p.block_size);
  }
  return 0;
}

int write(const Common& common, const WriteArguments& arguments) {
  const auto lun = open_lun(common, arguments.url);
  const BlockDeviceProperties& p = lun->properties();
  const bool from_stdin = arguments.input.empty() || arguments.input == "-";
  const std::string name = from_stdin ? "standard input" : arguments.input;
  Descriptor file;
  if (!from_stdin) {
    file = Descriptor(open(arguments.input.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) fail("cannot open " + arguments.input);
  }
  std::uint64_t lba = arguments.lba;
  Buffer buffer = Buffer::allocate(kChunk);
  for (;;) {
    buffer.reset_window();
    const std::size_t got = read_full(from_stdin ? STDIN_FILENO : file.get(), buffer.bytes(), name);
    if (got == 0) break;
    if (got % p.block_size != 0) {
      throw SessionError(name + " ends in the middle of a block: blocks of this LUN have " +
                         std::to_string(p.block_size) + " bytes");
    }
    check_range(p, lba, got / p.block_size);
    buffer.resize(got);
    if (const ErrorCode error = lun->write(lba * p.block_size, buffer.bytes())) {
      throw SessionError("writing at block " + std::to_string(lba) + ": " + error.message());
    }
    lba += got / p.block_size;
  }
  if (const ErrorCode error = lun->flush())
    throw SessionError("the final flush failed: " + error.message());
  if (!common.json)
    std::fprintf(stderr, "%llu blocks written\n",
                 static_cast<unsigned long long>(lba - arguments.lba));
  return 0;
}

int copy(const Common& common, const CopyArguments& arguments) {
  if (!is_url(arguments.source) && !is_url(arguments.destination)) {
    throw UsageError("neither side is an iser:// or iscsi:// URL; use cp");
  }
  const auto start = std::chrono::steady_clock::now();
  std::string wire;
  const auto open_side = [&](const std::string& name, bool writing,
                             std::uint64_t size) -> std::unique_ptr<BlockDevice> {
    if (!is_url(name)) return open_file(name, writing, size);
    const bool other_side =
        !has_user(name) && (has_user(arguments.source) || has_user(arguments.destination));
    auto lun = open_lun(other_side ? without_secrets(common) : common, name);
    wire = name_of(lun->session().info().wire);
    return lun;
  };
  const auto source = open_side(arguments.source, false, 0);
  CopyPlan plan;
  plan.length = source->properties().size();
  if (arguments.size) plan.length = std::min(plan.length, arguments.size);
  const auto destination = open_side(arguments.destination, true, plan.length);
  if (destination->properties().read_only)
    throw SessionError(arguments.destination + " is read-only");
  if (plan.length > destination->properties().size()) {
    throw SessionError(arguments.destination + " holds " +
                       size_text(destination->properties().size()) + ", the source has " +
                       size_text(plan.length));
  }
  plan.destination_zeroed = !is_url(arguments.destination);
  CopyResult result;
  {
    Progress progress("copying", plan.length);
    plan.progress = [&](std::uint64_t bytes) { progress.at(bytes); };
    result = copy_blocks(*source, *destination, plan);
  }
  if (arguments.verify) {
    Progress progress("verifying", plan.length);
    plan.progress = [&](std::uint64_t bytes) { progress.at(bytes); };
    compare_blocks(*source, *destination, plan);
  }
  report(common, arguments, result,
         std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), wire);
  return 0;
}

}  // namespace openiser::initiator::cli
