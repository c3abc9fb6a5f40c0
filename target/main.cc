// iser-targetd, the target daemon: the command line, the file and the signals around a Daemon.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/log.h"
#include "config/yaml.h"
#include "rdmap/verbs/verbs.h"
#include "target/credentials.h"
#include "target/daemon.h"
#include "target/descriptor_limit.h"
#include "target/service_notify.h"
#include "target/signals.h"

#ifndef OPENISER_VERSION
#define OPENISER_VERSION "unknown"
#endif

namespace config = openiser::config;
namespace target = openiser::target;

namespace {

// Exit statuses; success is 0.
constexpr int kFailure = 1;
constexpr int kUsage = 2;

struct Arguments {
  std::filesystem::path file;
  std::string log_level;
  bool check = false;
  bool print_schema = false;
};

// Where systemd wants it (the first, if it names several), else beside the configuration file.
std::string default_state_directory(const std::filesystem::path& file) {
  if (const char* given = std::getenv("STATE_DIRECTORY"); given && *given != '\0') {
    const std::string folders = given;
    return folders.substr(0, folders.find(':'));
  }
  return std::filesystem::absolute(file).parent_path() / "state";
}

// What the file says, with what the command line says on top; nothing, once every fault has been
// told.
std::optional<config::Daemon> load(const Arguments& arguments) {
  config::Loaded loaded = config::load_file(arguments.file);
  if (loaded.faults.empty()) loaded.faults = target::load_credentials(loaded.daemon).faults;
  for (const config::Fault& fault : loaded.faults) {
    std::fprintf(stderr, "%s\n", config::describe(fault, arguments.file).c_str());
  }
  if (!loaded.faults.empty()) return {};
  if (loaded.daemon.state_directory.empty()) {
    loaded.daemon.state_directory = default_state_directory(arguments.file);
  }
  if (!arguments.log_level.empty()) loaded.daemon.log_level = arguments.log_level;
  return std::move(loaded.daemon);
}

void on_signal(int signal, target::Daemon& daemon, const Arguments& arguments) {
  if (signal != SIGHUP) {
    target::notify_service_manager("STOPPING=1");
    return daemon.drain();
  }
  if (auto next = load(arguments)) {
    daemon.reload(std::move(*next));
  } else {
    openiser::log::error("daemon", "the file has faults: going on with what was read before");
  }
}

int serve(config::Daemon settings, const Arguments& arguments) {
  target::block_signals({SIGTERM, SIGINT, SIGHUP});
  target::provide_descriptors(settings);
  target::Daemon daemon(std::move(settings));
  const target::SignalWatch watch(daemon.loop(), {SIGTERM, SIGINT, SIGHUP},
                                  [&](int signal) { on_signal(signal, daemon, arguments); });
  if (!target::notify_service_manager("READY=1")) {
    openiser::log::warn("daemon", "cannot tell the service manager that we are ready");
  }
  daemon.run();
  openiser::log::info("daemon", "stopped");
  return 0;
}

int run(const Arguments& arguments) {
  if (arguments.print_schema) {
    std::fputs(config::print_schema().c_str(), stdout);
    return 0;
  }
  auto settings = load(arguments);
  if (!settings) return kFailure;
  if (arguments.check) {
    std::printf("%s: no faults\n", arguments.file.c_str());
    return 0;
  }
  openiser::log::Level level = openiser::log::level();
  openiser::log::parse_level(settings->log_level, level);
  openiser::log::set_level(level);
  return serve(std::move(*settings), arguments);
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app{"An iSCSI and iSER target: plain TCP and soft iWARP on one port, and RDMA devices."};
  Arguments arguments;
  app.set_version_flag(
      "--version", "iser-targetd " OPENISER_VERSION "; verbs: " + openiser::rdmap::verbs_version());
  auto* file = app.add_option("--config", arguments.file, "the configuration file (YAML)");
  app.add_flag("--check", arguments.check, "only check the file: every fault, line and column");
  app.add_flag("--print-schema", arguments.print_schema, "print the file's JSON Schema");
  app.add_option("--log-level", arguments.log_level, "instead of the file's log_level")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}));
  try {
    app.parse(argc, argv);
    if (!arguments.print_schema && file->empty()) throw CLI::RequiredError("--config FILE");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  return run(arguments);
} catch (const std::exception& error) {
  std::fprintf(stderr, "iser-targetd: %s\n", error.what());
  return kFailure;
}
