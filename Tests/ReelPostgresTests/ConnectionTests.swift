import Foundation
import ReelPostgres
import ReelTestServers
import Testing

@Suite(.besidePostgres) struct ConnectionTests {
  @Test func valuesComeBackAsTheyWentIn() async throws {
    let db = try await TestDatabase().connect()
    let found = try db.row(
      "SELECT $1 AS b, $2 AS i, $3 AS t, $4 AS y, $5::bigint AS n, 1::int AS four, 1::smallint AS two",
      [.bool(true), .int(.min), .text("Grüße '\u{1F30D}\\"), .bytes([0, 255, 39]), .null]
    ) { row in
      let (bool, int, text): (Bool, Int64, String) = (try row["b"], try row["i"], try row["t"])
      let (bytes, nothing): ([UInt8], Int64?) = (try row["y"], try row["n"])
      let (four, two): (Int, Int) = (try row[5], try row["two"])
      #expect(bool && int == .min && text == "Grüße '\u{1F30D}\\" && bytes == [0, 255, 39] && nothing == nil)
      #expect(four == 1 && two == 1)
      #expect(throws: PostgresError.self) { _ = try row["n"] as Int64 }
      #expect(throws: PostgresError.self) { _ = try row["t"] as Int64 }
      #expect(throws: PostgresError.self) { _ = try row["missing"] as Int64 }
      return true
    }
    #expect(found == true)
  }

  @Test func arraysComeBackAsTheyWentIn() async throws {
    let db = try await TestDatabase().connect()
    let rows = try db.rows(
      """
      SELECT n, i, t, y, b FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::boolean[])
        WITH ORDINALITY AS asked(i, t, y, b, n) ORDER BY n
      """,
      [
        .ints([1, nil, -3]), .texts(["", "{\",\\}", nil]), .byteStrings([[], nil, [0, 1]]),
        .bools([true, false, true]),
      ]
    ) { row in
      (
        try row["i"] as Int64?, try row["t"] as String?, try row["y"] as [UInt8]?, try row["b"] as Bool
      )
    }
    #expect(rows.map(\.0) == [1, nil, -3])
    #expect(rows.map(\.1) == ["", "{\",\\}", nil])
    #expect(rows.map(\.2) == [[], nil, [0, 1]])
    #expect(rows.map(\.3) == [true, false, true])
    #expect(try db.rows("SELECT unnest($1::bigint[])", [.ints([])]) { _ in true }.isEmpty)
  }

  @Test func aTextWithZerosIsNoError() async throws {
    let db = try await TestDatabase().connect()
    let found = try db.row("SELECT $1, $2[1], $3", [.text("a\0b"), .texts(["\0", nil]), .bytes([0, 255])]) {
      (try $0[0] as String, try $0[1] as String, try $0[2] as [UInt8])
    }
    #expect(found?.0 == "a\u{FFFD}b" && found?.1 == "\u{FFFD}" && found?.2 == [0, 255])
  }

  @Test func anAnswerOfManyMegabytesAndAValueOfManyArrive() async throws {
    let db = try await TestDatabase().connect()
    let bytes = [UInt8](repeating: 7, count: 20 << 20)
    #expect(try db.value("SELECT $1", [.bytes(bytes)], as: [UInt8].self) == bytes)
  }

  @Test func whatTheServerRefusesIsToldWithItsCodeAndTheConnectionGoesOn() async throws {
    let db = try await TestDatabase().connect()
    let error = #expect(throws: PostgresError.self) { try db.run("SELECT * FROM nowhere") }
    #expect(error?.state == "42P01" && error?.kind == .refused && error?.isOutage == false)
    #expect(try db.value("SELECT 1::bigint", as: Int64.self) == 1)
    try db.execute("CREATE TABLE t (id bigint CONSTRAINT once PRIMARY KEY)")
    #expect(try db.run("INSERT INTO t SELECT generate_series(1, 3)") == 3)
    let twice = #expect(throws: PostgresError.self) { try db.run("INSERT INTO t VALUES (1)") }
    #expect(twice?.isUniqueViolation == true && twice?.constraint == "once")
  }

  @Test func aStatementThatTakesTooLongEndsTheConnection() async throws {
    let db = try await TestDatabase().connect()
    db.timeout = .milliseconds(50)
    let error = #expect(throws: PostgresError.self) { try db.run("SELECT pg_sleep(60)") }
    #expect(error?.kind == .disconnected && error?.isOutage == true && !db.isUsable)
  }

  @Test func notificationsAreHeard() async throws {
    let database = try await TestDatabase()
    let (listener, speaker) = (try database.connect(), try database.connect())
    try listener.execute("LISTEN work")
    #expect(try listener.notifications(waiting: .zero).isEmpty)
    try speaker.run("SELECT pg_notify('work', $1)", [.text("now")])
    let heard = try listener.notifications(waiting: .seconds(30))
    #expect(heard.map(\.channel) == ["work"] && heard.map(\.said) == ["now"])
  }

  @Test func aLibraryThatIsMissingIsNamed() {
    let error = #expect(throws: PostgresError.self) { try PostgresLibrary(opening: "libnowhere.so.5") }
    #expect(error?.kind == .noLibrary && error?.message.contains("libnowhere.so.5") == true)
  }
}

@Suite(.besidePostgres) struct PoolTests {
  @Test func aTransactionIsCommittedOrLeavesNothing() async throws {
    let pool = try await TestDatabase().pool()
    try pool.transaction { try $0.run("CREATE TABLE public.t (id bigint PRIMARY KEY)") }
    struct Stop: Error {}
    #expect(throws: Stop.self) {
      try pool.transaction { tx in
        try tx.run("INSERT INTO public.t VALUES (1)")
        throw Stop()
      }
    }
    #expect(throws: PostgresError.self) {
      try pool.transaction { tx in
        try tx.run("INSERT INTO public.t VALUES (2)")
        try tx.run("INSERT INTO public.t VALUES (2)")
      }
    }
    try pool.transaction { try $0.run("INSERT INTO public.t VALUES (3)") }
    #expect(try pool.read { try $0.rows("SELECT id FROM public.t") { try $0[0] as Int } } == [3])
  }

  @Test func twoThatLockEachOtherOutBothGetThrough() async throws {
    let pool = try await TestDatabase().pool()
    try pool.transaction { tx in
      try tx.run("CREATE TABLE public.t (id bigint PRIMARY KEY, n bigint)")
      try tx.run("INSERT INTO public.t VALUES (1, 0), (2, 0)")
    }
    await withThrowingTaskGroup { group in
      for order in [[1, 2], [2, 1]] {
        group.addTask {
          try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
              continuation.resume(
                with: Result {
                  for _ in 0..<20 {
                    try pool.transaction { tx in
                      for id in order {
                        try tx.run("UPDATE public.t SET n = n + 1 WHERE id = $1", [.int(Int64(id))])
                        usleep(1000)
                      }
                    }
                  }
                })
            }
          }
        }
      }
    }
    #expect(try pool.read { try $0.rows("SELECT n FROM public.t") { try $0[0] as Int } } == [40, 40])
  }

  @Test func noMoreConnectionsAreMadeThanWereAskedFor() async throws {
    let database = try await TestDatabase()
    let pool = try database.pool { $0.connections = 2 }
    let most = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<8 {
        group.addTask {
          try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
              continuation.resume(
                with: Result {
                  try pool.read { db in
                    try db.run("SELECT pg_sleep(0.01)")
                    return try db.value(
                      """
                      SELECT count(*) FROM pg_stat_activity
                      WHERE datname = current_database() AND backend_type = 'client backend'
                      """)
                      ?? 0
                  }
                })
            }
          }
        }
      }
      return try await group.reduce(0) { max($0, $1) }
    }
    #expect((1...2).contains(most))
  }

  @Test func whatIsNotWaitedForInPlainSightIsSoonDoneOverANewConnection() async throws {
    let database = try await TestDatabase()
    let pool = try database.pool()
    #expect(try pool.read { try $0.value("SELECT 1::bigint", as: Int.self) } == 1)
    try database.connect().run(
      """
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()
      """)
    #expect(try pool.read { try $0.value("SELECT 2::bigint", as: Int.self) } == 2)
  }
}
