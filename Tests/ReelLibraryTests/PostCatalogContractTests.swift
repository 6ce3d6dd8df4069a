import ReelCore
import ReelTestServers
import Testing

/// A promise that every catalog keeps.
struct CatalogContractTest: Sendable, CustomTestStringConvertible {
  let name: String
  let check: @Sendable (any CatalogStage) async throws -> Void

  init(_ name: String, _ check: @escaping @Sendable (any CatalogStage) async throws -> Void) {
    self.name = name
    self.check = check
  }

  var testDescription: String { name }
}

/// The contract of ``PostCatalog`` as named checks.
enum PostCatalogContractTests {
  static let all =
    claiming + completing + posters + telling + feed + filters + remembering + recalling + batches + mended
    + ending + changes

  /// The checks for which SQLite in memory differs from SQLite in a file: liveness, closing, and searching without an
  /// index.
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
