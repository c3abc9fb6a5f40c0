// The commands of `iser`, apart from the parsing of their words (main.cc). Each returns an exit
// status or throws UsageError (2) or SessionError (1).
#pragma once

#include <cstdint>
#include <string>

#include "initiator/session.h"
#include "initiator/url.h"

namespace openiser::initiator::cli {

struct Common {
  bool json = false;
  SessionOptions session;
  std::string secret_file, target_secret_file;  // empty: none
};

// From the files into the session's options. Throws SessionError.
void read_secrets(Common& common);

int discover(const Common& common, const std::string& portal);
int list(const Common& common, const std::string& url);
int info(const Common& common, const std::string& url);

struct ReadArguments {
  std::string url;
  std::uint64_t lba = 0;
  std::uint64_t count = 1;  // blocks
  std::string output;       // empty or "-": standard output
};
int read(const Common& common, const ReadArguments& arguments);

struct WriteArguments {
  std::string url;
  std::uint64_t lba = 0;
  std::string input;  // empty or "-": standard input
};
int write(const Common& common, const WriteArguments& arguments);

struct CopyArguments {
  std::string source, destination;  // URLs or file names
  bool verify = false;
  std::uint64_t size = 0;  // bytes at most; 0: all of the source
};
int copy(const Common& common, const CopyArguments& arguments);

struct MountArguments {
  std::string url, dir, options, mkfs, via = "auto";
  bool read_only = false;
};
int mount(const Common& common, const MountArguments& arguments);
int umount(const Common& common, const std::string& dir);

struct AttachArguments {
  std::string url, name, via = "auto";
  bool read_only = false;
};
int attach(const Common& common, const AttachArguments& arguments);
int detach(const Common& common, const std::string& name);
int attached(const Common& common);

struct ScsiArguments {
  std::string url, cdb;  // cdb: hexadecimal, blanks allowed
  std::uint32_t in = 0;  // bytes of data-in expected
  std::string out;       // file with data-out; "-": standard input
};
int scsi(const Common& common, const ScsiArguments& arguments);

struct PingArguments {
  std::string url;
  std::uint32_t count = 4;  // 0: until interrupted
  double interval = 1;      // seconds
  std::uint32_t size = 56;  // bytes of data
};
int ping(const Common& common, const PingArguments& arguments);

struct BenchArguments {
  std::string url, rw = "randread";
  std::uint32_t block_size = 4096, iodepth = 32, threads = 1;
  std::uint64_t size = 0;  // bytes of the LUN that are used; 0: all
  double runtime = 10;     // seconds
  std::uint32_t mix = 70;  // per cent of reads in randrw
  bool verify = false;
};
int bench(const Common& common, const BenchArguments& arguments);

}  // namespace openiser::initiator::cli
