#include "base/secret.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/secret_files.h"

namespace openiser {
namespace {

using test::SecretFiles;

std::string text_of(const Secret& secret) {
  return std::string(as_text(secret.bytes()));
}

TEST(Secret, IsCopiedAndMoved) {
  Secret a(as_bytes("twelve-bytes"));
  Secret b = a;
  const Secret c = std::move(a);
  EXPECT_EQ(text_of(b), "twelve-bytes");
  EXPECT_EQ(text_of(c), "twelve-bytes");
  b = Secret();
  EXPECT_TRUE(b.empty());
}

TEST(Secret, WipeLeavesNothing) {
  std::array<std::byte, 5> memory;
  memory.fill(std::byte{0x55});
  wipe(memory);
  for (const std::byte b : memory) EXPECT_EQ(b, std::byte{0});
}

TEST(SecretFile, EndsAtItsLineEnd) {
  const SecretFiles files;
  for (const auto& [text, secret] :
       {std::pair<std::string, std::string>{"twelve-bytes", "twelve-bytes"},
        {"twelve-bytes\n", "twelve-bytes"},
        {"twelve-bytes\r\n", "twelve-bytes"},
        {"twelve-bytes\n\n", "twelve-bytes\n"},
        {" twelve bytes ", " twelve bytes "},
        {std::string("with\0a\xffNUL!!", 12), std::string("with\0a\xffNUL!!", 12)}}) {
    const SecretFile file = read_secret_file(files.write("a", text), 12);
    EXPECT_EQ(file.fault, "");
    EXPECT_EQ(text_of(file.secret), secret);
  }
}

TEST(SecretFile, HasALengthItMustHave) {
  const SecretFiles files;
  for (const auto& [size, good] : {std::pair<std::size_t, bool>{0, false},
                                   {11, false},
                                   {12, true},
                                   {1024, true},
                                   {1025, false},
                                   {100000, false}}) {
    for (const char* end : {"", "\n"}) {
      const SecretFile file = read_secret_file(files.write("a", std::string(size, 's') + end), 12);
      EXPECT_EQ(file.fault.empty(), good) << size << ": " << file.fault;
      EXPECT_EQ(file.secret.size(), good ? size : 0U);
    }
  }
}

TEST(SecretFile, IsForItsOwnerAlone) {
  const SecretFiles files;
  for (const mode_t mode : {0600U, 0400U, 0700U})
    EXPECT_EQ(read_secret_file(files.write("a", "twelve-bytes", mode), 12).fault, "") << mode;
  for (const mode_t mode : {0640U, 0620U, 0604U, 0602U, 0644U, 0666U}) {
    const SecretFile file = read_secret_file(files.write("a", "twelve-bytes", mode), 12);
    EXPECT_NE(file.fault.find("chmod 600"), std::string::npos) << mode << file.fault;
    EXPECT_TRUE(file.secret.empty());
  }
}

TEST(SecretFile, BelongsToNobodyElse) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give a file away";
  const SecretFiles files;
  const std::string path = files.write("a", "twelve-bytes");
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  EXPECT_NE(read_secret_file(path, 12).fault.find("user 12345"), std::string::npos);
}

TEST(SecretFile, IsARegularFile) {
  const SecretFiles files;
  const std::string pipe = files.write("a", "") + ".pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/"), std::string("/dev/null")})
    EXPECT_NE(read_secret_file(path, 12).fault.find("no regular file"), std::string::npos) << path;
  EXPECT_NE(read_secret_file(pipe + ".not", 12).fault.find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace openiser
