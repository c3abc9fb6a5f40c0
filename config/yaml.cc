#include "config/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <numeric>
#include <optional>
#include <sstream>

#include "config/keys.h"

namespace openiser::config {

namespace {

constexpr std::size_t kMaxFile = std::size_t{16} << 20;

Position position_of(const YAML::Mark& mark) {
  return {mark.line + 1, mark.column + 1};
}

// How many letters have to be changed, put in or left out to turn one word into the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

// "; did you mean X?" or what there is to choose from.
std::string hint(std::string_view word, const std::vector<std::string_view>& known) {
  word = word.substr(0, 64);
  const auto closer = [&](std::string_view a, std::string_view b) {
    return distance(word, a) < distance(word, b);
  };
  const std::string_view best = *std::ranges::min_element(known, closer);
  if (distance(word, best) <= std::max<std::size_t>(2, best.size() / 3))
    return "; did you mean " + std::string(best) + "?";
  std::string all = "; write one of ";
  for (const std::string_view name : known) {
    if (name != known.front()) all += ", ";
    all += name;
  }
  return all;
}

// One line, whatever the file has in it.
std::string one_line(std::string text) {
  constexpr std::size_t kLongest = 500;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

// Walks a document along the table.
class Loader {
 public:
  Loader(std::filesystem::path base_dir, std::vector<Fault>& faults)
      : base_dir_(std::move(base_dir)), faults_(faults) {}

  void read_object(const YAML::Node& node, const Object& object, void* into, Position at);

 private:
  void read_shorthand(const YAML::Node& node, const Object& object, void* into, Position at);
  void read_key(const YAML::Node& node, const Key& key, void* into, Position at);
  void read_list(const YAML::Node& node, const Key& key, void* into, Position at);
  void read_scalar(const YAML::Node& node, const Key& key, void* into, Position at);
  Parsed parse(const std::string& text, const Key& key) const;
  void fault(Position at, std::string message) { faults_.push_back({at, std::move(message)}); }

  std::filesystem::path base_dir_;
  std::vector<Fault>& faults_;
};

void Loader::read_object(const YAML::Node& node, const Object& object, void* into, Position at) {
  if (object.locate) object.locate(into, at);
  if (object.shorthand && node.IsScalar()) return read_shorthand(node, object, into, at);
  if (!node.IsMap())
    return fault(at, std::string(object.what) + " is written as keys and values; write \"" +
                         std::string(object.keys.front().name) + ": ...\"");
  const auto known_before = faults_.size();
  Given given;
  for (const auto& entry : node) {
    const Position key_at = position_of(entry.first.Mark());
    // A plain `null` is a word here, not YAML's nothing: it is the name of a store.
    const std::string name = entry.first.IsScalar() ? entry.first.Scalar()
                             : entry.first.IsNull() ? "null"
                                                    : std::string();
    const auto key = std::ranges::find(object.keys, name, &Key::name);
    if (key == object.keys.end()) {
      std::vector<std::string_view> known;
      for (const Key& each : object.keys) known.push_back(each.name);
      fault(key_at, "unknown key \"" + name + "\"" + hint(name, known));
    } else if (!given.emplace(key->name, key_at).second) {
      fault(key_at, name + " stands here twice; remove one of them");
    } else {
      read_key(entry.second, *key, into, key_at);
    }
  }
  for (const Key& key : object.keys)
    if (key.required && !given.contains(key.name))
      fault(at, std::string(key.name) + " is missing; add \"" + std::string(key.name) + ": ...\"");
  // Rules between values make sense only of values that are right.
  if (object.check && faults_.size() == known_before) object.check(into, given, faults_);
}

void Loader::read_shorthand(const YAML::Node& node, const Object& object, void* into, Position at) {
  const auto known_before = faults_.size();
  read_scalar(node, *object.shorthand, into, at);
  if (object.check && faults_.size() == known_before)
    object.check(into, {{object.shorthand->name, at}}, faults_);
}

void Loader::read_key(const YAML::Node& node, const Key& key, void* into, Position at) {
  if (key.kind == Kind::object) {
    // All of it left out; but not what has to be there, such as the users of auth.
    if (node.IsNull() && std::ranges::none_of(key.object->keys, &Key::required)) return;
    return read_object(node, *key.object, key.place(into), at);
  }
  if (key.kind == Kind::list) return read_list(node, key, into, at);
  const Position value_at = position_of(node.Mark());
  read_scalar(node, key, into, node.IsNull() || value_at.line == 0 ? at : value_at);
}

void Loader::read_list(const YAML::Node& node, const Key& key, void* into, Position at) {
  if (!node.IsSequence() || node.size() == 0)
    return fault(at, std::string(key.name) +
                         " is a list of at least one; write each item behind a " +
                         "dash on a line of its own");
  for (const auto& item : node)
    read_object(item, *key.object, key.place(into), position_of(item.Mark()));
}

void Loader::read_scalar(const YAML::Node& node, const Key& key, void* into, Position at) {
  const std::string name(key.name);
  if (!node.IsScalar())
    return fault(at, name + (node.IsNull() ? " has no value" : " takes a single value") +
                         "; write \"" + name + ": ...\"");
  Parsed parsed = parse(node.Scalar(), key);
  if (!parsed.value) return fault(at, name + ": " + parsed.fault);
  const auto number = parsed.value->number;
  const bool bounded =
      key.kind == Kind::count || key.kind == Kind::size || key.kind == Kind::duration;
  if (bounded && (number < key.min || number > key.max))
    return fault(at, name + ": " + node.Scalar() + " is out of range; write " +
                         std::to_string(key.min) + " to " + std::to_string(key.max));
  key.set(into, *parsed.value);
}

Parsed Loader::parse(const std::string& text, const Key& key) const {
  switch (key.kind) {
    case Kind::boolean:
      return parse_boolean(text);
    case Kind::count:
      return parse_count(text);
    case Kind::size:
      return parse_size(text);
    case Kind::duration:
      return parse_duration(text);
    case Kind::portal:
      return parse_portal(text);
    case Kind::iscsi_name:
      return parse_iscsi_name(text);
    case Kind::initiator_name:
      return parse_initiator_name(text);
    case Kind::network:
      return parse_network(text);
    case Kind::processors:
      return parse_processors(text);
    case Kind::choice: {
      const auto found = std::ranges::find(key.choices, text);
      if (found != key.choices.end())
        return {Value{static_cast<std::uint64_t>(found - key.choices.begin()), {}}, {}};
      return {{},
              "\"" + text + "\" is unknown" + hint(text, {key.choices.begin(), key.choices.end()})};
    }
    case Kind::path: {
      Parsed parsed = parse_plain_text(text, key.max);
      if (text.empty()) return {{}, "an empty file name; write the name of a file or block device"};
      if (parsed.value) parsed.value->text = (base_dir_ / text).lexically_normal().string();
      return parsed;
    }
    default:
      return parse_plain_text(text, key.max);
  }
}

// Where the first node of a document is.
class FirstNode final : public YAML::EventHandler {
 public:
  std::optional<YAML::Mark> mark;

  void OnNull(const YAML::Mark& at, YAML::anchor_t) override { see(at); }
  void OnAlias(const YAML::Mark& at, YAML::anchor_t) override { see(at); }
  void OnScalar(const YAML::Mark& at, const std::string&, YAML::anchor_t,
                const std::string&) override {
    see(at);
  }
  void OnSequenceStart(const YAML::Mark& at, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    see(at);
  }
  void OnMapStart(const YAML::Mark& at, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    see(at);
  }
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnSequenceEnd() override {}
  void OnMapEnd() override {}

 private:
  void see(const YAML::Mark& at) {
    if (!mark) mark = at;
  }
};

// Where a second document starts, if one does. Not by YAML::LoadAll: what is no document and no end
// of one either, such as a stray comma, has that go round for ever.
std::optional<YAML::Mark> second_document(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  FirstNode first, second;
  if (!parser.HandleNextDocument(first) || !parser.HandleNextDocument(second)) return {};
  return second.mark;
}

// Reads the document into `loaded`; the parser's own faults become ours.
void read_document(std::string_view text, const std::filesystem::path& base_dir, Loaded& loaded) {
  try {
    const std::string copy(text);
    const YAML::Node document = YAML::Load(copy);
    if (document.IsNull()) {
      loaded.faults.push_back({{1, 1}, "the file is empty; name portals and targets"});
      return;
    }
    if (const auto mark = second_document(copy))
      loaded.faults.push_back({position_of(*mark),
                               "a second document, or what belongs to none; the file is one "
                               "document, so remove the --- or this"});
    Loader(base_dir, loaded.faults).read_object(document, root_object(), &loaded.daemon, {1, 1});
    check_duplicates(loaded.daemon, loaded.faults);
  } catch (const YAML::Exception& e) {
    loaded.faults.push_back({position_of(e.mark),
                             "not YAML: " + e.msg + "; check indentation, quotes and colons here"});
  } catch (const std::exception& e) {
    loaded.faults.push_back({{},
                             std::string("cannot be taken apart: ") + e.what() +
                                 "; make the file smaller and simpler"});
  }
}

}  // namespace

Loaded load_text(std::string_view text, const std::filesystem::path& base_dir) {
  Loaded loaded;
  if (text.size() > kMaxFile) {
    loaded.faults.push_back({{}, "larger than 16 MiB; this is no configuration file"});
    return loaded;
  }
  read_document(text, base_dir, loaded);
  for (Fault& fault : loaded.faults) fault.message = one_line(std::move(fault.message));
  std::ranges::stable_sort(loaded.faults, [](const Fault& a, const Fault& b) {
    return std::pair(a.at.line, a.at.column) < std::pair(b.at.line, b.at.column);
  });
  return loaded;
}

Loaded load_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::vector<char> block(65536);
  errno = 0;
  while (file && text.size() <= kMaxFile) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (!file.is_open() || file.bad() || (errno != 0 && text.empty())) {
    Loaded loaded;
    loaded.faults.push_back({{},
                             std::string("cannot be read: ") +
                                 (errno ? std::strerror(errno) : "input error") +
                                 "; check its name and permissions"});
    return loaded;
  }
  return load_text(text, path.parent_path());
}

std::string describe(const Fault& fault, const std::filesystem::path& path) {
  std::string text = path.string() + ":";
  if (fault.at.line > 0)
    text += std::to_string(fault.at.line) + ":" + std::to_string(fault.at.column) + ":";
  return text + " " + fault.message;
}

}  // namespace openiser::config
