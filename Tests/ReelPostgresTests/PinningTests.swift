import Foundation
import ReelCore
import ReelTestServers
import Testing

@testable import ReelPostgres

/// The settings that hold at the beginning of every transaction, whatever the defaults of the server, the database or
/// the role are.
@Suite(.besidePostgres) struct PinningTests {
  /// PostgreSQL has no operators of its own for these pairs of types, so `public` may define them.
  private static let trap = """
    CREATE TABLE public.caught (what text);
    CREATE FUNCTION public.caught(a numeric, b integer) RETURNS numeric LANGUAGE plpgsql AS
      $$ BEGIN INSERT INTO public.caught VALUES ('*'); RETURN pg_catalog.numeric_mul(a, b); END $$;
    CREATE OPERATOR public.* (LEFTARG = numeric, RIGHTARG = integer, FUNCTION = public.caught);
    CREATE FUNCTION public.unnest(a bigint[]) RETURNS SETOF bigint LANGUAGE plpgsql AS
      $$ BEGIN INSERT INTO public.caught VALUES ('unnest'); RETURN QUERY SELECT pg_catalog.unnest(a); END $$;
    CREATE FUNCTION public.caught(a text, b bigint) RETURNS text LANGUAGE plpgsql AS
      $$ BEGIN INSERT INTO public.caught VALUES ('||'); RETURN a OPERATOR(pg_catalog.||) b; END $$;
    CREATE OPERATOR public.|| (LEFTARG = text, RIGHTARG = bigint, FUNCTION = public.caught);
    CREATE FUNCTION public.sha256(a bytea) RETURNS bytea LANGUAGE plpgsql AS
      $$ BEGIN INSERT INTO public.caught VALUES ('sha256'); RETURN pg_catalog.sha256(a); END $$;
    """

  @Test func whatOthersHaveCreatedInPublicIsNotRun() async throws {
    let database = try await TestDatabase()
    let db = try database.connect()
    try db.execute(Self.trap)
    try db.execute("ALTER DATABASE \(database.name) SET search_path = public, pg_catalog, reel")
    // The trap works on a connection that is not pinned.
    let unpinned = try database.connect()
    _ = try unpinned.rows("SELECT 1::numeric * 1000") { _ in true }
    func caught() throws -> Int? { try db.value("SELECT count(*) FROM public.caught", as: Int.self) }
    try #require(try caught() == 1)

    let pool = try database.pool()
    let catalog = try await PostgresCatalog.open(pool)
    let queue = try WorkQueue(pool)
    _ = try queue.enqueue([NewItem(address: SourcePath("/a"), version: "1", size: 1)])
    let worker = try QueueWorker(queue, host: "host", destination: "file:///media")
    try worker.finish(try worker.take(upTo: 1).map { ItemOutcome($0.id, .done) })
    try worker.freeWhatIsDue()
    _ = try WorkQueue.status(pool)
    _ = try await catalog.status()
    _ = try await catalog.owners()
    #expect(try await catalog.damage().isEmpty)
    try await catalog.releaseWhatTheDeadHold()
    try worker.retire()
    try await catalog.close()
    #expect(try caught() == 1)
  }

  private static func path(_ db: PostgresConnection) throws -> String? {
    try db.value("SELECT pg_catalog.current_setting('search_path')", as: String.self)
  }

  private static let unpinned = "public, pg_catalog, reel"

  private func checkIsPinned(_ pool: PostgresPool) throws {
    // The settings hold whatever the connection was used for before.
    for purpose in [ConnectionSettings.Purpose.steps, .reports, .steps] {
      #expect(try pool.read(for: purpose, Self.path) == "pg_catalog, pg_temp")
      #expect(try pool.transaction { try Self.path($0.connection) } == "pg_catalog, pg_temp")
      let alone = try pool.transaction(ofOneStatement: true) { try Self.path($0.connection) }
      #expect(alone == "pg_catalog, pg_temp")
    }
  }

  @Test func everyTransactionAndEveryReadIsPinned() async throws {
    let database = try await TestDatabase()
    try database.connect().execute(
      "ALTER DATABASE \(database.name) SET search_path = \(Self.unpinned)")
    let pool = try database.pool()
    try checkIsPinned(pool)
    // The session is not shared.
    #expect(try pool.withConnection(Self.path) == "pg_catalog, pg_temp")
    #expect(try pool.connect().isDirect)
  }

  @Test(.enabled(if: PostgresServer.hasBouncer, PostgresServer.bouncerAbsence))
  func behindAPoolerAllIsSetForATransactionAlone() async throws {
    let database = try await TestDatabase()
    try database.connect().execute(
      "ALTER DATABASE \(database.name) SET search_path = \(Self.unpinned)")
    let bouncer = try await database.server.startBouncer()
    let pool = try database.pool(port: bouncer.port)
    try checkIsPinned(pool)
    for _ in 0..<5 {
      try pool.transaction { tx in
        let names = ["enable_seqscan", "lock_timeout", "plan_cache_mode", "synchronous_commit"]
        let settings = try names.map { name in
          try tx.value("SELECT current_setting($1)", [.text(name)], as: String.self)
        }
        #expect(settings == ["off", "30s", "force_generic_plan", "on"])
      }
    }
    // Other clients get the server's sessions unchanged: nothing is set, and no prepared statements remain.
    for _ in 0..<5 {
      try pool.withConnection { db in
        let (path, plans) = (
          try Self.path(db),
          try db.value("SELECT pg_catalog.current_setting('enable_seqscan')", as: String.self)
        )
        let known: Int? = try db.value("SELECT pg_catalog.count(*) FROM pg_catalog.pg_prepared_statements")
        #expect(!db.isDirect && path == Self.unpinned && plans == "on" && known == 0)
      }
    }
    withExtendedLifetime(bouncer) {}
  }

  @Test func whatIsOneStatementIsATransactionLikeAnyOther() async throws {
    let database = try await TestDatabase()
    try database.connect().execute(
      """
      ALTER DATABASE \(database.name) SET default_transaction_read_only = on;
      ALTER DATABASE \(database.name) SET default_transaction_isolation = 'serializable'
      """)
    let unpinned: String? = try database.connect().value(
      "SELECT current_setting('transaction_isolation') || current_setting('transaction_read_only')")
    try #require(unpinned == "serializableon")
    let pool = try database.pool()
    try pool.transaction { try $0.run("CREATE TABLE public.t (id bigint PRIMARY KEY)") }
    var attempts = 0
    let isolation: String? = try pool.transaction(ofOneStatement: true) { tx in
      attempts += 1
      return try tx.value(
        "INSERT INTO public.t VALUES (1) RETURNING current_setting('transaction_isolation')")
    }
    #expect(isolation == "read committed" && attempts == 1)
  }

  @Test func whatIsOneStatementIsNoMore() async throws {
    let pool = try await TestDatabase().pool()
    try pool.transaction { try $0.run("CREATE TABLE public.t (id bigint PRIMARY KEY)") }
    let error = #expect(throws: PostgresError.self) {
      try pool.transaction(ofOneStatement: true) { tx in
        try tx.run("INSERT INTO public.t VALUES (1)")
        try tx.run("INSERT INTO public.t VALUES (2)")
      }
    }
    #expect(error?.kind == .unexpected)
    #expect(try pool.transaction(ofOneStatement: true) { try $0.run("INSERT INTO public.t VALUES (3)") } == 1)
  }

  @Test func aStatementThatComesAgainIsPlannedOnceAndGoesOnWhereTablesChange() async throws {
    let pool = try await TestDatabase().pool { $0.connections = 1 }
    try pool.transaction { try $0.run("CREATE TABLE public.t (id bigint PRIMARY KEY)") }
    func add(_ id: Int64) throws {
      #expect(
        try pool.transaction(ofOneStatement: true) {
          try $0.run("INSERT INTO public.t (id) VALUES ($1)", [.int(id)])
        } == 1)
    }
    func known() throws -> Int? {
      try pool.read(for: .steps) { db in
        try db.value(
          "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'INSERT%'", as: Int.self)
      }
    }
    try add(1)
    #expect(try known() == 0)
    for id in 2...5 { try add(Int64(id)) }
    #expect(try known() == 1)
    // An update of Reel does this, and so does a transaction that is rolled back.
    try pool.transaction { try $0.run("ALTER TABLE public.t ADD COLUMN more text") }
    try add(6)
    #expect(throws: PostgresError.self) {
      try pool.transaction { tx in
        try tx.run("INSERT INTO public.t (id) VALUES ($1)", [.int(7)])
        try tx.run("INSERT INTO public.t (id) VALUES ($1)", [.int(1)])
      }
    }
    try add(7)
    #expect(try pool.read { try $0.value("SELECT count(*) FROM public.t", as: Int.self) } == 7)
  }

  @Test func whatIsCommittedIsOnDiskOverEveryConnection() async throws {
    let database = try await TestDatabase()
    let pool = try database.pool()
    func commits() throws -> String? {
      try pool.transaction { tx in
        try tx.value("SELECT current_setting('synchronous_commit')", as: String.self)
      }
    }
    #expect(try commits() == "on")
    for (given, expected) in [("off", "on"), ("remote_apply", "remote_apply"), ("off", "on")] {
      try database.connect().execute("ALTER DATABASE \(database.name) SET synchronous_commit = '\(given)'")
      // A connection opened earlier keeps its setting; one opened afterwards has the new one.
      let beside = try pool.transaction { _ in try commits() }
      #expect(beside == expected)
      pool.forgetIdle()
    }
  }

  @Test func aPatienceWithoutEndIsNone() async throws {
    let database = try await TestDatabase()
    for seconds in ["9223372036854775807", "2147483647", "-1", "0"] {
      let address = try PostgresAddress(
        database.url() + "?connect_timeout=\(seconds)", passwords: .elsewhere, library: try PostgresLibrary(),
        environment: { _ in nil })
      let db = try? PostgresConnection(address, library: try PostgresLibrary())
      #expect(try db.map { try $0.value("SELECT 1", as: Int.self) } ?? 1 == 1)
    }
  }

  @Test func aPlaceThatWasNotAskedForIsAnError() async throws {
    let db = try await TestDatabase().connect()
    for place in [0, -1, 4, Int64.max, .min] {
      #expect(throws: PostgresError.self) {
        _ = try db.rows("SELECT $1::bigint", [.int(place)]) { try $0.place(in: 3) }
      }
    }
    #expect(try db.rows("SELECT 3::bigint") { try $0.place(in: 3) } == [2])
  }
}
