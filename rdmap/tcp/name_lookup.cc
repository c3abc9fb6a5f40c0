#include "rdmap/tcp/name_lookup.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <utility>

namespace openiser::rdmap {

namespace asio = boost::asio;

struct NameLookup::State {
  explicit State(EventLoop& loop) : resolver(*static_cast<asio::io_context*>(loop.io_context())) {}

  asio::ip::tcp::resolver resolver;
  Done done;
};

NameLookup::NameLookup(EventLoop& loop) : state_(std::make_shared<State>(loop)) {}

NameLookup::~NameLookup() {
  cancel();
}

void NameLookup::start(const std::string& host, std::uint16_t port, Done done) {
  if (auto literal = look_up(host, port, Lookup::numeric)) return done(std::move(literal));
  state_->done = std::move(done);
  state_->resolver.async_resolve(host, std::to_string(port),
                                 asio::ip::resolver_base::numeric_service,
                                 [state = state_](const ErrorCode& error, const auto& results) {
                                   const Done tell = std::exchange(state->done, nullptr);
                                   if (!tell) return;
                                   if (error) return tell(error);
                                   std::vector<SocketAddress> all;
                                   for (const auto& each : results)
                                     all.push_back(SocketAddress::copy_of(*each.endpoint().data()));
                                   tell(std::move(all));
                                 });
}

void NameLookup::cancel() {
  state_->done = nullptr;
  state_->resolver.cancel();
}

}  // namespace openiser::rdmap
