/// The hosts of an address, to be tried in turn.
struct PostgresHosts {
  /// What replaces the address's own parameters in each turn; fewer than two turns if there is one host.
  let turns: [[String: String]]

  /// - Parameter settings: the parameters of a connection, by libpq's names (libpq, "Specifying Multiple Hosts").
  init(_ settings: [String: String]) {
    func list(_ name: String) -> [String] {
      guard let text = settings[name], !text.isEmpty else { return [] }
      return text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }
    let (names, addresses, ports) = (list("host"), list("hostaddr"), list("port"))
    let count = max(names.count, addresses.count)
    // libpq itself refuses lists that don't match.
    guard count > 1, [0, count].contains(names.count), [0, count].contains(addresses.count),
      [0, 1, count].contains(ports.count)
    else {
      turns = []
      return
    }
    var hosts = (0..<count).map { index in
      var host: [String: String] = [:]
      if !names.isEmpty { host["host"] = names[index] }
      if !addresses.isEmpty { host["hostaddr"] = addresses[index] }
      if let port = ports.count == count ? ports[index] : ports.first { host["port"] = port }
      return host
    }
    if settings["load_balance_hosts"] == "random" { hosts.shuffle() }
    let wanted = settings["target_session_attrs"]
    turns =
      wanted == "prefer-standby"
      ? ["standby", "any"].flatMap { kind in
        hosts.map { $0.merging(["target_session_attrs": kind]) { $1 } }
      } : hosts
  }
}

/// Why a server refused a connection, from libpq's most verbose message. The code is taken out of the text.
struct RefusedConnection {
  /// The last code in it; nil if no server has sent one.
  private(set) var state: String?
  private(set) var text = ""

  /// - Parameter said: such as "… failed: FATAL:  57P03: the database system is starting up", followed by the place in
  ///   the server's source.
  init(_ said: String) {
    for line in said.split(separator: "\n") where !line.hasPrefix("LOCATION:") {
      if !text.isEmpty { text += "\n" }
      text += takingOutCode(line)
    }
    // Messages of libpq itself, which have no code.
    if state == nil, text.contains("session is read-only") || text.contains("server is in hot standby mode") {
      state = PostgresError.takesNoWrites
    }
  }

  private mutating func takingOutCode(_ line: Substring) -> String {
    let parts = line.split(separator: ":  ", maxSplits: 1)
    guard parts.count == 2, parts[1].dropFirst(5).hasPrefix(": "),
      parts[1].prefix(5).allSatisfy({ $0.isASCII && ($0.isUppercase || $0.isNumber) })
    else { return String(line) }
    state = String(parts[1].prefix(5))
    return "\(parts[0]):  \(parts[1].dropFirst(7))"
  }
}

extension PostgresError {
  /// Combines the errors of several hosts, none of which was suitable. One that may pass takes precedence.
  init(ofHosts errors: [PostgresError]) {
    let telling =
      errors.first { $0.state == Self.takesNoWrites } ?? errors.first { $0.isPassing } ?? errors.first {
        $0.isOutage
      }
      ?? errors.last
    self.init(
      .disconnected, state: telling?.state, errors.map(\.message).joined(separator: "; "))
  }
}
