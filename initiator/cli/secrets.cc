// The secrets of CHAP, which never stand in a URL or on a command line.
#include "base/secret.h"
#include "initiator/cli/commands.h"

namespace openiser::initiator::cli {
namespace {

Secret read(const char* option, const std::string& path) {
  SecretFile file = read_secret_file(path, iscsi::kLeastChapSecret);
  if (!file.fault.empty()) throw SessionError(std::string(option) + " " + path + " " + file.fault);
  return std::move(file.secret);
}

}  // namespace

void read_secrets(Common& common) {
  SessionOptions& session = common.session;
  if (!session.target_user.empty() && common.target_secret_file.empty())
    throw UsageError("--mutual-user " + session.target_user +
                     ": no secret; name its file with --mutual-secret-file");
  if (!common.secret_file.empty()) session.secret = read("--secret-file", common.secret_file);
  if (!common.target_secret_file.empty())
    session.target_secret = read("--mutual-secret-file", common.target_secret_file);
}

}  // namespace openiser::initiator::cli
