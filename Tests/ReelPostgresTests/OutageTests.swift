import Foundation
import Glibc
import ReelCore
import ReelTestServers
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelPostgres

/// An unreachable server, as a process sees it.
@Suite(.besidePostgres) struct OutageTests {
  /// Collects the messages about waiting.
  private final class Said: Sendable {
    private let sentences = Mutex<[String]>([])
    var all: [String] { sentences.withLock { $0 } }
    func note(_ sentence: String) { sentences.withLock { $0.append(sentence) } }
  }

  private func cutOff(_ database: TestDatabase) throws {
    try database.connect().run(
      """
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()
      """)
  }

  @Test func isWaitedForOnceByAllAndSaidOnce() async throws {
    let database = try await TestDatabase()
    let proxy = try CuttingProxy(to: database.server.port)
    let said = Said()
    let pool = try database.pool(port: proxy.port) {
      ($0.patience, $0.silence) = (.seconds(5), .zero)
      $0.onWait = { said.note($0) }
    }
    let other = pool.beside(connections: 1)
    for pool in [pool, other] {
      #expect(try pool.read { try $0.value("SELECT 1::bigint", as: Int.self) } == 1)
    }
    proxy.refuse(true)
    try cutOff(database)
    var error = #expect(throws: PostgresError.self) { try pool.transaction { try $0.run("SELECT 1") } }
    #expect(error?.isOutage == true)
    let tries = proxy.refused
    #expect(tries >= 2)
    for pool in [pool, other, pool] {
      error = #expect(throws: PostgresError.self) { try pool.read { try $0.run("SELECT 1") } }
      #expect(error?.isOutage == true)
    }
    // Each tried once and did not wait again. The first try of one of them was on its existing connection.
    #expect(proxy.refused <= tries + 3)
    #expect(said.all.count == 1 && said.all.first?.contains(pool.address.name) == true, "\(said.all)")
  }

  @Test(.shortTime) func isOverWhenTheServerIsThereAgain() async throws {
    let database = try await TestDatabase()
    let proxy = try CuttingProxy(to: database.server.port)
    let pool = try database.pool(port: proxy.port) { $0.patience = .milliseconds(20) }
    #expect(try pool.read { try $0.value("SELECT 1::bigint", as: Int.self) } == 1)
    proxy.refuse(true)
    try cutOff(database)
    #expect(throws: PostgresError.self) { try pool.read { try $0.run("SELECT 1") } }
    proxy.refuse(false)
    // Where a refusal took long, the server is not asked again at once.
    #expect(try await eventually { (try? pool.read { try $0.value("SELECT 2::bigint", as: Int.self) }) == 2 })
  }

  @Test(.shortTime) func aSignOfLifeDoesNotWaitForThoseThatPublish() async throws {
    let pool = try await TestDatabase().pool { $0.connections = 1 }
    try PostgresSchema.prepare(pool)
    let owner = try PostgresOwner(pool, name: "name", host: "host", lease: .seconds(60))
    try pool.transaction { tx in
      try owner.renew()
      try tx.run("SELECT 1")
    }
  }

  @Test func whoIsInHasteStillFinishesWhatTheServerAnswers() async throws {
    let database = try await TestDatabase()
    func hasty(_ patience: Duration) throws -> PostgresPool {
      let pool = try database.pool { $0.haste = patience }
      try pool.read { _ = try $0.run("SELECT 1") }
      pool.makeHaste()
      return pool
    }
    let patient = try hasty(.seconds(600))
    for _ in 0..<10 { _ = try patient.read { try $0.run("SELECT pg_sleep(0.05)") } }
    let impatient = try hasty(.milliseconds(400))
    #expect(throws: PostgresError.self) { try impatient.read { try $0.run("SELECT pg_sleep(60)") } }
  }

  /// Together, waits may take longer than any single one may.
  @Test func hasteCountsAnewForEachWait() {
    let haste = Haste()
    haste.begin(patience: .milliseconds(400))
    for start in [ContinuousClock.now + .seconds(1), .now + .seconds(5)] {
      #expect(haste.limit(start + .seconds(60), since: start).limit == start + .milliseconds(400))
      #expect(haste.limit(start + .milliseconds(10), since: start).limit == start + .milliseconds(10))
    }
  }

  // MARK: Reachable servers

  @Test func aServerWithoutAFreeConnectionIsWaitedForAndToldWell() async throws {
    let database = try await TestDatabase()
    try database.connect().execute("CREATE ROLE few_\(database.name) LOGIN CONNECTION LIMIT 1")
    let library = try PostgresLibrary()
    let address = try PostgresAddress(
      database.url().replacing("postgres@", with: "few_\(database.name)@"), passwords: .elsewhere,
      library: library, environment: { _ in nil })
    let holder = Mutex<PostgresConnection?>(try PostgresConnection(address, library: library))
    var settings = PostgresPool.Settings()
    settings.patience = .milliseconds(50)
    let impatient = PostgresPool(address, library: library, settings: settings)
    let error = #expect(throws: CatalogError.self) { _ = try WorkQueue.existing(impatient) }
    #expect(error?.message.contains("no connection left") == true, "\(String(describing: error))")
    // It gets a connection as soon as one is free, although it has never had one.
    (settings.patience, settings.silence) = (.seconds(60), .zero)
    settings.onWait = { _ in holder.withLock { $0 = nil } }
    let patient = PostgresPool(address, library: library, settings: settings)
    #expect(try patient.read { try $0.value("SELECT 1::bigint", as: Int.self) } == 1)
  }

  @Test func eachOfSeveralHostsGetsItsTurn() async throws {
    let database = try await TestDatabase()
    // This socket accepts connections, but never answers.
    let silent = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(silent) }
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    place.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &place) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(silent, $0, length) == 0 && listen(silent, 16) == 0 && getsockname(silent, $0, &length) == 0
      }
    }
    try #require(isListening)
    let first = "127.0.0.1:\(UInt16(bigEndian: place.sin_port))"
    let library = try PostgresLibrary()
    for more in ["", "?target_session_attrs=any", "?target_session_attrs=prefer-standby"] {
      let url = "postgres://postgres@\(first),127.0.0.1:\(database.server.port)/\(database.name)\(more)"
      let address = try PostgresAddress(
        url, passwords: .elsewhere, library: library, environment: { _ in nil })
      // The time is also that of the server that does answer, which a busy machine may exceed.
      var found: Int?
      for seconds in [0.2, 5, 60] where found == nil {
        found = try? PostgresConnection(address, library: library, connectTimeout: .seconds(seconds))
          .value("SELECT 1::bigint", as: Int.self)
      }
      #expect(found == 1)
    }
    let both = try PostgresAddress(
      "postgres://postgres@\(first),127.0.0.1:1/d", passwords: .elsewhere, library: library,
      environment: { _ in nil })
    let error = #expect(throws: PostgresError.self) {
      _ = try PostgresConnection(both, library: library, connectTimeout: .milliseconds(50))
    }
    #expect(error?.message.contains("did not answer") == true && error?.message.contains("refused") == true)
  }

  @Test func aServerThatAllowsOnlyReadingIsTold() async throws {
    let database = try await TestDatabase()
    try database.connect().execute("ALTER DATABASE \(database.name) SET default_transaction_read_only = on")
    let library = try PostgresLibrary()
    let host = "127.0.0.1:\(database.server.port)"
    let address = try PostgresAddress(
      "postgres://postgres@\(host),\(host)/\(database.name)", passwords: .elsewhere, library: library,
      environment: { _ in nil })
    let error = #expect(throws: CatalogError.self) {
      _ = try WorkQueue(PostgresPool(address, library: library))
    }
    #expect(error?.message.contains("does not accept writes") == true, "\(String(describing: error))")
  }
}

struct PostgresHostsTests {
  @Test func areTakenApartAsLibpqMeansThem() {
    func turns(_ settings: [String: String]) -> [[String: String]] { PostgresHosts(settings).turns }
    #expect(turns(["host": "a", "port": "1"]).isEmpty)
    #expect(turns(["host": "a,b"]) == [["host": "a"], ["host": "b"]])
    #expect(
      turns(["host": "a,b", "port": "7"]) == [["host": "a", "port": "7"], ["host": "b", "port": "7"]])
    #expect(
      turns(["host": "a,b", "hostaddr": "10.0.0.1,10.0.0.2", "port": "1,2"]) == [
        ["host": "a", "hostaddr": "10.0.0.1", "port": "1"],
        ["host": "b", "hostaddr": "10.0.0.2", "port": "2"],
      ])
    #expect(
      turns(["hostaddr": "10.0.0.1,10.0.0.2"]) == [["hostaddr": "10.0.0.1"], ["hostaddr": "10.0.0.2"]])
    // Such a combination is left to libpq.
    #expect(turns(["host": "a,b,c", "hostaddr": "10.0.0.1,10.0.0.2"]).isEmpty)
    #expect(
      turns(["host": "a,b", "target_session_attrs": "prefer-standby"]).compactMap {
        $0["target_session_attrs"]
      } == ["standby", "standby", "any", "any"])
  }

  @Test func theCodeOfARefusalIsTakenOutOfItsSentence() {
    let refused = RefusedConnection(
      """
      connection to server at "::1", port 5432 failed: FATAL:  57P03: the database system is starting up
      LOCATION:  ProcessStartupPacket, postmaster.c:2420
      """)
    #expect(refused.state == "57P03")
    #expect(
      refused.text
        == #"connection to server at "::1", port 5432 failed: FATAL:  the database system is starting up"#)
    let silent = RefusedConnection("connection to server failed: Connection refused:  what: now")
    #expect(
      silent.state == nil && silent.text == "connection to server failed: Connection refused:  what: now")
    #expect(RefusedConnection("server at a failed: session is read-only").state == "25006")
  }
}
