import Foundation
import ReelPostgres
import ReelTestServers
import ReelTestSupport
import Testing

/// The load that idle workers put on the server, as the server counts it.
@Suite(.besidePostgres, .notQuick, .shortTime) struct IdleWorkerTests {
  @Test func holdTwoConnectionsAndSayNoMoreThanThatTheyLive() async throws {
    let count = TestForm.isLong ? 16 : 3
    let database = try await TestDatabase()
    let bench = try Workbench(reader: .fake)
    // This connection uses another database than the one whose statements are counted.
    let watch = try PostgresConnection(try database.address("postgres"), library: try PostgresLibrary())
    try watch.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
    let store = bench.folder.appendingPathComponent("store").path
    let workers = try (0..<count).map { _ in
      try ReelBinary.start(
        ["work", "--to", store, "--forever", "--quiet", "--catalog", database.url()], in: bench.folder,
        // A heartbeat every five seconds. It also closes idle connections.
        environment: bench.environment.merging(["REEL_LEASE_SECONDS": "15"]) { $1 })
    }
    func connections() throws -> Int? {
      try watch.value(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend'",
        [.text(database.name)], as: Int.self)
    }
    func statements() throws -> [(text: String, calls: Int)] {
      try watch.rows(
        """
        SELECT query, calls FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = $1
        """, [.text(database.name)]
      ) { (try $0[0], try $0[1]) }
    }
    func calls(_ part: String) throws -> Int {
      try statements().filter { $0.text.contains(part) }.reduce(0) { $0 + $1.calls }
    }
    let (beat, look) = (
      "ON CONFLICT (id) DO UPDATE SET lease_until", "WITH RECURSIVE waiting (lane) AS"
    )

    while try calls("LISTEN") < count || connections() != 2 * count {
      try await Task.sleep(for: .milliseconds(100))
    }
    _ = try watch.row(
      "SELECT pg_stat_statements_reset(0, (SELECT oid FROM pg_database WHERE datname = $1), 0)",
      [.text(database.name)]
    ) { _ in true }
    let start = ContinuousClock.now
    while try calls(beat) < 3 * count { try await Task.sleep(for: .milliseconds(100)) }
    let found = try statements()
    let minutes = (ContinuousClock.now - start) / .seconds(60)
    #expect(try connections() == 2 * count)
    for worker in workers { worker.send(SIGTERM) }
    for worker in workers { #expect(try await worker.outcome().status == 130) }

    // Only heartbeats, of one statement each, and a look every 30 to 60 seconds.
    let others = found.filter { !$0.text.contains(beat) && !$0.text.contains(look) }
    #expect(others.isEmpty, "\(others)")
    let looks = found.filter { $0.text.contains(look) }.reduce(0) { $0 + $1.calls }
    #expect(Double(looks) <= Double(count) * (2 * minutes + 1))
    // So 16 workers with the default lease, each with a heartbeat every 40 seconds, send 56 statements a minute.
  }
}
