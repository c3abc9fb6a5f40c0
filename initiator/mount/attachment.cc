#include "initiator/mount/attachment.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/descriptor.h"
#include "base/log.h"
#include "initiator/lun.h"
#include "initiator/mount/fuse_file.h"
#include "initiator/mount/loop_device.h"
#include "initiator/mount/nbd_device.h"

#ifndef PR_SET_IO_FLUSHER
#define PR_SET_IO_FLUSHER 57
#endif

namespace openiser::initiator {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kStartSeconds = 60;
constexpr int kStopSeconds = 60;

fs::path run_folder() {
  if (const char* given = std::getenv("OPENISER_RUN_DIR")) return given;
  if (geteuid() == 0) return "/run/open-iser";
  if (const char* user = std::getenv("XDG_RUNTIME_DIR")) return fs::path(user) / "open-iser";
  throw SessionError(
      "XDG_RUNTIME_DIR is not set: set it, or OPENISER_RUN_DIR, to a folder of your own");
}

fs::path folder_of(const std::string& name) {
  return run_folder() / name;
}
fs::path record_of(const std::string& name) {
  return run_folder() / (name + ".json");
}
fs::path log_of(const std::string& name) {
  return run_folder() / (name + ".log");
}

void save(const Attachment& a) {
  const Json record{{"name", a.name},
                    {"url", a.url},
                    {"via", a.via},
                    {"pid", a.pid},
                    {"file", a.file},
                    {"device", a.device},
                    {"mounted_on", a.mounted_on},
                    {"wire", a.wire},
                    {"size", a.size}};
  const fs::path path = record_of(a.name), fresh = path.string() + ".new";
  std::ofstream(fresh) << record.dump(2) << '\n';
  fs::rename(fresh, path);
}

std::optional<Attachment> load(const fs::path& path) {
  std::ifstream in(path);
  const Json record = Json::parse(in, nullptr, false);
  if (!record.is_object()) return {};
  Attachment a;
  a.name = record.value("name", "");
  a.url = record.value("url", "");
  a.via = record.value("via", "");
  a.pid = record.value("pid", 0);
  a.file = record.value("file", "");
  a.device = record.value("device", "");
  a.mounted_on = record.value("mounted_on", "");
  a.wire = record.value("wire", "");
  a.size = record.value("size", std::uint64_t{0});
  return a;
}

std::string default_name(const Url& url) {
  const std::size_t colon = url.target.rfind(':');
  std::string name = url.target.substr(colon == std::string::npos ? 0 : colon + 1);
  name += "-" + std::to_string(*url.lun);
  return name;
}

void check_name(const std::string& name) {
  const bool fine = !name.empty() && name.size() <= 64 && name.front() != '.' &&
                    std::all_of(name.begin(), name.end(), [](unsigned char c) {
                      return std::isalnum(c) || c == '-' || c == '_' || c == '.';
                    });
  if (!fine)
    throw UsageError("'" + name + "' is no name: letters, digits, '-', '_' and '.', 64 at most");
}

// The serving process's last words go through the pipe: "ok" and its record, or an error.
void say(int pipe, const std::string& text) {
  (void)!write(pipe, text.data(), text.size());
}

void become_daemon(const std::string& name) {
  setsid();
  const int log = open(log_of(name).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(null, 0);
  dup2(log >= 0 ? log : null, 1);
  dup2(log >= 0 ? log : null, 2);
  // We are in the path of the kernel's own write-back: do not wait for ourselves, and do not be
  // killed for memory.
  prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
  std::ofstream("/proc/self/oom_score_adj") << "-1000";
  if (chdir("/") != 0) log::warn("attach", "cannot change to the root folder");
}

int write_out(Lun& lun) {
  const ErrorCode error = lun.properties().read_only ? ErrorCode() : lun.flush();
  if (error) log::error("attach", "the last flush failed: " + error.message());
  return error ? 1 : 0;
}

// Serves until it is told to end, and gives an exit status. `ready` is called with the device, if
// there is one by then.
int serve_lun(Lun& lun, const AttachRequest& request, const std::string& name,
              const std::function<void(const std::string& device)>& ready) {
  if (request.via == Via::nbd) {
    nbd::Device device(lun, request.read_only);
    device.run([&] { ready(device.path()); });
    return write_out(lun);  // nobody else gets the device before that is done
  }
  FuseFile file(lun, folder_of(name).string(), request.read_only);
  ready("");
  file.run();
  return write_out(lun);
}

// The serving process.
int serve(const AttachRequest& request, const std::string& name, int pipe) {
  try {
    become_daemon(name);
    SessionOptions options = request.session;
    options.on_event = [](const std::string& what) { log::warn("attach", what); };
    auto session = Session::open(request.url, options);
    const auto lun = Lun::open(session, *request.url.lun);
    return serve_lun(*lun, request, name, [&](const std::string& device) {
      const Json ready{{"wire", name_of(session->info().wire)},
                       {"device", device},
                       {"size", lun->properties().size()},
                       {"block_size", lun->properties().block_size},
                       {"read_only", lun->properties().read_only}};
      say(pipe, "ok" + ready.dump());
      close(pipe);
    });
  } catch (const std::exception& error) {
    say(pipe, error.what());
    log::error("attach", error.what());
    return 1;
  }
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> some{};
  for (;;) {
    pollfd waiting{fd, POLLIN, 0};
    if (poll(&waiting, 1, kStartSeconds * 1000) <= 0) return "no answer within a minute";
    const ssize_t n = read(fd, some.data(), some.size());
    if (n <= 0) return text;
    text.append(some.data(), static_cast<std::size_t>(n));
  }
}

// Waits for any process's end; false after the time-out.
bool wait_for_end(pid_t pid, int seconds) {
  const Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process) return true;  // gone already
  pollfd waiting{process.get(), POLLIN, 0};
  return poll(&waiting, 1, seconds * 1000) > 0;
}

void clean_up(const std::string& name) {
  std::error_code ignored;
  fs::remove(folder_of(name), ignored);
  fs::remove(record_of(name), ignored);
  fs::remove(log_of(name), ignored);
}

void unmount_file(const Attachment& a) {
  if (umount2(folder_of(a.name).c_str(), 0) == 0 || errno == EINVAL || errno == ENOENT) return;
  if (errno == EBUSY)
    throw SessionError(a.file + " is in use; close what has it open, then detach again");
  kill(a.pid, SIGTERM);  // without the right to unmount: its owner does it
}

void stop_serving(const Attachment& a) {
  if (a.via == "nbd") {
    nbd::disconnect(a.device);
  } else {
    if (!a.device.empty()) detach_loop(a.device);
    unmount_file(a);
  }
  if (!wait_for_end(a.pid, kStopSeconds)) {
    throw SessionError("process " + std::to_string(a.pid) + " still writes " + a.name +
                       " out; see " + log_of(a.name).string());
  }
  clean_up(a.name);
}

// A process that nobody has waited for yet counts as dead.
bool alive(pid_t pid) {
  return pid > 0 && !wait_for_end(pid, 0);
}

// A record whose process has died (killed, or the machine's restart) leaves a mount point and a
// loop device behind. An nbd device has gone with its process, and may be somebody else's by now.
void clear_stale(const std::string& name) {
  const auto old = load(record_of(name));
  if (!old) return;
  if (alive(old->pid))
    throw SessionError("'" + name + "' is attached already; see 'iser attached'");
  if (!old->mounted_on.empty()) umount2(old->mounted_on.c_str(), MNT_DETACH);
  if (!old->device.empty() && old->via != "nbd") {
    try {
      detach_loop(old->device);
    } catch (const SessionError&) {  // gone with its file
    }
  }
  umount2(folder_of(name).c_str(), MNT_DETACH);
  clean_up(name);
}

Json start_serving(const AttachRequest& request, Attachment& a) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw SessionError(std::string("pipe: ") + std::strerror(errno));
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  a.pid = fork();
  if (a.pid < 0) throw SessionError(std::string("fork: ") + std::strerror(errno));
  if (a.pid == 0) _exit(serve(request, a.name, writing.release()));
  writing = Descriptor();
  const std::string answer = read_all(reading.get());
  const Json ready =
      answer.starts_with("ok") ? Json::parse(answer.substr(2), nullptr, false) : Json();
  if (ready.is_object()) return ready;
  kill(a.pid, SIGTERM);
  waitpid(a.pid, nullptr, 0);
  clean_up(a.name);
  throw SessionError(answer.empty() ? "the serving process died while starting" : answer);
}

Via choose(const AttachRequest& request) {
  if (request.via == Via::fuse || !request.want_device) return Via::fuse;
  std::string why;
  if (nbd::available(why)) return Via::nbd;
  if (request.via == Via::nbd) throw SessionError("--via nbd: " + why);
  return Via::fuse;
}

// Puts a loop device on the block file, where one may be had.
void attach_device(const AttachRequest& request, const Json& ready, Attachment& a) {
  std::string why;
  if (!request.want_device || !loop_devices_available(why)) return;
  const bool read_only = request.read_only || ready.value("read_only", false);
  a.device = attach_loop(a.file, ready.value("block_size", 512u), read_only);
}

}  // namespace

Attachment attach(const AttachRequest& wanted) {
  AttachRequest request = wanted;
  if (request.url.target.empty() || !request.url.lun) {
    throw UsageError("URL '" + request.url.text() + "' names no LUN: iser://HOST/TARGET/LUN");
  }
  Attachment a;
  a.name = request.name.empty() ? default_name(request.url) : request.name;
  check_name(a.name);
  request.via = choose(request);
  fs::create_directories(run_folder());
  clear_stale(a.name);
  a.url = request.url.text();
  a.via = request.via == Via::nbd ? "nbd" : "fuse";
  if (request.via == Via::fuse) {
    fs::create_directories(folder_of(a.name));
    a.file = (folder_of(a.name) / FuseFile::kFileName).string();
  }
  const Json ready = start_serving(request, a);
  a.wire = ready.value("wire", "");
  a.device = ready.value("device", "");
  a.size = ready.value("size", std::uint64_t{0});
  try {
    if (request.via == Via::fuse) attach_device(request, ready, a);
    save(a);
  } catch (...) {
    stop_serving(a);
    throw;
  }
  return a;
}

void detach(const std::string& name) {
  const auto a = find_attachment(name);
  if (!a) throw SessionError("nothing is attached as '" + name + "'; see 'iser attached'");
  if (!a->mounted_on.empty()) {
    throw SessionError("'" + name + "' is mounted on " + a->mounted_on +
                       "; use 'iser umount' first");
  }
  if (!alive(a->pid)) return clear_stale(name);
  stop_serving(*a);
}

std::vector<Attachment> attachments() {
  std::vector<Attachment> all;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(run_folder(), none)) {
    if (entry.path().extension() != ".json") continue;
    if (auto a = load(entry.path())) all.push_back(std::move(*a));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

std::optional<Attachment> find_attachment(const std::string& name) {
  check_name(name);
  return load(record_of(name));
}

void note_mount(const std::string& name, const std::string& dir) {
  auto a = find_attachment(name);
  if (!a) return;
  a->mounted_on = dir;
  save(*a);
}

}  // namespace openiser::initiator
