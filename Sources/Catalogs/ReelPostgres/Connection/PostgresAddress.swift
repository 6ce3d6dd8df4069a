import FoundationEssentials

/// Where a server is, and how to connect to it: what `--catalog postgres://…` says, and the defaults for what it
/// doesn't.
package struct PostgresAddress: Hashable, Sendable {
  /// As it is named in messages: never with a password.
  package let name: String
  /// What libpq gets, by its names. What is not here it takes from its environment, its password file and its service
  /// file.
  let parameters: [String: String]

  /// Where a password may come from.
  package enum Passwords: Sendable {
    /// From libpq's own places alone: everybody on the machine sees the arguments of a process.
    case elsewhere
    /// Also from the address.
    case inAddress
  }

  /// Whether `text` is meant for a PostgreSQL server.
  package static func isOne(_ text: String) -> Bool {
    text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
  }

  /// - Parameter environment: a variable of it by its name; only those of libpq's that say how to connect are asked for.
  /// - Throws: ``PostgresError``, which repeats nothing of the address that may be a secret.
  package init(
    _ text: String, passwords: Passwords, library: PostgresLibrary, environment: (String) -> String?
  ) throws {
    guard Self.isOne(text), !Self.holdsStrayCharacters(text), let parts = library.parts(of: text) else {
      throw PostgresError(
        .badAddress,
        "the catalog's address can't be read: it is postgres://USER@HOST/DATABASE; a password with characters such as "
          + "@ : / ? # or % in it has to be percent-encoded (@ is %40, / is %2F)")
    }
    var parameters = Dictionary(parts.map { ($0.name, $0.value) }) { first, _ in first }
    if case .elsewhere = passwords, parameters["password"] != nil || parameters["sslpassword"] != nil {
      throw PostgresError(
        .badAddress,
        "a password on the command line is seen by everybody on this machine: leave it out of the catalog's address, and "
          + "set PGPASSWORD, or write it into ~/.pgpass (a line HOST:PORT:DATABASE:USER:PASSWORD, mode 600)")
    }
    let service = parameters["service"] ?? environment("PGSERVICE")
    let hosts = (parameters["host"] ?? environment("PGHOST")).map(Self.list) ?? []
    let addresses = (parameters["hostaddr"] ?? environment("PGHOSTADDR")).map(Self.list) ?? []
    // A service may name any host, and is read by libpq alone.
    let isLocal = (hosts + addresses).allSatisfy(Self.isThisMachine) && service == nil
    if !isLocal, parameters["sslmode"] == nil, environment("PGSSLMODE") == nil {
      parameters["sslmode"] = "verify-full"
    }
    if hosts.count > 1, parameters["target_session_attrs"] == nil, environment("PGTARGETSESSIONATTRS") == nil
    {
      parameters["target_session_attrs"] = "read-write"
    }
    // A peer that is gone is found out within seconds rather than the system's two hours.
    let defaults = [
      "fallback_application_name": "reel", "keepalives_idle": "20", "keepalives_interval": "5",
      "keepalives_count": "3", "tcp_user_timeout": "30000",
    ]
    parameters.merge(defaults) { given, _ in given }
    parameters["client_encoding"] = "UTF8"
    self.parameters = parameters
    name = Self.name(parameters, hosts, service)
  }

  /// Whether a password may have been taken for something else: libpq would tell it to the resolver of names, and
  /// in messages.
  private static func holdsStrayCharacters(_ text: String) -> Bool {
    let place = text.drop { $0 != ":" }.dropFirst("://".count).prefix { $0 != "?" }
    let parts = place.split(separator: "@", omittingEmptySubsequences: false)
    return parts.count > 2 || parts.count == 2 && parts[0].contains("/")
  }

  /// Another database of the same server.
  package func database(_ database: String) -> PostgresAddress {
    var parameters = parameters
    parameters["dbname"] = database
    let hosts = parameters["host"].map(Self.list) ?? []
    return PostgresAddress(
      name: Self.name(parameters, hosts, parameters["service"]), parameters: parameters)
  }

  private init(name: String, parameters: [String: String]) {
    self.name = name
    self.parameters = parameters
  }

  private static func name(_ parameters: [String: String], _ hosts: [String], _ service: String?) -> String {
    var name = "postgres://"
    if let user = parameters["user"] { name += "\(user)@" }
    if let port = parameters["port"], hosts.count == 1, let host = hosts.first, !host.hasPrefix("/") {
      name += "\(host):\(port)"
    } else {
      name += hosts.joined(separator: ",")
    }
    if let database = parameters["dbname"] { name += "/\(database)" }
    if let service { name += "?service=\(service)" }
    return name
  }

  private static func list(_ text: String) -> [String] {
    text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
  }

  /// Whether what is sent to `host` leaves this machine; a folder holds a socket.
  private static func isThisMachine(_ host: String) -> Bool {
    host.isEmpty || host.hasPrefix("/") || host.hasPrefix("@") || host == "::1"
      || host.hasPrefix("127.") && host.allSatisfy { $0 == "." || $0.isNumber }
      || host.lowercased() == "localhost"
  }
}
