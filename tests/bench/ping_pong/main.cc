// ping_pong: what the loopback itself can do for requests and responses of given sizes, and, with a
// CRC, a LUN and placement, what software iWARP could do at best. One process serves, the other
// asks; each has a core. Prints one line of JSON.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>

#include "tests/bench/ping_pong/check.h"
#include "tests/bench/ping_pong/client.h"

namespace openiser::bench {
namespace {

struct Listener {
  Descriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};

  Listener() {
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* a = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    check(bind(socket.get(), a, size), "bind");
    check(listen(socket.get(), 256), "listen");
    check(getsockname(socket.get(), a, &size), "getsockname");
  }
};

void serve(const Options& options, const Listener& listener) {
  pin_to_core(options.server_core);
  Connections connections(options, Side::server);
  for (unsigned i = 0; i < options.connections; ++i) {
    Descriptor socket(accept(listener.socket.get(), nullptr, nullptr));
    check(socket.get(), "accept");
    connections.add(std::move(socket));
  }
  while (connections.turn([](Connection&, unsigned) {})) {
  }
}

Result ask(const Options& options, const Listener& listener, int server) {
  pin_to_core(options.client_core);
  Connections connections(options, Side::client);
  for (unsigned i = 0; i < options.connections; ++i) {
    Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto* a = reinterpret_cast<const sockaddr*>(&listener.address);
    check(connect(socket.get(), a, sizeof listener.address), "connect");
    connections.add(std::move(socket));
  }
  return measure(options, connections, server);
}

Options options_of(int argc, char** argv) {
  Options o;
  CLI::App app("Requests and responses over loopback TCP, and nothing else.");
  const auto size = CLI::AsSizeValue(false);
  app.add_option("--request", o.request, "bytes of a request")->transform(size);
  app.add_option("--response", o.response, "bytes of a response")->transform(size);
  app.add_option("--payload", o.payload, "bytes of an I/O that count")->transform(size);
  app.add_option("--depth", o.depth, "requests in flight on a connection")
      ->check(CLI::Range(1, 65536));
  app.add_option("--connections", o.connections)->check(CLI::Range(1, 256));
  app.add_option("--seconds", o.seconds, "measured")->check(CLI::PositiveNumber);
  app.add_option("--warm-up", o.warm_up, "seconds before that");
  app.add_option("--server-core", o.server_core);
  app.add_option("--client-core", o.client_core);
  app.add_flag("--spin", o.spin, "poll instead of sleeping");
  app.add_option("--fpdu", o.fpdu, "a CRC32C behind each so many bytes")->transform(size);
  app.add_flag("--place", o.place, "keep received data in a place of its own");
  app.add_option("--lun", o.lun, "data comes from, or goes to, this file")
      ->check(CLI::ExistingFile);
  app.add_flag("--sequential", o.sequential, "use the LUN in order, not at random");
  try {
    app.parse(argc, argv);
    if (o.request == 0 || o.response == 0) throw CLI::ValidationError("messages have bytes");
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
  return o;
}

int run(const Options& options) {
  const Listener listener;
  const int server = fork();
  check(server, "fork");
  if (server == 0) {
    serve(options, listener);
    return 0;
  }
  const Result result = ask(options, listener, server);  // its sockets close, so the server ends
  int status = 0;
  check(waitpid(server, &status, 0), "waitpid");
  if (status != 0) throw std::runtime_error("the server failed");
  std::cout << to_json(result) << '\n';
  return 0;
}

}  // namespace
}  // namespace openiser::bench

int main(int argc, char** argv) {
  const openiser::bench::Options options = openiser::bench::options_of(argc, argv);
  try {
    return openiser::bench::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ping_pong: %s\n", error.what());
    return 1;
  }
}
