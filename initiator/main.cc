// iser, the initiator: the words of the command line. What the commands do is in cli/.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <functional>

#include "base/log.h"
#include "initiator/cli/commands.h"
#include "initiator/cli/output.h"
#include "rdmap/verbs/verbs.h"

#ifndef OPENISER_VERSION
#define OPENISER_VERSION "unknown"
#endif

namespace cli = openiser::initiator::cli;

namespace {

// Everything the words set, and the command they name.
struct Words {
  cli::Common common;
  std::string log_level = "warn";
  std::string url, dir, name, bs = "4k", size;
  cli::ReadArguments read;
  cli::WriteArguments write;
  cli::CopyArguments copy;
  cli::MountArguments mount;
  cli::AttachArguments attach;
  cli::ScsiArguments scsi;
  cli::PingArguments ping;
  cli::BenchArguments bench;
  std::function<int()> run;
};

CLI::App* command(CLI::App& app, Words& w, const char* name, const char* what,
                  std::function<int()> run) {
  CLI::App* sub = app.add_subcommand(name, what);
  sub->add_flag("--json", w.common.json, "machine-readable output");
  sub->add_option("--initiator-name", w.common.session.initiator_name,
                  "our name (default: the host's)");
  sub->add_option("--secret-file", w.common.secret_file,
                  "file with the secret of the URL's user (CHAP)");
  sub->add_option("--mutual-secret-file", w.common.target_secret_file,
                  "file with the secret that the target has to prove itself with");
  sub->add_option("--mutual-user", w.common.session.target_user,
                  "the name that goes with it (default: any)");
  sub->add_option_function<std::uint32_t>(
         "--busy-poll",
         [&w](std::uint32_t us) { w.common.session.busy_poll = std::chrono::microseconds(us); },
         "microseconds to look for answers before sleeping (default: 0)")
      ->check(CLI::Range(0, 1000000));
  sub->callback([&w, run = std::move(run)] { w.run = run; });
  return sub;
}

void add_looking(CLI::App& app, Words& w) {
  auto* discover = command(app, w, "discover", "targets and portals of a host",
                           [&w] { return cli::discover(w.common, w.url); });
  discover->add_option("HOST", w.url, "HOST[:PORT] or a URL")->required();
  auto* ls =
      command(app, w, "ls", "the LUNs of a target", [&w] { return cli::list(w.common, w.url); });
  ls->add_option("URL", w.url, "iser://HOST[:PORT]/TARGET")->required();
  auto* info = command(app, w, "info", "what was negotiated, and what the LUN says of itself",
                       [&w] { return cli::info(w.common, w.url); });
  info->add_option("URL", w.url, "iser://HOST[:PORT]/TARGET[/LUN]")->required();
  auto* ping =
      command(app, w, "ping", "NOP round trips", [&w] { return cli::ping(w.common, w.ping); });
  ping->add_option("URL", w.ping.url)->required();
  ping->add_option("-c,--count", w.ping.count, "how many; 0: until interrupted")
      ->capture_default_str();
  ping->add_option("-i,--interval", w.ping.interval, "seconds between them")->capture_default_str();
  ping->add_option("-s,--size", w.ping.size, "bytes of data")
      ->capture_default_str()
      ->check(CLI::Range(0, 8192));
  auto* scsi =
      command(app, w, "scsi", "one raw SCSI command", [&w] { return cli::scsi(w.common, w.scsi); });
  scsi->add_option("URL", w.scsi.url)->required();
  scsi->add_option("CDB", w.scsi.cdb, "the command in hexadecimal")->required();
  scsi->add_option("--in", w.scsi.in, "bytes of data expected")->check(CLI::Range(0, 1 << 24));
  scsi->add_option("--out", w.scsi.out, "file with the data to send; - for standard input");
}

void add_moving(CLI::App& app, Words& w) {
  auto* read = command(app, w, "read", "blocks to a file or pipe",
                       [&w] { return cli::read(w.common, w.read); });
  read->add_option("URL", w.read.url)->required();
  read->add_option("--lba", w.read.lba, "first block")->required();
  read->add_option("--count", w.read.count, "blocks")->required();
  read->add_option("-o,--output", w.read.output, "file (default: standard output)");
  auto* write = command(app, w, "write", "blocks from a file or pipe",
                        [&w] { return cli::write(w.common, w.write); });
  write->add_option("URL", w.write.url)->required();
  write->add_option("--lba", w.write.lba, "first block")->required();
  write->add_option("-i,--input", w.write.input, "file (default: standard input)");
  auto* cp = command(app, w, "cp", "copy between LUNs and files", [&w] {
    if (!w.size.empty()) w.copy.size = cli::parse_size(w.size, "--size");
    return cli::copy(w.common, w.copy);
  });
  cp->add_option("SRC", w.copy.source, "URL or file")->required();
  cp->add_option("DST", w.copy.destination, "URL or file")->required();
  cp->add_flag("--verify", w.copy.verify, "read both again and compare");
  cp->add_option("--size", w.size, "copy no more than this, such as 1GiB");
  auto* bench = command(app, w, "bench", "measure", [&w] {
    w.bench.block_size = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(cli::parse_size(w.bs, "--bs"), UINT32_MAX));
    if (!w.size.empty()) w.bench.size = cli::parse_size(w.size, "--size");
    return cli::bench(w.common, w.bench);
  });
  bench->add_option("URL", w.bench.url)->required();
  bench->add_option("--rw", w.bench.rw, "read, write, randread, randwrite, randrw")
      ->capture_default_str();
  bench->add_option("--bs", w.bs, "bytes of an I/O")->capture_default_str();
  bench->add_option("--iodepth", w.bench.iodepth, "I/Os in flight a thread")->capture_default_str();
  bench->add_option("--size", w.size, "part of the LUN to use (default: all)");
  bench->add_option("--runtime", w.bench.runtime, "seconds")->capture_default_str();
  bench
      ->add_option("--threads", w.bench.threads,
                   "sessions, on as many threads as there are cores, at most")
      ->capture_default_str();
  bench->add_option("--mix", w.bench.mix, "per cent of reads in randrw")
      ->capture_default_str()
      ->check(CLI::Range(0, 100));
  bench->add_flag("--rate-verify", w.bench.verify,
                  "fill with a pattern first, and compare every read with it");
}

constexpr const char* kVia =
    "nbd, fuse, or auto: nbd if the kernel has it and a device is free, else fuse";

void add_mounting(CLI::App& app, Words& w) {
  auto* mount = command(app, w, "mount", "mount the file system on a LUN",
                        [&w] { return cli::mount(w.common, w.mount); });
  mount->add_option("URL", w.mount.url)->required();
  mount->add_option("DIR", w.mount.dir)->required();
  mount->add_option("-o,--options", w.mount.options, "as of mount(8)");
  mount->add_option("--via", w.mount.via, kVia)->capture_default_str();
  mount->add_flag("--read-only", w.mount.read_only);
  mount->add_option("--mkfs", w.mount.mkfs,
                    "make a file system of this type first: ERASES the LUN");
  auto* umount = command(app, w, "umount", "unmount and detach",
                         [&w] { return cli::umount(w.common, w.dir); });
  umount->add_option("DIR", w.dir)->required();
  auto* attach = command(app, w, "attach", "a block device, or a block file, for a LUN",
                         [&w] { return cli::attach(w.common, w.attach); });
  attach->add_option("URL", w.attach.url)->required();
  attach->add_option("NAME", w.attach.name, "what to call it (default: from target and LUN)");
  attach->add_option("--via", w.attach.via, kVia)->capture_default_str();
  attach->add_flag("--read-only", w.attach.read_only);
  auto* detach =
      command(app, w, "detach", "undo attach", [&w] { return cli::detach(w.common, w.name); });
  detach->add_option("NAME", w.name)->required();
  command(app, w, "attached", "what is attached", [&w] { return cli::attached(w.common); });
}

int run(Words& words) {
  try {
    cli::read_secrets(words.common);
    return words.run();
  } catch (const openiser::initiator::UsageError& error) {
    std::fprintf(stderr, "iser: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "iser: %s\n", error.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  Words words;
  CLI::App app(
      "Use the LUNs of iSER and iSCSI targets: look, copy, mount, measure.\n"
      "URLs: iser://HOST[:PORT]/TARGET-IQN/LUN[?wire=...&rfc=...&crc=...&markers=...&user=...] or "
      "iscsi://...",
      "iser");
  app.set_version_flag("--version", "iser " OPENISER_VERSION " (open-iser); verbs: " +
                                        openiser::rdmap::verbs_version());
  app.add_option("--log-level", words.log_level, "trace, debug, info, warn, error, off")
      ->capture_default_str();
  app.require_subcommand(1);
  add_looking(app, words);
  add_moving(app, words);
  add_mounting(app, words);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  openiser::log::Level level;
  if (!openiser::log::parse_level(words.log_level, level)) {
    std::fprintf(stderr, "iser: --log-level '%s' is none of trace, debug, info, warn, error, off\n",
                 words.log_level.c_str());
    return 2;
  }
  openiser::log::set_level(level);
  return run(words);
}
