/// What Reel sets on a server's connections, whatever the defaults of the server, the database and the role.
///
/// On a direct connection it is set once, for as long as the connection lasts. A pooler (PgBouncer)
/// gives each transaction a different server session, whose settings would affect other clients; behind
/// one, it is set for each transaction.
package struct ConnectionSettings: Sendable {
  /// What a connection is for.
  package enum Purpose: Sendable {
    /// For reading a table, or much of it; planned by statistics.
    case reports
    /// For the steps of publishing and of the queue, and their look-ups: short statements, always the same, each of
    /// which finds a few rows.
    case steps
  }

  private let settings: PostgresPool.Settings

  init(_ settings: PostgresPool.Settings) { self.settings = settings }

  /// Makes sure that an operator, function or type without a schema is never one that others have created in `public`,
  /// or wherever else the role looks by default: it would run with this role's rights.
  private static let pins: [(name: String, value: String)] = [
    ("search_path", "'pg_catalog, pg_temp'"), ("standard_conforming_strings", "'on'"),
  ]

  /// A statement that sets ``pins``, for a transaction that is begun by hand.
  static let pinned = "SELECT " + selection(pins, isLocal: "true")

  /// The settings, each an expression that names nothing without a schema.
  private func values(_ purpose: Purpose) -> [(name: String, value: String)] {
    func milliseconds(_ time: Duration) -> Int { Int(time / .milliseconds(1)) }
    var values = Self.pins
    // The locks of a client that is gone, or stopped within a transaction (SIGSTOP, a suspended machine), are released
    // long before those that wait for them give up.
    values.append(
      ("idle_in_transaction_session_timeout", "'\(milliseconds(settings.lockTimeout) / 3)'"))
    // For statements that are transactions by themselves.
    values += [
      ("default_transaction_isolation", "'read committed'"), ("default_transaction_read_only", "'off'"),
    ]
    if purpose == .reports { return values }
    let commits = "pg_catalog.current_setting('synchronous_commit')"
    return values + [
      // The server gives up first, and says so. Otherwise a slow statement would look like a server that is gone.
      ("statement_timeout", "'\(milliseconds(settings.statementTimeout) * 11 / 12)'"),
      ("lock_timeout", "'\(milliseconds(settings.lockTimeout))'"),
      // A server that does not wait for its disk by default is told to. One that waits for its standbys continues to.
      (
        "synchronous_commit",
        "CASE WHEN \(commits) OPERATOR(pg_catalog.=) 'off' THEN 'on' ELSE \(commits) END"
      ),
    ] + Self.plans
  }

  /// Uses indexes whatever the statistics say, does not compile statements that take a millisecond, and plans once.
  private static let plans: [(name: String, value: String)] = [
    ("enable_seqscan", "'off'"), ("enable_hashjoin", "'off'"), ("enable_mergejoin", "'off'"),
    ("jit", "'off'"),
    ("plan_cache_mode", "'force_generic_plan'"),
  ]

  private static func selection(_ values: [(name: String, value: String)], isLocal: String) -> String {
    values.map { "pg_catalog.set_config('\($0.name)', \($0.value), \(isLocal))" }
      .joined(separator: ", ")
  }

  /// Returns a statement for the beginning of a transaction.
  func local(_ purpose: Purpose) -> String { "SELECT " + Self.selection(values(purpose), isLocal: "true") }

  /// Sets up a new connection, and finds out whether it is direct: a pooler gives each client a number of its own in
  /// place of the server process's. Behind a pooler, the settings end with the statement.
  func setUp(_ connection: PostgresConnection, for purpose: Purpose) throws {
    connection.isDirect =
      try connection.value(
        """
        SELECT NOT pooled.is_local, \(Self.selection(values(purpose), isLocal: "pooled.is_local"))
        FROM (SELECT pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.<>) $1 AS is_local) AS pooled
        """, [.int(Int64(connection.serverProcess))], as: Bool.self) == true
    connection.purpose = purpose
  }

  /// Returns statements that set up a direct connection for another purpose.
  func change(to purpose: Purpose) -> String {
    switch purpose {
    case .steps: "SELECT " + Self.selection(values(.steps), isLocal: "false")
    case .reports:
      (Self.plans.map(\.name) + ["statement_timeout", "lock_timeout"]).map { "SET \($0) TO DEFAULT" }
        .joined(separator: "; ")
    }
  }
}
