#include "initiator/mount/mount.h"

#include <libmount/libmount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/log.h"

namespace openiser::initiator {
namespace {

struct FreeContext {
  void operator()(libmnt_context* context) const { mnt_free_context(context); }
};
using Context = std::unique_ptr<libmnt_context, FreeContext>;

[[noreturn]] void fail(const Context& context, int result, const std::string& what) {
  std::array<char, 512> words{};
  mnt_context_get_excode(context.get(), result, words.data(), words.size());
  throw SessionError(what + ": " + (words[0] ? words.data() : std::strerror(errno)));
}

void make_file_system(const std::string& type, const std::string& device) {
  const std::string program = "mkfs." + type;
  const pid_t child = fork();
  if (child < 0) throw SessionError(std::string("fork: ") + std::strerror(errno));
  if (child == 0) {
    const char* quiet = type.starts_with("ext") || type == "xfs" ? "-q" : nullptr;
    const char* force = type.starts_with("ext")            ? "-F"
                        : type == "xfs" || type == "btrfs" ? "-f"
                                                           : nullptr;
    std::array<const char*, 5> argv{program.c_str()};
    std::size_t n = 1;
    if (quiet) argv[n++] = quiet;
    if (force) argv[n++] = force;
    argv[n] = device.c_str();
    execvp(program.c_str(), const_cast<char**>(argv.data()));
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  const bool missing = WIFEXITED(status) && WEXITSTATUS(status) == 127;
  throw SessionError(missing ? program +
                                   " is not installed: install it, or make the file system yourself"
                             : program + " failed on " + device);
}

void mount_device(const std::string& device, const MountRequest& request) {
  const Context context(mnt_new_context());
  std::string options = request.options;
  if (request.attach.read_only) options += options.empty() ? "ro" : ",ro";
  mnt_context_set_source(context.get(), device.c_str());
  mnt_context_set_target(context.get(), request.dir.c_str());
  if (!options.empty()) mnt_context_set_options(context.get(), options.c_str());
  const int result = mnt_context_mount(context.get());
  if (result != 0 || !mnt_context_get_status(context.get())) {
    fail(context, result, "mount " + device + " on " + request.dir);
  }
}

void undo(const std::string& name) {
  try {
    detach(name);
  } catch (const std::exception& error) {
    log::warn("mount", std::string("cleaning up: ") + error.what());
  }
}

}  // namespace

Attachment mount_lun(const MountRequest& request) {
  if (!std::filesystem::is_directory(request.dir))
    throw SessionError(request.dir + " is no folder: make it first");
  if (geteuid() != 0) {
    throw SessionError(
        "mounting needs root; as a user, 'iser attach' gives a block file for programs that take "
        "one");
  }
  Attachment a = attach(request.attach);
  try {
    if (a.device.empty())
      throw SessionError("/dev/loop-control is missing: load the loop module, or nbd");
    if (!request.mkfs.empty()) make_file_system(request.mkfs, a.device);
    mount_device(a.device, request);
    a.mounted_on = std::filesystem::canonical(request.dir).string();
    note_mount(a.name, a.mounted_on);
  } catch (...) {
    undo(a.name);
    throw;
  }
  return a;
}

void unmount(const std::string& dir) {
  std::error_code error;
  const auto real = std::filesystem::canonical(dir, error);
  const std::string path = error ? dir : real.string();
  const auto all = attachments();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& a) { return a.mounted_on == path; });
  if (found == all.end())
    throw SessionError("nothing of ours is mounted on " + dir + "; see 'iser attached'");
  const Context context(mnt_new_context());
  mnt_context_set_target(context.get(), path.c_str());
  const int result = mnt_context_umount(context.get());
  // Somebody may have used umount(8): then only our part is left to do.
  if (result != 0 && errno != EINVAL) fail(context, result, "umount " + path);
  note_mount(found->name, "");
  detach(found->name);
}

}  // namespace openiser::initiator
