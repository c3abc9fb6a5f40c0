#include "initiator/mount/fuse_file.h"

#define FUSE_USE_VERSION 314
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/buffer.h"
#include "initiator/mount/byte_access.h"
#include "initiator/session.h"

namespace openiser::initiator {
namespace {

constexpr fuse_ino_t kFileInode = 2;
constexpr double kForever = 1e9;  // seconds that attributes stay valid

struct stat attributes(const BlockDeviceProperties& device, fuse_ino_t inode) {
  struct stat st {};
  st.st_ino = inode;
  st.st_uid = getuid();
  st.st_gid = getgid();
  if (inode == FUSE_ROOT_ID) {
    st.st_mode = S_IFDIR | 0500;
    st.st_nlink = 2;
  } else {
    st.st_mode = S_IFREG | (device.read_only ? 0400 : 0600);
    st.st_nlink = 1;
    st.st_size = static_cast<off_t>(device.size());
    st.st_blksize = 1 << 20;
    st.st_blocks = static_cast<blkcnt_t>(device.size() / 512);
  }
  return st;
}

// The device behind a request.
ByteAccess& access_of(fuse_req_t request) {
  return *static_cast<ByteAccess*>(fuse_req_userdata(request));
}

BlockDevice::Done replies(fuse_req_t request) {
  return [request](ErrorCode error) { fuse_reply_err(request, errno_of(error)); };
}

void on_init(void*, fuse_conn_info* connection) {
  connection->max_write = 1 << 20;
  connection->max_readahead = 0;
  connection->want |= connection->capable & (FUSE_CAP_ASYNC_READ | FUSE_CAP_ASYNC_DIO);
  connection->want &= ~static_cast<unsigned>(FUSE_CAP_WRITEBACK_CACHE);
  connection->max_background = 128;
  connection->congestion_threshold = 128;
}

void on_lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  if (parent != FUSE_ROOT_ID || std::strcmp(name, FuseFile::kFileName) != 0) {
    fuse_reply_err(request, ENOENT);
    return;
  }
  fuse_entry_param entry{};
  entry.ino = kFileInode;
  entry.attr = attributes(access_of(request).properties(), kFileInode);
  entry.attr_timeout = entry.entry_timeout = kForever;
  fuse_reply_entry(request, &entry);
}

void on_getattr(fuse_req_t request, fuse_ino_t inode, fuse_file_info*) {
  const struct stat st = attributes(access_of(request).properties(), inode);
  fuse_reply_attr(request, &st, kForever);
}

// Only what opening with O_TRUNC or touch asks for: there is nothing to change.
void on_setattr(fuse_req_t request, fuse_ino_t inode, struct stat*, int, fuse_file_info*) {
  const struct stat st = attributes(access_of(request).properties(), inode);
  fuse_reply_attr(request, &st, kForever);
}

void on_open(fuse_req_t request, fuse_ino_t, fuse_file_info* file) {
  const bool writing = (file->flags & O_ACCMODE) != O_RDONLY;
  if (writing && access_of(request).properties().read_only) {
    fuse_reply_err(request, EROFS);
    return;
  }
  file->direct_io = 1;
  fuse_reply_open(request, file);
}

void on_readdir(fuse_req_t request, fuse_ino_t, std::size_t size, off_t offset, fuse_file_info*) {
  constexpr std::array<const char*, 3> kNames{".", "..", FuseFile::kFileName};
  std::array<char, 512> entries{};
  std::size_t used = 0;
  for (auto i = static_cast<std::size_t>(offset); i < kNames.size(); ++i) {
    struct stat st {};
    st.st_ino = i == 2 ? kFileInode : FUSE_ROOT_ID;
    st.st_mode = i == 2 ? S_IFREG : S_IFDIR;
    const std::size_t room = std::min(entries.size(), size) - used;
    const std::size_t n = fuse_add_direntry(request, entries.data() + used, room, kNames[i], &st,
                                            static_cast<off_t>(i + 1));
    if (n > room) break;
    used += n;
  }
  fuse_reply_buf(request, entries.data(), used);
}

void on_read(fuse_req_t request, fuse_ino_t, std::size_t size, off_t offset, fuse_file_info*) {
  ByteAccess& device = access_of(request);
  const std::uint64_t end = device.properties().size();
  const auto start = std::min<std::uint64_t>(static_cast<std::uint64_t>(offset), end);
  auto data =
      std::make_shared<Buffer>(Buffer::allocate(std::min<std::uint64_t>(size, end - start)));
  const MutableBytes into = data->bytes();
  device.read(start, into, [request, data](ErrorCode error) {
    if (error) {
      fuse_reply_err(request, errno_of(error));
    } else {
      fuse_reply_buf(request, reinterpret_cast<const char*>(data->data()), data->size());
    }
  });
}

void on_write(fuse_req_t request, fuse_ino_t, const char* from, std::size_t size, off_t offset,
              fuse_file_info*) {
  ByteAccess& device = access_of(request);
  const std::uint64_t end = device.properties().size();
  const auto start = static_cast<std::uint64_t>(offset);
  if (start >= end) {
    fuse_reply_err(request, ENOSPC);
    return;
  }
  // libfuse reuses its buffer as soon as this returns.
  const std::size_t n = std::min<std::uint64_t>(size, end - start);
  auto data = std::make_shared<Buffer>(Buffer::copy_of(as_bytes({from, n})));
  const Bytes bytes = data->bytes();
  device.write(start, bytes, false, [request, data](ErrorCode error) {
    if (error) {
      fuse_reply_err(request, errno_of(error));
    } else {
      fuse_reply_write(request, data->size());
    }
  });
}

void on_fsync(fuse_req_t request, fuse_ino_t, int, fuse_file_info*) {
  access_of(request).flush(replies(request));
}

void on_fallocate(fuse_req_t request, fuse_ino_t, int mode, off_t offset, off_t length,
                  fuse_file_info*) {
  ByteAccess& device = access_of(request);
  const bool zeroing = (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) != 0;
  if (!zeroing || !device.properties().write_same) {
    fuse_reply_err(request, EOPNOTSUPP);
    return;
  }
  const std::uint64_t end = device.properties().size();
  const auto start = std::min<std::uint64_t>(static_cast<std::uint64_t>(offset), end);
  const auto n = std::min<std::uint64_t>(static_cast<std::uint64_t>(length), end - start);
  device.write_zeroes(start, n, (mode & FALLOC_FL_PUNCH_HOLE) != 0, replies(request));
}

void on_release(fuse_req_t request, fuse_ino_t, fuse_file_info*) {
  fuse_reply_err(request, 0);
}

fuse_lowlevel_ops operations() {
  fuse_lowlevel_ops ops{};
  ops.init = on_init;
  ops.lookup = on_lookup;
  ops.getattr = on_getattr;
  ops.setattr = on_setattr;
  ops.open = on_open;
  ops.readdir = on_readdir;
  ops.read = on_read;
  ops.write = on_write;
  ops.fsync = on_fsync;
  ops.fallocate = on_fallocate;
  ops.release = on_release;
  return ops;
}

}  // namespace

class FuseFile::State {
 public:
  State(BlockDevice& device, const std::string& dir, bool read_only) : access_(device, read_only) {
    std::array<std::string, 3> words{"iser", "-o", "fsname=iser,subtype=iser"};
    std::array<char*, 3> argv{words[0].data(), words[1].data(), words[2].data()};
    fuse_args args = FUSE_ARGS_INIT(static_cast<int>(argv.size()), argv.data());
    const fuse_lowlevel_ops ops = operations();
    session_ = fuse_session_new(&args, &ops, sizeof ops, &access_);
    fuse_opt_free_args(&args);
    if (!session_) throw SessionError("FUSE does not start (libfuse gave no session)");
    if (fuse_session_mount(session_, dir.c_str()) != 0) {
      fuse_session_destroy(session_);
      throw SessionError("cannot mount FUSE on " + dir +
                         ": is /dev/fuse there and may this user open it?");
    }
  }
  ~State() {
    fuse_session_unmount(session_);
    fuse_session_destroy(session_);
  }
  void run() {
    fuse_set_signal_handlers(session_);
    fuse_session_loop(session_);
    fuse_remove_signal_handlers(session_);
  }

 private:
  ByteAccess access_;
  fuse_session* session_ = nullptr;
};

FuseFile::FuseFile(BlockDevice& device, const std::string& dir, bool read_only)
    : state_(std::make_unique<State>(device, dir, read_only)) {}
FuseFile::~FuseFile() = default;
void FuseFile::run() {
  state_->run();
}

}  // namespace openiser::initiator
