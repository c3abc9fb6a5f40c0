// How a program uses a LUN: opens a URL, looks at the disk behind it, writes a few blocks, has them
// made stable, reads them back and compares.
//
// usage: example-read-write URL LBA      OVERWRITES the eight blocks from LBA on
#include <charconv>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "initiator/lun.h"
#include "initiator/session.h"

namespace {

using openiser::ErrorCode;
using openiser::initiator::Lun;
using openiser::initiator::Session;
using openiser::initiator::SessionError;
using openiser::initiator::UsageError;

constexpr std::uint64_t kBlocks = 8;

std::uint64_t parse_lba(const std::string& text) {
  std::uint64_t lba = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), lba);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw UsageError("LBA '" + text + "' is not a number");
  }
  return lba;
}

std::vector<std::byte> random_bytes(std::size_t size) {
  std::mt19937_64 random(std::random_device{}());
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

void check(const char* what, ErrorCode error) {
  if (error) throw SessionError(std::string(what) + ": " + error.message());
}

void write_and_compare(Lun& lun, std::uint64_t lba) {
  const auto& disk = lun.properties();
  if (lba > disk.blocks || disk.blocks - lba < kBlocks) {
    throw SessionError("the disk ends before block " + std::to_string(lba) + " + 8");
  }
  const std::uint64_t offset = lba * disk.block_size;
  const auto written = random_bytes(kBlocks * disk.block_size);
  std::vector<std::byte> read(written.size());
  check("writing", lun.write(offset, written));
  check("flushing", lun.flush());
  check("reading", lun.read(offset, read));
  if (read != written) throw SessionError("what was read is not what was written");
}

// Session and LUN log out and go at the end, in the right order: the LUN holds on to its session.
void run(const std::string& text, std::uint64_t lba) {
  const auto url = openiser::initiator::parse_url(text);
  if (!url.lun) throw UsageError("URL '" + text + "' names no LUN: iser://HOST/TARGET/LUN");
  const auto session = Session::open(url);
  const auto lun = Lun::open(session, *url.lun);
  const auto& disk = lun->properties();
  std::printf("%s %s: %llu blocks of %u bytes, over %s\n", disk.vendor.c_str(),
              disk.product.c_str(), static_cast<unsigned long long>(disk.blocks), disk.block_size,
              openiser::initiator::name_of(session->info().wire));
  write_and_compare(*lun, lba);
  std::printf("%llu blocks written, flushed, read back: equal\n",
              static_cast<unsigned long long>(kBlocks));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) throw UsageError("usage: example-read-write URL LBA");
  run(argv[1], parse_lba(argv[2]));
  return 0;
} catch (const UsageError& error) {
  std::fprintf(stderr, "example-read-write: %s\n", error.what());
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "example-read-write: %s\n", error.what());
  return 1;
}
