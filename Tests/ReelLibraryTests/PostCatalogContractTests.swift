import ReelCore
import ReelTestServers
import Testing

/// Something that every catalog promises.
struct CatalogContractTest: Sendable, CustomTestStringConvertible {
  let name: String
  let check: @Sendable (any CatalogStage) async throws -> Void

  init(_ name: String, _ check: @escaping @Sendable (any CatalogStage) async throws -> Void) {
    self.name = name
    self.check = check
  }

  var testDescription: String { name }
}

/// What ``PostCatalog`` promises, as named checks.
enum PostCatalogContractTests {
  static let all =
    claiming + completing + posters + telling + feed + filters + remembering + recalling + batches + mended
    + ending + changes

  /// Where SQLite in memory differs from SQLite in a file: who lives, what an end ends, and searching without an index.
  static let inMemory = claiming + telling + filters + ending + changes
}

@Suite struct PostCatalogPromiseTests {
  @Test(arguments: PostCatalogContractTests.all)
  func keeps(_ promise: CatalogContractTest) async throws {
    try await promise.check(try await SQLiteStage())
  }

  @Test(arguments: PostCatalogContractTests.inMemory)
  func keepsInMemory(_ promise: CatalogContractTest) async throws {
    try await promise.check(MemoryStage())
  }

  @Test(.besidePostgres, arguments: PostCatalogContractTests.all)
  func keepsOverPostgres(_ promise: CatalogContractTest) async throws {
    try await promise.check(try await PostgresStage())
  }
}

/// Expects `body` to throw a `CatalogError` of this code.
func expect(
  _ code: CatalogError.Code, sourceLocation: SourceLocation = #_sourceLocation,
  _ body: () async throws -> Void
) async {
  let error = await #expect(throws: CatalogError.self, sourceLocation: sourceLocation) { try await body() }
  #expect(error?.code == code, sourceLocation: sourceLocation)
}
