// mount, umount, attach, detach, attached.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "initiator/cli/commands.h"
#include "initiator/cli/output.h"
#include "initiator/mount/mount.h"

namespace openiser::initiator::cli {
namespace {

using Json = nlohmann::ordered_json;

Json as_json(const Attachment& a) {
  return {{"name", a.name},
          {"url", a.url},
          {"via", a.via},
          {"path", a.path()},
          {"mounted_on", a.mounted_on},
          {"wire", a.wire},
          {"size", a.size},
          {"pid", a.pid}};
}

// A lost connection is waited for: a file system that gets an error instead is lost until it is
// mounted again.
SessionOptions patient(SessionOptions options) {
  options.recovery_timeout = std::chrono::hours(24);
  return options;
}

Via parse_via(const std::string& word) {
  if (word == "auto") return Via::automatic;
  if (word == "nbd") return Via::nbd;
  if (word == "fuse") return Via::fuse;
  if (word == "ublk") throw SessionError("--via ublk is not implemented; use nbd or fuse");
  throw UsageError("--via takes auto, ublk, nbd or fuse, not '" + word + "'");
}

}  // namespace

int mount(const Common& common, const MountArguments& arguments) {
  MountRequest request;
  request.attach.url = parse_url(arguments.url);
  request.attach.session = patient(common.session);
  request.attach.via = parse_via(arguments.via);
  request.attach.read_only = arguments.read_only;
  request.dir = arguments.dir;
  request.options = arguments.options;
  request.mkfs = arguments.mkfs;
  if (arguments.read_only && !arguments.mkfs.empty())
    throw UsageError("--mkfs writes; it does not go with --read-only");
  const Attachment a = mount_lun(request);
  if (common.json) {
    std::cout << as_json(a).dump(2) << '\n';
  } else {
    std::printf("%s on %s: %s over %s\n", a.device.c_str(), a.mounted_on.c_str(),
                size_text(a.size).c_str(), a.wire.c_str());
  }
  return 0;
}

int umount(const Common&, const std::string& dir) {
  unmount(dir);
  return 0;
}

int attach(const Common& common, const AttachArguments& arguments) {
  AttachRequest request;
  request.url = parse_url(arguments.url);
  request.name = arguments.name;
  request.via = parse_via(arguments.via);
  request.read_only = arguments.read_only;
  request.session = patient(common.session);
  const Attachment a = openiser::initiator::attach(request);
  std::cout << (common.json ? as_json(a).dump(2) : a.path()) << '\n';
  return 0;
}

int detach(const Common&, const std::string& name) {
  openiser::initiator::detach(name);
  return 0;
}

int attached(const Common& common) {
  Json all = Json::array();
  Table table({"NAME", "PATH", "SIZE", "WIRE", "VIA", "MOUNTED ON", "URL"});
  for (const Attachment& a : attachments()) {
    all.push_back(as_json(a));
    table.add({a.name, a.path(), size_text(a.size), a.wire, a.via,
               a.mounted_on.empty() ? "-" : a.mounted_on, a.url});
  }
  std::cout << (common.json ? all.dump(2) + "\n" : table.text());
  return 0;
}

}  // namespace openiser::initiator::cli
