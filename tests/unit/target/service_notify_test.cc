#include "target/service_notify.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/descriptor.h"

namespace openiser::target {
namespace {

class ServiceNotifyTest : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv("NOTIFY_SOCKET"); }

  // A service manager that listens at `name`; '@' begins abstract names.
  static Descriptor manager_at(const std::string& name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name[0] == '@') address.sun_path[0] = '\0';
    Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(bind(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())),
              0);
    setenv("NOTIFY_SOCKET", name.c_str(), 1);
    return socket;
  }
  static std::string heard(const Descriptor& socket) {
    std::array<char, 64> text{};
    const ssize_t n = recv(socket.get(), text.data(), text.size(), MSG_DONTWAIT);
    return {text.data(), n > 0 ? static_cast<std::size_t>(n) : 0};
  }
};

TEST_F(ServiceNotifyTest, WithoutAManagerThereIsNothingToDo) {
  EXPECT_TRUE(notify_service_manager("READY=1"));
}

TEST_F(ServiceNotifyTest, TellsAnAbstractSocket) {
  const auto manager = manager_at("@open-iser-test-" + std::to_string(getpid()));
  EXPECT_TRUE(notify_service_manager("READY=1"));
  EXPECT_EQ(heard(manager), "READY=1");
}

TEST_F(ServiceNotifyTest, TellsASocketInTheFileSystem) {
  std::string folder = testing::TempDir() + "notifyXXXXXX";
  ASSERT_TRUE(mkdtemp(folder.data()));
  const std::string path = folder + "/s";
  const auto manager = manager_at(path);
  EXPECT_TRUE(notify_service_manager("STOPPING=1"));
  EXPECT_EQ(heard(manager), "STOPPING=1");
  unlink(path.c_str());
  rmdir(folder.c_str());
}

TEST_F(ServiceNotifyTest, SaysWhenItCannot) {
  setenv("NOTIFY_SOCKET", "/nonexistent/socket", 1);
  EXPECT_FALSE(notify_service_manager("READY=1"));
  setenv("NOTIFY_SOCKET", std::string(200, 'x').c_str(), 1);
  EXPECT_FALSE(notify_service_manager("READY=1"));
}

}  // namespace
}  // namespace openiser::target
