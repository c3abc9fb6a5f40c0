// Stands in for the C library's system calls that the programs make while data flows.
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/bench/copies/caller.h"
#include "tests/bench/copies/tally.h"

struct io_uring;

namespace openiser::bench {
namespace {

template <class Result, class... Arguments>
class Real {
 public:
  constexpr explicit Real(const char* name) : name_(name) {}

  // The kernel copies as many bytes as it says.
  Result moving(const Caller& caller, Arguments... arguments) {
    const Result n = call(arguments...);
    count(name_, n > 0 ? static_cast<std::uint64_t>(n) : 0, caller);
    return n;
  }
  Result plain(const Caller& caller, Arguments... arguments) {
    count(name_, 0, caller);
    return call(arguments...);
  }

 private:
  using Function = Result(Arguments...);
  Result call(Arguments... arguments) {
    Function* real = real_.load(std::memory_order_relaxed);
    if (!real) {
      real = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name_));
      real_.store(real, std::memory_order_relaxed);
    }
    return real(arguments...);
  }

  const char* const name_;
  std::atomic<Function*> real_ = nullptr;
};

constinit Real<ssize_t, int, msghdr*, int> real_recvmsg("recvmsg");
constinit Real<ssize_t, int, const msghdr*, int> real_sendmsg("sendmsg");
constinit Real<ssize_t, int, void*, size_t, int> real_recv("recv");
constinit Real<ssize_t, int, void*, size_t> real_read("read");
constinit Real<ssize_t, int, const void*, size_t> real_write("write");
constinit Real<ssize_t, int, void*, size_t, off_t> real_pread("pread");
constinit Real<ssize_t, int, const void*, size_t, off_t> real_pwrite("pwrite");
constinit Real<ssize_t, int, const iovec*, int, off_t, int> real_preadv2("preadv2");
constinit Real<ssize_t, int, const iovec*, int, off_t, int> real_pwritev2("pwritev2");
constinit Real<int, int, epoll_event*, int, int> real_epoll_wait("epoll_wait");
constinit Real<int, int, int, int, epoll_event*> real_epoll_ctl("epoll_ctl");
constinit Real<int, pollfd*, nfds_t, int> real_poll("poll");
constinit Real<int, int, int, const itimerspec*, itimerspec*> real_timerfd_settime(
    "timerfd_settime");
constinit Real<int, int, eventfd_t*> real_eventfd_read("eventfd_read");
constinit Real<ssize_t, void*, size_t, unsigned> real_getrandom("getrandom");
constinit Real<int, io_uring*> real_io_uring_submit("io_uring_submit");

}  // namespace
}  // namespace openiser::bench

using namespace openiser::bench;

extern "C" {

ssize_t recvmsg(int fd, msghdr* message, int flags) {
  return real_recvmsg.moving(OPENISER_CALLER(), fd, message, flags);
}
ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  return real_sendmsg.moving(OPENISER_CALLER(), fd, message, flags);
}
ssize_t recv(int fd, void* to, size_t n, int flags) {
  return real_recv.moving(OPENISER_CALLER(), fd, to, n, flags);
}
ssize_t read(int fd, void* to, size_t n) {
  return real_read.moving(OPENISER_CALLER(), fd, to, n);
}
ssize_t write(int fd, const void* from, size_t n) {
  return real_write.moving(OPENISER_CALLER(), fd, from, n);
}
ssize_t pread(int fd, void* to, size_t n, off_t offset) {
  return real_pread.moving(OPENISER_CALLER(), fd, to, n, offset);
}
ssize_t pwrite(int fd, const void* from, size_t n, off_t offset) {
  return real_pwrite.moving(OPENISER_CALLER(), fd, from, n, offset);
}
ssize_t preadv2(int fd, const iovec* to, int count, off_t offset, int flags) {
  return real_preadv2.moving(OPENISER_CALLER(), fd, to, count, offset, flags);
}
ssize_t pwritev2(int fd, const iovec* from, int count, off_t offset, int flags) {
  return real_pwritev2.moving(OPENISER_CALLER(), fd, from, count, offset, flags);
}
int epoll_wait(int fd, epoll_event* events, int most, int timeout) {
  return real_epoll_wait.plain(OPENISER_CALLER(), fd, events, most, timeout);
}
int epoll_ctl(int fd, int operation, int other, epoll_event* event) noexcept {
  return real_epoll_ctl.plain(OPENISER_CALLER(), fd, operation, other, event);
}
int poll(pollfd* fds, nfds_t count, int timeout) {
  return real_poll.plain(OPENISER_CALLER(), fds, count, timeout);
}
int timerfd_settime(int fd, int flags, const itimerspec* to, itimerspec* old) noexcept {
  return real_timerfd_settime.plain(OPENISER_CALLER(), fd, flags, to, old);
}
int eventfd_read(int fd, eventfd_t* value) {
  return real_eventfd_read.plain(OPENISER_CALLER(), fd, value);
}
// What it gives is no copy of payload.
ssize_t getrandom(void* to, size_t n, unsigned flags) {
  return real_getrandom.plain(OPENISER_CALLER(), to, n, flags);
}
// liburing makes its system calls without the C library. What this one moves is not known here.
int io_uring_submit(io_uring* ring) {
  return real_io_uring_submit.plain(OPENISER_CALLER(), ring);
}

}  // extern "C"
