// libiscsi_load: load on an iSCSI target by an initiator that is not ours, libiscsi. One thread,
// any number of sessions. Prints one line of JSON.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <stdexcept>

#include "tests/bench/libiscsi_load/load.h"

namespace openiser::bench {
namespace {

LoadOptions options_of(int argc, char** argv) {
  LoadOptions o;
  CLI::App app("Load on an iSCSI target by libiscsi.");
  app.add_option("url", o.url, "iscsi://HOST[:PORT]/TARGET/LUN")->required();
  app.add_option("--bs", o.block_size, "bytes of a command")->transform(CLI::AsSizeValue(false));
  app.add_option("--depth", o.depth, "commands in flight on a session")->check(CLI::Range(1, 4096));
  app.add_option("--sessions", o.sessions)->check(CLI::Range(1, 256));
  app.add_option("--read-share", o.read_share, "percent of reads")->check(CLI::Range(0, 100));
  app.add_flag("--random", o.random, "random places instead of sequential ones");
  app.add_flag("--header-digest", o.header_digest, "CRC32C over headers");
  app.add_option("--seconds", o.seconds, "measured")->check(CLI::PositiveNumber);
  app.add_option("--warm-up", o.warm_up, "seconds before that");
  app.add_option("--core", o.core, "run on this core only");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
  return o;
}

}  // namespace
}  // namespace openiser::bench

int main(int argc, char** argv) {
  const openiser::bench::LoadOptions options = openiser::bench::options_of(argc, argv);
  try {
    const openiser::bench::Result result = openiser::bench::run(options);
    std::cout << openiser::bench::to_json(result) << '\n';
    return result.errors ? 1 : 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "libiscsi_load: %s\n", error.what());
    return 1;
  }
}
