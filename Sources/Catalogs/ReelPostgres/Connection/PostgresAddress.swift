import FoundationEssentials

/// Where a server is, and how to connect to it: what `--catalog postgres://…` says, with defaults for the rest.
package struct PostgresAddress: Hashable, Sendable {
  /// Its name in messages, never with a password.
  package let name: String
  /// What libpq is given, by its names. What is missing here it takes from its environment,
  /// its password file and its service file.
  let parameters: [String: String]

  /// Where a password may come from.
  package enum Passwords: Sendable {
    /// Only from libpq's own sources, because everybody on the machine can see the arguments of a process.
    case elsewhere
    /// Also from the address.
    case inAddress
  }

  /// Whether `text` looks like the address of a PostgreSQL server.
  package static func isOne(_ text: String) -> Bool {
    text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
  }

  /// - Parameter environment: returns a variable by its name. Only libpq's variables about connecting are asked for.
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
    // A service may name any host, and only libpq reads it.
    let isLocal = (hosts + addresses).allSatisfy(Self.isThisMachine) && service == nil
    if !isLocal, parameters["sslmode"] == nil, environment("PGSSLMODE") == nil {
      parameters["sslmode"] = "verify-full"
    }
    if hosts.count > 1, parameters["target_session_attrs"] == nil, environment("PGTARGETSESSIONATTRS") == nil
    {
      parameters["target_session_attrs"] = "read-write"
    }
    // A peer that is gone is detected within seconds rather than the system's two hours.
    let defaults = [
      "fallback_application_name": "reel", "keepalives_idle": "20", "keepalives_interval": "5",
      "keepalives_count": "3", "tcp_user_timeout": "30000",
    ]
    parameters.merge(defaults) { given, _ in given }
    parameters["client_encoding"] = "UTF8"
    self.parameters = parameters
    name = Self.name(parameters, hosts, service)
  }

  /// Whether part of a password may be taken for something else: libpq would pass that to the
  /// name resolver, and show it in messages.
  private static func holdsStrayCharacters(_ text: String) -> Bool {
    let place = text.drop { $0 != ":" }.dropFirst("://".count).prefix { $0 != "?" }
    let parts = place.split(separator: "@", omittingEmptySubsequences: false)
    return parts.count > 2 || parts.count == 2 && parts[0].contains("/")
  }

  /// Returns the address of another database on the same server.
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

  /// Whether what is sent to `host` stays on this machine. A path is a folder with a socket.
  private static func isThisMachine(_ host: String) -> Bool {
    host.isEmpty || host.hasPrefix("/") || host.hasPrefix("@") || host == "::1"
      || host.hasPrefix("127.") && host.allSatisfy { $0 == "." || $0.isNumber }
      || host.lowercased() == "localhost"
  }
}
