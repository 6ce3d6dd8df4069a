import Foundation
import ReelCore
import ReelTestServers
import Testing

@testable import ReelLibrary

/// The contract of ``UploadCheckpoints``, checked for every implementation.
@Suite struct CheckpointTests {
  enum Kind: String, CaseIterable, Sendable {
    case memory, sqlite, postgres

    /// The kinds available here. The catalog's contract tests report a missing server.
    static var installed: [Kind] { allCases.filter { $0 != .postgres || PostgresServer.isInstalled } }
  }

  /// Checkpoints, and a way to open them as another process would.
  struct Stage: Sendable {
    let checkpoints: any UploadCheckpoints
    let another: @Sendable () async throws -> any UploadCheckpoints

    init(_ kind: Kind) async throws {
      switch kind {
      case .memory:
        let memory = MemoryCheckpoints()
        checkpoints = memory
        another = { memory }
      case .sqlite:
        let stage = try await SQLiteStage()
        checkpoints = try await stage.openSQLite()
        another = { try await stage.openSQLite() }
      case .postgres:
        let stage = try await PostgresStage()
        checkpoints = try await stage.openPostgres()
        another = { try await stage.openPostgres() }
      }
    }
  }

  private let here = Destination("tus+https://here.example/files")
  private let there = Destination("tus+https://there.example/files")
  private let sketch = Sketch()

  private func checkpoint(_ secret: String) throws -> UploadCheckpoint {
    try #require(UploadCheckpoint(secret, of: sketch.digest()))
  }

  private func key(_ name: String) throws -> ObjectKey { try #require(ObjectKey(name)) }

  @Test(arguments: Kind.installed) func whatIsKeptIsThereForEverybodyUntilItIsForgotten(_ kind: Kind)
    async throws
  {
    let stage = try await Stage(kind)
    let (key, first) = (try key("a.mp4"), try checkpoint("https://here.example/files/24e533e?x=é"))
    #expect(try await stage.checkpoints.checkpoint(of: key, in: here) == nil)
    try await stage.checkpoints.keep(first, of: key, in: here)
    let another = try await stage.another()
    #expect(try await another.checkpoint(of: key, in: here) == first)
    try await another.forget(first, of: key, in: here)
    #expect(try await stage.checkpoints.checkpoint(of: key, in: here) == nil)
    // Forgetting a checkpoint that does not exist is not an error.
    try await stage.checkpoints.forget(first, of: key, in: here)
  }

  @Test(arguments: Kind.installed) func eachObjectInEachDestinationHasItsOwn(_ kind: Kind) async throws {
    let stage = try await Stage(kind)
    let (one, two) = (try key("a.mp4"), try key("A.mp4"))
    let first = try checkpoint("first")
    try await stage.checkpoints.keep(first, of: one, in: here)
    #expect(try await stage.checkpoints.checkpoint(of: two, in: here) == nil)
    #expect(try await stage.checkpoints.checkpoint(of: one, in: there) == nil)
    let second = try checkpoint("second")
    try await stage.checkpoints.keep(second, of: one, in: there)
    try await stage.checkpoints.forget(second, of: one, in: there)
    #expect(try await stage.checkpoints.checkpoint(of: one, in: here) == first)
  }

  @Test(arguments: Kind.installed) func theLastOneCountsAndOnlyItIsForgotten(_ kind: Kind) async throws {
    let stage = try await Stage(kind)
    let key = try key("a.mp4")
    let (old, new) = (try checkpoint("old"), try checkpoint("new"))
    let sameNameOtherBytes = try checkpoint("new")
    try await stage.checkpoints.keep(old, of: key, in: here)
    try await stage.checkpoints.keep(new, of: key, in: here)
    try await stage.checkpoints.forget(old, of: key, in: here)
    try await stage.checkpoints.forget(sameNameOtherBytes, of: key, in: here)
    #expect(try await stage.checkpoints.checkpoint(of: key, in: here) == new)
  }

  @Test(arguments: Kind.installed) func ofSeveralThatBeginOnlyOneIsKept(_ kind: Kind) async throws {
    let stage = try await Stage(kind)
    let key = try key("a.mp4")
    let another = try await stage.another()
    let rivals = try (0..<8).map { try checkpoint("rival \($0)") }
    let winners = try await withThrowingTaskGroup { group in
      for (index, rival) in rivals.enumerated() {
        let checkpoints = index.isMultiple(of: 2) ? stage.checkpoints : another
        group.addTask { [here] in
          try await checkpoints.exchange(nil, for: rival, of: key, in: here) ? rival : nil
        }
      }
      return try await group.reduce(into: []) { $0 += [$1].compactMap(\.self) }
    }
    #expect(winners.count == 1)
    #expect(try await stage.checkpoints.checkpoint(of: key, in: here) == winners.first)
    let (first, second) = (try #require(winners.first), try checkpoint("second"))
    #expect(try await another.exchange(first, for: second, of: key, in: here))
    #expect(try await !another.exchange(first, for: first, of: key, in: here))
    #expect(try await stage.checkpoints.checkpoint(of: key, in: here) == second)
  }

  @Test(arguments: Kind.installed) func keysComeInOrderAndInPages(_ kind: Kind) async throws {
    let stage = try await Stage(kind)
    let names = ["B.mp4", "a-.mp4", "a.mp4", "a0.mp4", "b.mp4"]
    for name in names.shuffled() {
      try await stage.checkpoints.keep(try checkpoint(name), of: try key(name), in: here)
    }
    try await stage.checkpoints.keep(try checkpoint("other"), of: try key("a1.mp4"), in: there)
    var seen: [String] = []
    while true {
      let last = seen.last.flatMap { ObjectKey($0) }
      let page = try await stage.checkpoints.keys(in: here, after: last, limit: 2)
      if page.isEmpty { break }
      seen += page.map(\.rawValue)
    }
    #expect(seen == names)
    #expect(try await stage.checkpoints.keys(in: Destination("none"), after: nil, limit: 9) == [])
  }

  @Test(arguments: Kind.installed) func aCancelledTaskKeepsAndForgetsAndDoesNotRead(_ kind: Kind) async throws
  {
    let stage = try await Stage(kind)
    let (key, first) = (try key("a.mp4"), try checkpoint("first"))
    let (here, checkpoints) = (here, stage.checkpoints)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await checkpoints.keep(first, of: key, in: here)
      await expect(.cancelled) { _ = try await checkpoints.checkpoint(of: key, in: here) }
    }
    try await task.value
    #expect(try await checkpoints.checkpoint(of: key, in: here) == first)
    try await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await checkpoints.forget(first, of: key, in: here)
    }.value
    #expect(try await checkpoints.checkpoint(of: key, in: here) == nil)
  }

  @Test(arguments: Kind.installed) func theLongestIsKeptWhole(_ kind: Kind) async throws {
    let stage = try await Stage(kind)
    let key = try key("a.mp4")
    let long = try checkpoint(String(repeating: "x", count: UploadCheckpoint.longest))
    try await stage.checkpoints.keep(long, of: key, in: here)
    #expect(try await stage.checkpoints.checkpoint(of: key, in: here) == long)
    let digest = sketch.digest()
    for bad in ["", "a\nb", "a\u{0}", long.secret + "x"] { #expect(UploadCheckpoint(bad, of: digest) == nil) }
  }

  /// The rule for secrets in docs/publish.md: a checkpoint printed in a message reveals nothing.
  @Test func printingACheckpointShowsNoSecret() throws {
    let checkpoint = try checkpoint("https://here.example/files/SECRET")
    var dumped = ""
    dump((checkpoint, [checkpoint], Optional(checkpoint)), to: &dumped)
    let printed = "\(checkpoint) \([checkpoint]) \(String(reflecting: checkpoint)) \(dumped)"
    #expect(!printed.contains("SECRET"))
    #expect(!((checkpoint as Any) is any Encodable))
  }

  /// The catalog, its log and its backup are readable only by their owner.
  @Test func whereTheyLieNobodyElseMayRead() async throws {
    let stage = try await SQLiteStage()
    let catalog = try await stage.openSQLite()
    try await catalog.keep(try checkpoint("SECRET-URL"), of: try key("a.mp4"), in: here)
    let library = stage.temporary.library
    let backup = stage.temporary.folder.appendingPathComponent("backup.sqlite").path
    try await CatalogBackup.write(of: library, to: backup)
    var holding = 0
    let files = try FileManager.default.contentsOfDirectory(atPath: library.path).map {
      library.path + "/" + $0
    }
    for path in files + [backup] {
      guard let bytes = FileManager.default.contents(atPath: path) else { continue }
      guard bytes.range(of: Data("SECRET-URL".utf8)) != nil else { continue }
      holding += 1
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
      #expect(mode == 0o600, "\(path)")
    }
    #expect(holding >= 2)
    let folder = try FileManager.default.attributesOfItem(atPath: library.path)[.posixPermissions] as? Int
    #expect(folder == 0o700)
    try await catalog.close()
  }

  @Test func aCatalogForReadingGivesThemAndKeepsNone() async throws {
    let stage = try await SQLiteStage()
    let catalog = try await stage.openSQLite()
    let (key, first) = (try key("a.mp4"), try checkpoint("first"))
    try await catalog.keep(first, of: key, in: here)
    let reading = try #require(try await SQLiteCatalog.openReadOnly(library: stage.temporary.library))
    #expect(try await reading.checkpoint(of: key, in: here) == first)
    await expect(.unusable) { try await reading.keep(first, of: key, in: here) }
    try await reading.close()
    try await catalog.close()
  }
}
