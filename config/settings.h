// Everything the daemon's YAML file says, as plain values, with the defaults. The loader (yaml.h)
// checks ranges and names the line and column of every fault; the schema is printed from the same
// table.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace openiser::config {

// Where a value stands in its file, from 1; 0 where it came from no file.
struct Position {
  int line = 0;
  int column = 0;
};

// Where logins are sent on to (RFC 7143 section 11.13.5, status class 1).
struct Redirect {
  std::string host;  // empty: they are not
  std::uint16_t port = 3260;
  bool permanent = false;
  bool after_authentication = false;  // only initiators that have proved who they are
  Position at;
};

struct Portal {
  std::string host;  // address or name; empty: all
  std::uint16_t port = 3260;
  std::uint16_t tag = 1;  // TargetPortalGroupTag, not 0
  // How units are accessed through the group, all portals of which say the same (asymmetric logical
  // unit access).
  enum class Alua : std::uint8_t {
    active_optimized,
    active_non_optimized,
    standby,
    unavailable,
    transitioning
  };
  Alua alua = Alua::active_optimized;
  bool preferred = false;
  // What carries connections. iwarp: TCP, as plain iSCSI and as the built-in iWARP. verbs: an RDMA
  // device. automatic: TCP, and the device too where one carries the address.
  enum class Transport : std::uint8_t { automatic, iwarp, verbs };
  Transport transport = Transport::automatic;
  Redirect redirect{};  // of every login that comes in here
  Position at;
};

struct PortalGroup {
  std::uint16_t tag = 1;
  Position at;
};

// The addresses that begin as `address` does. IPv4 is in its mapped form, ::ffff:a.b.c.d.
struct Network {
  std::array<std::uint8_t, 16> address{};
  std::uint8_t prefix = 0;  // bits of it that count, 0 to 128
  Position at;
};

struct Lun {
  enum class Kind : std::uint8_t { file, memory, null };
  std::uint16_t lun = 0;  // 0 to 16383
  Kind kind = Kind::file;
  std::string path;        // file; relative to the folder of the configuration file
  std::uint64_t size = 0;  // bytes; 0 for a file: as large as it is
  std::uint32_t block_size = 512;
  std::uint32_t physical_block_size = 4096;
  std::uint32_t soft_threshold = 0;  // percent; 0: none
  std::uint64_t sanitize_rate = 0;   // bytes a second; 0: as fast as it goes
  bool direct = false;               // file: past the page cache
  bool read_only = false;
  std::string vendor = "openiser";
  std::string product = "disk";
  std::string serial;
  Position at;
};

// A name and the file that holds the secret it is proved with (CHAP, RFC 7143 section 12.1.3). The
// secret itself never stands in the configuration.
struct Account {
  std::string name;         // empty: there is none
  std::string secret_file;  // relative to the folder of the configuration file
  Position at;
  Position secret_at;  // of secret_file
};

// How initiators have to prove who they are.
struct Auth {
  std::vector<Account> users;  // empty: they need not
  Account mutual;              // who the target is to initiators that ask
};

// A LUN of a view: the number an initiator knows one of the target's disks by.
struct ViewLun {
  std::uint16_t lun = 0;   // 0 to 16383
  std::uint16_t disk = 0;  // Lun::lun
  bool read_only = false;
  Position at;
  Position disk_at;
};

// Who may log in, how they prove it, and what they see.
struct Initiator {
  std::string name;           // an iSCSI name, or a pattern: * for any run of characters, ? for one
  Auth auth;                  // without users: the target's own
  std::vector<ViewLun> luns;  // empty: all, by the target's own numbers
  bool read_only = false;     // all of it
  Position at;
};

struct Target {
  std::string name;  // iqn., eui. or naa.
  std::string alias;
  Auth auth;
  std::vector<Initiator> initiators;       // empty: everybody
  std::vector<Network> networks;           // empty: from everywhere
  std::vector<PortalGroup> portal_groups;  // empty: served through all
  Redirect redirect;
  std::vector<Lun> luns;
  Position at;
};

// What is offered and accepted at login; see iscsi::Preferences.
struct Negotiation {
  bool rdma_extensions = true;  // accept RDMAExtensions=Yes
  bool header_digest = true;    // accept CRC32C where an initiator asks for it
  bool data_digest = true;
  bool immediate_data = true;
  bool initial_r2t = false;
  std::uint32_t max_recv_data_segment_length = 262144;
  std::uint32_t target_recv_data_segment_length = 8192;
  std::uint32_t max_burst_length = 1048576;
  std::uint32_t first_burst_length = 65536;
  std::uint16_t max_outstanding_r2t = 8;

  friend bool operator==(const Negotiation&, const Negotiation&) = default;
};

// MPA and RDMAP.
struct Rdma {
  bool crc = true;       // ask for CRC; off only when the initiator does not ask either
  bool markers = false;  // demand markers in what we receive
  // Send FPDUs of up to 64 KiB whatever the TCP segments are: faster between software peers;
  // hardware may refuse them.
  bool large_fpdus = false;
  std::uint16_t inbound_reads = 128;
  std::uint16_t outbound_reads = 128;
  enum class BaseOffset : std::uint8_t { automatic, whole_buffer, solicited_part };
  BaseOffset base_offset = BaseOffset::automatic;
  enum class Dialect : std::uint8_t { automatic, rfc5046, rfc7145 };
  // Stream-first connections: which RFC's headers. automatic: by the keys the initiator negotiated.
  Dialect dialect = Dialect::automatic;

  friend bool operator==(const Rdma&, const Rdma&) = default;
};

struct Limits {
  std::uint32_t threads = 0;  // 0: one a core
  // Where the threads run, in turn; empty: where the system likes.
  std::vector<unsigned> cpus;
  std::uint32_t busy_poll = 0;  // microseconds a thread looks for work before it sleeps
  std::uint32_t connections = 1024;
  std::uint32_t command_window = 128;
  std::uint64_t session_buffers = std::uint64_t{64}
                                  << 20;  // bytes of data buffers a session may hold
  // Bytes of payload a session has under way each way before another transfer is begun.
  std::uint64_t transfer_window = std::uint64_t{1} << 20;
  std::uint32_t login_timeout = 15;  // seconds
  std::uint32_t nop_interval = 30;   // seconds; 0: never
  std::uint32_t nop_timeout = 30;    // seconds
  std::uint32_t idle_timeout = 0;    // seconds without a command; 0: never
  std::uint32_t drain_timeout = 10;  // seconds at SIGTERM

  friend bool operator==(const Limits&, const Limits&) = default;
};

struct Daemon {
  std::vector<Portal> portals;
  std::vector<Target> targets;
  // Of discovery sessions; those of each target are its own.
  Auth discovery_auth;
  std::vector<Initiator> discovery_initiators;  // names only
  std::vector<Network> discovery_networks;
  Negotiation negotiation;
  Rdma rdma;
  Limits limits;
  enum class Store : std::uint8_t { automatic, io_uring, threads };
  Store store_engine = Store::automatic;
  // Where units keep what outlives the daemon. Empty: nothing does (the program fills in a
  // default).
  std::string state_directory;
  std::string log_level = "info";
};

}  // namespace openiser::config
