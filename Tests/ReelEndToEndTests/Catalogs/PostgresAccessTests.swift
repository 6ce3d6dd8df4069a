import Foundation
import ReelHTTPFakes
import ReelPostgres
import ReelTestServers
import ReelTestSupport
import Testing

/// Authentication with certificates and passwords.
@Suite(
  .besidePostgres, .notQuick,
  .needsOpenSSL)
struct PostgresAccessTests {
  /// Runs a shell command as the server's user, in its data folder. The command reads the row first, because the server
  /// sometimes fails to write to one that exits sooner.
  private func onServer(_ command: String, _ database: TestDatabase) throws {
    let command = "cat > /dev/null; \(command)"
    try database.connect().execute("COPY (SELECT 1) TO PROGRAM '\(command.replacing("'", with: "''"))'")
  }

  private func put(_ file: String, as name: String, _ database: TestDatabase) throws {
    let text = try Data(contentsOf: URL(fileURLWithPath: file)).base64EncodedString()
    try onServer("umask 077; rm -f \(name); echo \(text) | base64 -d > \(name)", database)
  }

  private func status(
    _ address: String, _ environment: [String: String] = [:], in bench: Workbench
  ) async throws -> ReelBinary.Outcome {
    try await ReelBinary.run(
      ["status", "--catalog", address], in: bench.folder,
      environment: environment.merging(["HOME": bench.folder.path]) { given, _ in given })
  }

  @Test func aServerOnAnotherMachineHasToProveItsName() async throws {
    let (bench, authority, stranger) = (
      try Workbench(), try await TestAuthority(for: "db.example"), try await TestAuthority(for: "db.example")
    )
    let server = try await PostgresServer.start()
    let database = try await TestDatabase(on: server)
    // A name with an address: to the client the server is another machine, although it runs on this one.
    func address(_ host: String, _ more: String = "") -> String {
      "postgres://postgres@\(host):\(server.port)/\(database.name)?hostaddr=127.0.0.1\(more)"
    }
    let trusted = "&sslrootcert=\(authority.certificate)"

    let plain = try await status(address("db.example", trusted), in: bench)
    #expect(plain.status == 1 && plain.errors.contains("does not support TLS"), "\(plain)")

    try put(authority.key, as: "server.key", database)
    try put(authority.shown, as: "server.crt", database)
    try database.connect().execute("ALTER SYSTEM SET ssl = on")
    try database.connect().run("SELECT pg_reload_conf()")
    while try database.connect().value("SHOW ssl", as: String.self) != "on" {
      try await Task.sleep(for: .milliseconds(10))
    }
    let good = try await status(address("db.example", trusted), in: bench)
    #expect(wasLetIn(good), "\(good)")
    let byVariable = try await status(
      address("db.example"), ["PGSSLROOTCERT": authority.certificate], in: bench)
    #expect(wasLetIn(byVariable), "\(byVariable)")

    for (sort, address) in [
      ("another name", address("other.example", trusted)),
      ("another authority", address("db.example", "&sslrootcert=\(stranger.certificate)")),
      ("no authority", address("db.example")),
    ] {
      let run = try await status(address, in: bench)
      #expect(run.status == 1 && run.errors.contains("could not be authenticated"), "\(sort): \(run)")
      #expect(run.errors.contains("sslrootcert"), "\(sort): \(run)")
      #expect(run.errors.split(separator: "\n").count == 1, "\(sort): \(run)")
    }
    // A weaker mode can be requested explicitly.
    let weaker = try await status(address("other.example", "&sslmode=require"), in: bench)
    #expect(wasLetIn(weaker), "\(weaker)")
    await server.stop()
  }

  /// Whether the database was reached. It has no catalog yet.
  private func wasLetIn(_ run: ReelBinary.Outcome) -> Bool { run.errors.contains("there is no catalog in") }

  @Test func aPasswordIsReadFromItsFileAndToldNobody() async throws {
    let bench = try Workbench(reader: .fake)
    try bench.addDistinct(2)
    let server = try await PostgresServer.start()
    let database = try await TestDatabase(on: server)
    let secret = "sesame-4711"
    try database.connect().execute(
      "CREATE ROLE guarded LOGIN PASSWORD '\(secret)'; GRANT CREATE ON DATABASE \(database.name) TO guarded")
    try onServer(
      "{ echo host all guarded 127.0.0.1/32 scram-sha-256; cat pg_hba.conf; } > hba && cat hba > pg_hba.conf",
      database)
    try database.connect().run("SELECT pg_reload_conf()")
    let address = "postgres://guarded@127.0.0.1:\(server.port)/\(database.name)"
    let file = bench.folder.appendingPathComponent("passwords")
    func write(_ password: String, mode: Int = 0o600) throws {
      try Data("127.0.0.1:\(server.port):*:guarded:\(password)\n".utf8).write(to: file)
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
    }
    var without = try await status(address, in: bench)
    while wasLetIn(without) { without = try await status(address, in: bench) }
    #expect(without.status == 1 && without.errors.contains("~/.pgpass"), "\(without)")
    try write("wrong")
    let wrong = try await status(address, ["PGPASSFILE": file.path], in: bench)
    #expect(wrong.status == 1 && wrong.errors.contains("refused the login"), "\(wrong)")
    try write(secret, mode: 0o644)
    let open = try await status(address, ["PGPASSFILE": file.path], in: bench)
    #expect(open.status == 1, "\(open)")
    try write(secret)
    let right = try await status(address, ["PGPASSFILE": file.path], in: bench)
    #expect(wasLetIn(right), "\(right)")
    let store = bench.folder.appendingPathComponent("store").path
    let run = try ReelBinary.start(
      ["ingest", bench.clips.path, "--to", store, "--catalog", address, "--log-level", "debug", "--json"],
      in: bench.folder,
      environment: bench.environment.merging([
        "PGPASSFILE": file.path, "REEL_FAILPOINT": "uploadBegun=stop",
      ]) { $1 })
    try await run.untilStopped()
    let arguments = try Data(
      contentsOf: URL(fileURLWithPath: "/proc/\(run.process.processIdentifier)/cmdline"))
    #expect(!String(decoding: arguments, as: UTF8.self).contains(secret))
    run.send(SIGCONT)
    let ended = try await run.outcome()
    #expect(ended.status == 0, "\(ended)")
    for told in [without, wrong, open, right, ended] {
      #expect(!(told.output + told.errors).contains(secret))
      #expect(!(told.output + told.errors).contains("wrong:"))
    }
    await server.stop()
  }

  @Test func anOutageThatDoesNotPassEndsTheRunWithOneSentence() async throws {
    let bench = try Workbench(reader: .fake)
    try bench.addDistinct(40)
    let server = try await PostgresServer.start()
    let database = try await TestDatabase(on: server)
    let store = bench.folder.appendingPathComponent("store").path
    let run = try ReelBinary.start(
      ["ingest", bench.clips.path, "--to", store, "--catalog", database.url(), "--jobs", "4"],
      in: bench.folder,
      environment: bench.environment.merging([
        "REEL_FAILPOINT": "uploadBegun=stop", "REEL_PATIENCE_SECONDS": "3",
      ]) { $1 })
    try await run.untilStopped()
    try await server.kill()
    run.send(SIGCONT)
    let outcome = try await run.outcome()
    #expect(outcome.status == 1, "\(outcome)")
    let lines = outcome.errors.split(separator: "\n")
    #expect(lines.count { $0.contains("waiting up to") } == 1, "\(outcome.errors)")
    #expect(lines.contains { $0.contains("gave up after waiting for") }, "\(outcome.errors)")
    await server.stop()
  }

  @Test func aSignalDuringAnOutageEndsTheRunSoon() async throws {
    let bench = try Workbench(reader: .fake)
    try bench.addDistinct(8)
    let server = try await PostgresServer.start()
    let database = try await TestDatabase(on: server)
    let store = bench.folder.appendingPathComponent("store").path
    let arguments = ["ingest", bench.clips.path, "--to", store, "--catalog", database.url()]
    let run = try ReelBinary.start(
      arguments, in: bench.folder,
      environment: bench.environment.merging([
        "REEL_FAILPOINT": "uploadBegun=stop", "REEL_PATIENCE_SECONDS": "3600",
      ]) { $1 })
    try await run.untilStopped()
    try await server.stall()
    run.send(SIGINT)
    run.send(SIGCONT)
    // It ends within the test's time limit, long before it would give up waiting for the server.
    let outcome = try await run.outcome()
    #expect(outcome.status == 130, "\(outcome)")
    try await server.wake()
    // Nothing is lost: the intents are resumed once their owner's lease has ended.
    try database.connect().execute("UPDATE reel.owner SET lease_until = 0")
    let again = try await ReelBinary.run(arguments, in: bench.folder, environment: bench.environment)
    #expect(again.status == 0, "\(again)")
    #expect(try database.connect().value("SELECT count(*) FROM reel.post", as: Int.self) == 8)
    await server.stop()
  }
}
