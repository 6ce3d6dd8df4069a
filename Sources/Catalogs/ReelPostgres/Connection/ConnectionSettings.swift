/// What Reel sets on a server's connections, whatever the server, the database or the role says by itself.
///
/// Straight to the server it is set once, for as long as the connection lasts. A pooler (PgBouncer) gives each transaction
/// another of the server's sessions, and whatever is set there others get: behind one it is set for each transaction.
package struct ConnectionSettings: Sendable {
  /// What a connection is for.
  package enum Purpose: Sendable {
    /// What a table, or much of it, is read for, planned by its statistics.
    case reports
    /// The steps of publishing and of the queue, and look-ups on the way: short statements, always the same, each of which
    /// finds a few rows.
    case steps
  }

  private let settings: PostgresPool.Settings

  init(_ settings: PostgresPool.Settings) { self.settings = settings }

  /// What others have created in `public`, or wherever else the role looks by itself, is found by no operator, function or
  /// type without a schema: it would run with this role's rights.
  private static let pins: [(name: String, value: String)] = [
    ("search_path", "'pg_catalog, pg_temp'"), ("standard_conforming_strings", "'on'"),
  ]

  /// ``pins`` for a transaction that is begun by hand.
  static let pinned = "SELECT " + selection(pins, isLocal: "true")

  /// As an expression each, in which nothing without a schema is looked up.
  private func values(_ purpose: Purpose) -> [(name: String, value: String)] {
    func milliseconds(_ time: Duration) -> Int { Int(time / .milliseconds(1)) }
    var values = Self.pins
    // What is locked by a client that is gone, or that is stopped in the middle (SIGSTOP, a suspended machine), is free
    // again long before those who wait for it give up.
    values.append(
      ("idle_in_transaction_session_timeout", "'\(milliseconds(settings.lockTimeout) / 3)'"))
    // Of statements that are transactions by themselves.
    values += [
      ("default_transaction_isolation", "'read committed'"), ("default_transaction_read_only", "'off'"),
    ]
    if purpose == .reports { return values }
    let commits = "pg_catalog.current_setting('synchronous_commit')"
    return values + [
      // The server gives up first, and says so; else a statement that is slow would look like a server that is away.
      ("statement_timeout", "'\(milliseconds(settings.statementTimeout) * 11 / 12)'"),
      ("lock_timeout", "'\(milliseconds(settings.lockTimeout))'"),
      // A server that does not wait for its disk by itself is told to. One that waits for its standbys goes on to.
      (
        "synchronous_commit",
        "CASE WHEN \(commits) OPERATOR(pg_catalog.=) 'off' THEN 'on' ELSE \(commits) END"
      ),
    ] + Self.plans
  }

  /// By index whatever the statistics say, no compiling for a statement of a millisecond, and planned once.
  private static let plans: [(name: String, value: String)] = [
    ("enable_seqscan", "'off'"), ("enable_hashjoin", "'off'"), ("enable_mergejoin", "'off'"),
    ("jit", "'off'"),
    ("plan_cache_mode", "'force_generic_plan'"),
  ]

  private static func selection(_ values: [(name: String, value: String)], isLocal: String) -> String {
    values.map { "pg_catalog.set_config('\($0.name)', \($0.value), \(isLocal))" }
      .joined(separator: ", ")
  }

  /// For the beginning of a transaction.
  func local(_ purpose: Purpose) -> String { "SELECT " + Self.selection(values(purpose), isLocal: "true") }

  /// Sets up a connection that was made just now, and finds out whether it goes straight to the server: a pooler gives each
  /// client a number of its own in place of the server process's. Behind one the settings end with the statement.
  func setUp(_ connection: PostgresConnection, for purpose: Purpose) throws {
    connection.isDirect =
      try connection.value(
        """
        SELECT NOT pooled.is_local, \(Self.selection(values(purpose), isLocal: "pooled.is_local"))
        FROM (SELECT pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.<>) $1 AS is_local) AS pooled
        """, [.int(Int64(connection.serverProcess))], as: Bool.self) == true
    connection.purpose = purpose
  }

  /// Sets up a connection for another purpose.
  func change(to purpose: Purpose) -> String {
    switch purpose {
    case .steps: "SELECT " + Self.selection(values(.steps), isLocal: "false")
    case .reports:
      (Self.plans.map(\.name) + ["statement_timeout", "lock_timeout"]).map { "SET \($0) TO DEFAULT" }
        .joined(separator: "; ")
    }
  }
}
