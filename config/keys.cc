#include "config/keys.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <tuple>

#include "config/key_makers.h"

namespace openiser::config {

namespace {

// --- portals ---

constexpr std::array<std::string_view, 3> kTransports{"auto", "iwarp", "verbs"};
constexpr std::array<std::string_view, 5> kAccessStates{"active-optimized", "active-non-optimized",
                                                        "standby", "unavailable", "transitioning"};

constexpr std::array kRedirectKeys{
    Key{"address",
        Kind::portal,
        "host:port that logins are sent on to; port 3260 if none is given",
        0,
        UINT64_MAX,
        {},
        [](void* object, const Value& v) {
          auto& redirect = *static_cast<Redirect*>(object);
          redirect.host = v.text;
          redirect.port = static_cast<std::uint16_t>(v.number);
        },
        nullptr,
        nullptr,
        nullptr,
        true},
    value<&Redirect::permanent>("permanent", Kind::boolean,
                                "tell initiators to keep the new address, not just to try it now"),
    value<&Redirect::after_authentication>("after_authentication", Kind::boolean,
                                           "only when the initiator has proved who it is"),
};

void check_redirect(void* object, const Given& given, std::vector<Fault>& faults) {
  const auto& redirect = *static_cast<const Redirect*>(object);
  if (!redirect.host.empty() && redirect.port != 0) return;
  const auto at = given.find("address");
  faults.push_back({at == given.end() ? redirect.at : at->second,
                    "an address to go to without a host or port; write host:3260"});
}

constexpr Object redirect_object(std::string_view what) {
  return {what,          kRedirectKeys, fresh<Redirect>, locate<Redirect>, &kRedirectKeys[0],
          check_redirect};
}
constexpr Object kTargetRedirect = redirect_object("where logins to the target are sent on to");
constexpr Object kPortalRedirect = redirect_object("where logins that come in here are sent on to");

constexpr std::array kPortalKeys{
    Key{"address",
        Kind::portal,
        "host:port, host, [IPv6]:port or :port; without a host all addresses, without a port 3260, "
        "with port 0 any that is free",
        0,
        UINT64_MAX,
        {},
        [](void* object, const Value& v) {
          auto& portal = *static_cast<Portal*>(object);
          portal.host = v.text;
          portal.port = static_cast<std::uint16_t>(v.number);
        },
        nullptr,
        nullptr,
        nullptr,
        true},
    value<&Portal::tag>("tag", Kind::count,
                        "portal group tag; portals of one group serve the same sessions", 1),
    choice<&Portal::alua>("alua", kAccessStates,
                          "how LUNs are accessed through the portal's group (asymmetric logical "
                          "unit access); the same for all portals of a group"),
    value<&Portal::preferred>("preferred", Kind::boolean,
                              "whether initiators should prefer the portal's group"),
    choice<&Portal::transport>("transport", kTransports,
                               "iwarp: TCP, with iWARP in software; verbs: an RDMA device; auto: "
                               "TCP, and verbs too where a device carries the address"),
    object<&Portal::redirect>("redirect", kPortalRedirect),
};
constexpr Object kPortal{"an address to listen on", kPortalKeys, fresh<Portal>, locate<Portal>,
                         &kPortalKeys[0]};

// --- logical units ---

template <Lun::Kind kKind>
void set_store(void* object, const Value& v) {
  auto& lun = *static_cast<Lun*>(object);
  lun.kind = kKind;
  if (kKind == Lun::Kind::file)
    lun.path = v.text;
  else
    lun.size = v.number;
}

constexpr std::uint64_t kLargestLun = std::uint64_t{1} << 60;
constexpr std::array kLunKeys{
    required(value<&Lun::lun>("lun", Kind::count, "logical unit number", 0, 16383)),
    Key{"file",
        Kind::path,
        "a file or block device; relative names start at the folder of the configuration file",
        1,
        4095,
        {},
        set_store<Lun::Kind::file>},
    Key{"memory",
        Kind::size,
        "size of a disk in memory, gone at the end of the daemon",
        4096,
        std::uint64_t{1} << 40,
        {},
        set_store<Lun::Kind::memory>},
    Key{"null",
        Kind::size,
        "size of a disk that keeps nothing and reads as zeros",
        4096,
        kLargestLun,
        {},
        set_store<Lun::Kind::null>},
    value<&Lun::size>("size", Kind::size,
                      "of a file: it is made, or grown, to this size; 0: as large as it is", 0,
                      kLargestLun),
    value<&Lun::block_size>("block_size", Kind::size, "logical block size, 512 or 4096 bytes", 512,
                            4096),
    value<&Lun::physical_block_size>(
        "physical_block_size", Kind::size,
        "what initiators are told to align to: a power of two from block_size to 1 MiB", 512,
        1 << 20),
    value<&Lun::soft_threshold>(
        "soft_threshold", Kind::count,
        "percent of the space there is, from which initiators are told that it is running out; 0: "
        "never",
        0, 99),
    value<&Lun::sanitize_rate>(
        "sanitize_rate", Kind::size,
        "bytes a second that SANITIZE and FORMAT UNIT write at most, to leave some for others; 0: "
        "as fast as it goes"),
    value<&Lun::direct>("direct", Kind::boolean,
                        "of a file: reads and writes go past the page cache (O_DIRECT)"),
    value<&Lun::read_only>("read_only", Kind::boolean, "whether writes are refused"),
    value<&Lun::vendor>("vendor", Kind::text, "T10 vendor identification", 0, 8),
    value<&Lun::product>("product", Kind::text, "product identification", 0, 16),
    value<&Lun::serial>("serial", Kind::text,
                        "unit serial number; empty: made from target name and LUN", 0, 64),
};

void check_lun(void* object, const Given& given, std::vector<Fault>& faults) {
  const auto& lun = *static_cast<const Lun*>(object);
  const auto stores = given.count("file") + given.count("memory") + given.count("null");
  if (stores != 1)
    faults.push_back({lun.at, std::string("a LUN with ") +
                                  (stores ? "several stores" : "no store") +
                                  "; give it one of file, memory and null"});
  if (given.contains("size") && !given.contains("file"))
    faults.push_back({given.at("size"), "size is for files; write memory: SIZE or null: SIZE"});
  for (const char* key : {"direct", "soft_threshold"}) {
    if (given.contains(key) && !given.contains("file"))
      faults.push_back({given.at(key), std::string(key) + " is for files; leave it out"});
  }
  if (!std::has_single_bit(lun.physical_block_size) || lun.physical_block_size < lun.block_size)
    faults.push_back(
        {given.contains("physical_block_size") ? given.at("physical_block_size") : lun.at,
         "a physical_block_size of " + std::to_string(lun.physical_block_size) +
             "; write a power of two that is not below block_size"});
  if (lun.block_size != 512 && lun.block_size != 4096)
    faults.push_back({given.at("block_size"),
                      "a block size of " + std::to_string(lun.block_size) + "; write 512 or 4096"});
  else if (lun.size % lun.block_size != 0)
    faults.push_back({lun.at, "a size of " + std::to_string(lun.size) +
                                  " bytes, which is no multiple of block_size; round it to " +
                                  std::to_string(lun.size / lun.block_size * lun.block_size)});
}

constexpr Object kLun{"a logical unit", kLunKeys, fresh<Lun>, locate<Lun>, nullptr, check_lun};

// --- who may log in ---

constexpr std::array kAccountKeys{
    required(value<&Account::name>("name", Kind::text, "the name that is told (CHAP_N)", 1, 255)),
    required(value<&Account::secret_file>(
        "secret_file", Kind::path,
        "file with the secret, of at least 12 bytes; only its owner may read it, who is root or "
        "the daemon's user",
        1, 4095)),
};

void check_account(void* object, const Given& given, std::vector<Fault>& faults) {
  auto& account = *static_cast<Account*>(object);
  account.secret_at = given.at("secret_file");
  if (account.name.empty())
    faults.push_back({given.at("name"), "an empty name; write the name that is told"});
}

constexpr Object account_object(std::string_view what) {
  return {what, kAccountKeys, fresh<Account>, locate<Account>, nullptr, check_account};
}
constexpr Object kAccount = account_object("a name and its secret");
constexpr Object kMutual =
    account_object("who the target is to initiators that want it to prove itself");

constexpr std::array kAuthKeys{
    list<&Auth::users>("users", kAccount, "initiators that may log in"),
    object<&Auth::mutual>("mutual", kMutual),
};

// RFC 7143 section 9.2.1: a secret proves one direction only.
void check_auth(void* object, const Given&, std::vector<Fault>& faults) {
  const auto& auth = *static_cast<const Auth*>(object);
  for (const Account& user : auth.users)
    if (user.secret_file == auth.mutual.secret_file)
      faults.push_back({auth.mutual.secret_at, "the secret file of user " + user.name +
                                                   "; give the target a secret of its own"});
}

constexpr Object auth_object(std::string_view what) {
  return {what, kAuthKeys, fresh<Auth>, nullptr, nullptr, check_auth};
}
constexpr Object kAuth =
    auth_object("CHAP, which initiators then have to pass; without it there is none");
constexpr Object kDiscoveryAuth =
    auth_object("the same for discovery sessions, which no target's auth is about");

// --- who sees what ---

constexpr std::array kViewLunKeys{
    required(
        value<&ViewLun::lun>("lun", Kind::count, "number the initiator knows it by", 0, 16383)),
    required(value<&ViewLun::disk>("disk", Kind::count, "lun of the target that it is", 0, 16383)),
    value<&ViewLun::read_only>("read_only", Kind::boolean,
                               "whether writes of this initiator are refused"),
};

void check_view_lun(void* object, const Given& given, std::vector<Fault>&) {
  static_cast<ViewLun*>(object)->disk_at = given.at("disk");
}

constexpr Object kViewLun{"one of the target's disks, as an initiator sees it",
                          kViewLunKeys,
                          fresh<ViewLun>,
                          locate<ViewLun>,
                          nullptr,
                          check_view_lun};

constexpr std::array kInitiatorKeys{
    required(value<&Initiator::name>(
        "name", Kind::initiator_name,
        "iSCSI name, or a pattern of names: * for any run of characters, ? for one; an exact name "
        "goes before patterns, else the first that fits")),
    object<&Initiator::auth>("auth", kAuth),
    optional(list<&Initiator::luns>("luns", kViewLun, "all it sees; left out: the target's luns")),
    value<&Initiator::read_only>("read_only", Kind::boolean, "whether all its writes are refused"),
};
constexpr Object kInitiator{"initiators that may log in", kInitiatorKeys, fresh<Initiator>,
                            locate<Initiator>, &kInitiatorKeys[0]};
constexpr Object kDiscoverer{"initiators that may ask", std::span(kInitiatorKeys).first<1>(),
                             fresh<Initiator>, locate<Initiator>, &kInitiatorKeys[0]};

constexpr std::array kNetworkKeys{
    Key{"network",
        Kind::network,
        "192.0.2.0/24, 2001:db8::/32, or one address",
        0,
        UINT64_MAX,
        {},
        [](void* object, const Value& v) {
          auto& network = *static_cast<Network*>(object);
          std::copy(v.text.begin(), v.text.end(), network.address.begin());
          network.prefix = static_cast<std::uint8_t>(v.number);
        },
        nullptr,
        nullptr,
        nullptr,
        true},
};
constexpr Object kNetwork{"addresses initiators come from", kNetworkKeys, fresh<Network>,
                          locate<Network>, &kNetworkKeys[0]};

constexpr std::array kPortalGroupKeys{
    required(value<&PortalGroup::tag>("tag", Kind::count, "tag of a group of portals")),
};
constexpr Object kPortalGroup{"a group of portals", kPortalGroupKeys, fresh<PortalGroup>,
                              locate<PortalGroup>, &kPortalGroupKeys[0]};

// --- targets ---

constexpr std::array kTargetKeys{
    required(value<&Target::name>("name", Kind::iscsi_name, "iSCSI name: iqn., eui. or naa.")),
    value<&Target::alias>("alias", Kind::text, "a name for people, told to initiators", 0, 255),
    object<&Target::auth>("auth", kAuth),
    optional(
        list<&Target::initiators>("initiators", kInitiator, "who may log in; left out: everybody")),
    optional(
        list<&Target::networks>("networks", kNetwork, "where from; left out: from everywhere")),
    optional(list<&Target::portal_groups>("portal_groups", kPortalGroup,
                                          "tags of the portals it is served at; left out: all")),
    object<&Target::redirect>("redirect", kTargetRedirect),
    list<&Target::luns>("luns", kLun, "the target's logical units"),
};

void check_views(void* object, const Given&, std::vector<Fault>& faults) {
  const auto& target = *static_cast<const Target*>(object);
  for (const Initiator& initiator : target.initiators)
    for (const ViewLun& view : initiator.luns)
      if (std::ranges::find(target.luns, view.disk, &Lun::lun) == target.luns.end())
        faults.push_back({view.disk_at, "disk " + std::to_string(view.disk) +
                                            " is no lun of the target; name one that is"});
}

constexpr Object kTarget{"an iSCSI target", kTargetKeys, fresh<Target>,
                         locate<Target>,    nullptr,     check_views};

// --- negotiation ---

constexpr std::uint64_t kMinSegment = 512, kMaxSegment = 0xffffff;
using N = Negotiation;
constexpr std::array kNegotiationKeys{
    value<&N::rdma_extensions>("rdma_extensions", Kind::boolean, "accept RDMAExtensions=Yes"),
    value<&N::header_digest>("header_digest", Kind::boolean,
                             "accept CRC32C header digests on plain iSCSI"),
    value<&N::data_digest>("data_digest", Kind::boolean,
                           "accept CRC32C data digests on plain iSCSI"),
    value<&N::immediate_data>("immediate_data", Kind::boolean,
                              "accept write data in the command's own PDU"),
    value<&N::initial_r2t>("initial_r2t", Kind::boolean, "demand R2T before any unsolicited data"),
    value<&N::max_recv_data_segment_length>("max_recv_data_segment_length", Kind::size,
                                            "largest data segment taken on plain iSCSI",
                                            kMinSegment, kMaxSegment),
    value<&N::target_recv_data_segment_length>(
        "target_recv_data_segment_length", Kind::size,
        "largest data segment of a control PDU taken on iSER", kMinSegment, kMaxSegment),
    value<&N::max_burst_length>("max_burst_length", Kind::size, "largest solicited burst",
                                kMinSegment, kMaxSegment),
    value<&N::first_burst_length>("first_burst_length", Kind::size,
                                  "largest unsolicited burst, at most max_burst_length",
                                  kMinSegment, kMaxSegment),
    value<&N::max_outstanding_r2t>("max_outstanding_r2t", Kind::count, "R2Ts under way per task",
                                   1),
};

// RFC 7143 section 13.14
void check_negotiation(void* object, const Given& given, std::vector<Fault>& faults) {
  auto& n = *static_cast<Negotiation*>(object);
  if (n.first_burst_length <= n.max_burst_length) return;
  if (given.contains("first_burst_length"))
    faults.push_back({given.at("first_burst_length"),
                      "first_burst_length exceeds max_burst_length, which is " +
                          std::to_string(n.max_burst_length) + "; make it smaller"});
  n.first_burst_length = n.max_burst_length;
}

constexpr Object kNegotiation{"what is offered and accepted at login",
                              kNegotiationKeys,
                              fresh<Negotiation>,
                              nullptr,
                              nullptr,
                              check_negotiation};

// --- rdma ---

constexpr std::array<std::string_view, 3> kBaseOffsets{"auto", "whole-buffer", "solicited-part"};
constexpr std::array<std::string_view, 3> kDialects{"auto", "rfc5046", "rfc7145"};
constexpr std::array kRdmaKeys{
    value<&Rdma::crc>("crc", Kind::boolean,
                      "ask for MPA CRC; off only where the initiator does not ask either"),
    value<&Rdma::markers>("markers", Kind::boolean, "demand MPA markers in what is received"),
    value<&Rdma::large_fpdus>("large_fpdus", Kind::boolean,
                              "send FPDUs of up to 64 KiB whatever the TCP segment size is"),
    value<&Rdma::inbound_reads>("inbound_reads", Kind::count,
                                "RDMA Reads a peer may have under way"),
    value<&Rdma::outbound_reads>("outbound_reads", Kind::count,
                                 "RDMA Reads the target has under way", 1),
    choice<&Rdma::base_offset>("base_offset", kBaseOffsets,
                               "what the Write Base Offset of a peer points at; auto: by its keys"),
    choice<&Rdma::dialect>(
        "dialect", kDialects,
        "whose iSER headers on connections that begin as plain iSCSI: RFC 5046 or "
        "RFC 7145; auto: by the keys of the initiator"),
};
constexpr Object kRdma{"MPA, RDMAP and iSER", kRdmaKeys, fresh<Rdma>};

// --- limits ---

constexpr std::array kLimitsKeys{
    value<&Limits::threads>("threads", Kind::count, "threads; 0: one per core", 0, 1024),
    Key{"cpus",
        Kind::processors,
        "processors for the threads, in turn, as in 0-3,6; left out: all",
        0,
        UINT64_MAX,
        {},
        [](void* object, const Value& v) {
          static_cast<Limits*>(object)->cpus = processors_of(v.text);
        }},
    value<&Limits::busy_poll>("busy_poll", Kind::count,
                              "microseconds a thread looks for work, at the most, before it "
                              "sleeps; 0: none",
                              0, 1000000),
    value<&Limits::connections>("connections", Kind::count, "connections at one time", 1, 1 << 20),
    value<&Limits::command_window>("command_window", Kind::count,
                                   "commands a session may have under way", 1, 4096),
    value<&Limits::session_buffers>("session_buffers", Kind::size,
                                    "data buffers a session may hold", std::uint64_t{1} << 20,
                                    std::uint64_t{1} << 40),
    value<&Limits::transfer_window>("transfer_window", Kind::size,
                                    "payload under way, each way, beyond which a session begins no "
                                    "other transfer",
                                    std::uint64_t{64} << 10, std::uint64_t{1} << 40),
    value<&Limits::login_timeout>("login_timeout", Kind::duration, "time for a login", 1, 3600),
    value<&Limits::nop_interval>("nop_interval", Kind::duration,
                                 "silence after which the initiator is pinged; 0: never", 0, 86400),
    value<&Limits::nop_timeout>("nop_timeout", Kind::duration,
                                "time for its answer before the connection ends", 1, 86400),
    value<&Limits::idle_timeout>("idle_timeout", Kind::duration,
                                 "time without a command after which the initiator is asked to log "
                                 "out; 0: never",
                                 0, 31536000),
    value<&Limits::drain_timeout>("drain_timeout", Kind::duration,
                                  "time for commands under way at SIGTERM", 0, 3600),
};
constexpr Object kLimits{"limits and times", kLimitsKeys, fresh<Limits>};

// --- the file ---

constexpr std::array<std::string_view, 3> kStores{"auto", "io_uring", "threads"};
constexpr std::array<std::string_view, 6> kLevels{"trace", "debug", "info", "warn", "error", "off"};

// The level stays a name in settings.h.
void set_level(void* object, const Value& v) {
  static_cast<Daemon*>(object)->log_level = kLevels.at(v.number);
}
Value get_level(const void* object) {
  const auto& level = static_cast<const Daemon*>(object)->log_level;
  return {static_cast<std::uint64_t>(std::ranges::find(kLevels, level) - kLevels.begin()), {}};
}

constexpr std::array kDaemonKeys{
    list<&Daemon::portals>("portals", kPortal, "addresses to listen on"),
    list<&Daemon::targets>("targets", kTarget, "what is served"),
    object<&Daemon::discovery_auth>("discovery_auth", kDiscoveryAuth),
    optional(list<&Daemon::discovery_initiators>(
        "discovery_initiators", kDiscoverer,
        "who may ask what targets there are, and is told of those it may log in to; left out: "
        "everybody")),
    optional(list<&Daemon::discovery_networks>("discovery_networks", kNetwork,
                                               "where from; left out: from everywhere")),
    object<&Daemon::negotiation>("negotiation", kNegotiation),
    object<&Daemon::rdma>("rdma", kRdma),
    object<&Daemon::limits>("limits", kLimits),
    choice<&Daemon::store_engine>("store_engine", kStores,
                                  "how files are read and written; auto: io_uring where the kernel "
                                  "has it, else threads"),
    value<&Daemon::state_directory>(
        "state_directory", Kind::path,
        "folder for what outlives the daemon, such as persistent reservations; made when first "
        "needed; left out: where systemd says (StateDirectory), else the folder \"state\" beside "
        "this file"),
    Key{"log_level", Kind::choice, "least level that is logged", 0, UINT64_MAX, kLevels, set_level,
        get_level},
};
constexpr Object kDaemon{"configuration of iser-targetd", kDaemonKeys, fresh<Daemon>};

// Tells of every element of `items` whose `key` an earlier one has.
template <class Items, class KeyOf>
void find_twice(const Items& items, KeyOf key_of, std::string_view what,
                std::vector<Fault>& faults) {
  std::map<decltype(key_of(items.front())), Position> seen;
  for (const auto& item : items) {
    const auto [first, fresh] = seen.emplace(key_of(item), item.at);
    if (!fresh)
      faults.push_back({item.at, std::string(what) + " that line " +
                                     std::to_string(first->second.line) +
                                     " has already; change or remove one of them"});
  }
}

// A portal group is accessed in one way.
void check_groups(const Daemon& daemon, std::vector<Fault>& faults) {
  std::map<std::uint16_t, const Portal*> first;
  for (const Portal& portal : daemon.portals) {
    const Portal& other = *first.emplace(portal.tag, &portal).first->second;
    if (portal.alua == other.alua && portal.preferred == other.preferred) continue;
    faults.push_back({portal.at, "alua or preferred not as line " + std::to_string(other.at.line) +
                                     " has it for portals of tag " + std::to_string(portal.tag) +
                                     "; write the same, or give it another tag"});
  }
}

// A target that no portal serves could never be reached.
void check_portal_groups(const Daemon& daemon, const Target& target, std::vector<Fault>& faults) {
  find_twice(
      target.portal_groups, [](const PortalGroup& g) { return g.tag; }, "a tag", faults);
  for (const PortalGroup& group : target.portal_groups)
    if (std::ranges::find(daemon.portals, group.tag, &Portal::tag) == daemon.portals.end())
      faults.push_back({group.at, "no portal has the tag " + std::to_string(group.tag) +
                                      "; give one to a portal, or name another group"});
}

}  // namespace

const Object& root_object() {
  return kDaemon;
}

void check_duplicates(const Daemon& daemon, std::vector<Fault>& faults) {
  std::vector<Portal> fixed;
  std::ranges::copy_if(daemon.portals, std::back_inserter(fixed),
                       [](const Portal& p) { return p.port != 0; });
  find_twice(
      fixed, [](const Portal& p) { return std::pair(p.host, p.port); }, "a portal address", faults);
  check_groups(daemon, faults);
  find_twice(
      daemon.targets, [](const Target& t) { return t.name; }, "a target name", faults);
  const auto user_name = [](const Account& a) { return a.name; };
  find_twice(daemon.discovery_auth.users, user_name, "a user name", faults);
  const auto name = [](const Initiator& i) { return i.name; };
  find_twice(daemon.discovery_initiators, name, "an initiator", faults);
  for (const Target& target : daemon.targets) {
    find_twice(
        target.luns, [](const Lun& l) { return l.lun; }, "a logical unit number", faults);
    find_twice(target.auth.users, user_name, "a user name", faults);
    find_twice(target.initiators, name, "an initiator", faults);
    for (const Initiator& initiator : target.initiators) {
      find_twice(initiator.auth.users, user_name, "a user name", faults);
      find_twice(
          initiator.luns, [](const ViewLun& l) { return l.lun; }, "a logical unit number", faults);
      find_twice(
          initiator.luns, [](const ViewLun& l) { return l.disk; }, "a disk", faults);
    }
    check_portal_groups(daemon, target, faults);
  }
}

}  // namespace openiser::config
