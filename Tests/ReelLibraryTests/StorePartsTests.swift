import FoundationEssentials
import ReelCore
import ReelCrypto
import ReelStorage
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelLibrary

/// Compares a store that is listed in pages against the rows of a catalog, a page at a time.
@Suite struct StorePartsTests {
  struct Way: Sendable, CustomStringConvertible {
    let pageSize: Int
    let isOrdered: Bool
    var description: String { "pages of \(pageSize)\(isOrdered ? "" : ", in no order")" }
  }

  @Test(
    "missing, damaged and unknown objects are found, whatever the pages",
    arguments: [1, 2, 7, 1000, 5000].flatMap {
      [Way(pageSize: $0, isOrdered: true), Way(pageSize: $0, isOrdered: false)]
    })
  func compared(_ way: Way) async throws {
    let world = try World(way, seed: UInt64(way.pageSize))
    let count = way.pageSize < 10 ? 300 : 3000
    for _ in 0..<count { world.add(Fate.allCases.randomElement(using: &world.random) ?? .sound) }
    let (findings, objects) = try await world.examination.run()
    let expected = world.expected
    #expect(Set(findings.map(\.identity)) == expected)
    #expect(findings.count == expected.count && objects == world.rows.count)
  }

  @Test("however many objects there are, only a page of them is in memory")
  func bounded() async throws {
    let world = try World(Way(pageSize: 10, isOrdered: true), seed: 1)
    for _ in 0..<100 { world.add(.sound) }
    var parts = StoreParts(world)
    var sizes: [Int] = []
    while let part = try await parts.next() {
      #expect(!part.isWhole)
      sizes.append(part.objects.count)
    }
    #expect(sizes == [Int](repeating: 10, count: 10) + [0])
  }

  @Test("objects published during the listing are not reported as unknown, whichever rows were read before")
  func meanwhile() async throws {
    let world = try World(Way(pageSize: 10, isOrdered: true), seed: 2)
    for _ in 0..<100 { world.add(.sound) }
    world.onPage = { for _ in 0..<5 { world.add(.sound) } }
    #expect(try await world.examination.run().findings.isEmpty)
    #expect(world.rows.count > 140)
  }

  @Test("a listing that never ends is an error")
  func endless() async throws {
    let world = try World(Way(pageSize: 10, isOrdered: true), seed: 3)
    for _ in 0..<100 { world.add(.sound) }
    world.token = "again"
    #expect(try await world.examination.run().findings.map(\.kind) == [.storeUnreachable])
  }
}

private enum Fate: CaseIterable { case sound, missing, shorter, unknown, foreign }

private let here = Destination("memory:here")

/// A catalog and a store.
private final class World: CatalogExamination, Uploader, StoreListing, @unchecked Sendable {
  // Sendable: used by one task at a time, as no two calls of an examination overlap.
  let way: StorePartsTests.Way
  var random: SplitMix64
  private(set) var rows: [String: ExaminedObject] = [:]
  private var stored: [String: Int64] = [:]
  /// The expected findings, by ``Finding/identity``.
  private(set) var expected: Set<String> = []
  /// Called after each page of the list.
  var onPage: () -> Void = {}
  /// A token returned for every next page instead of the true one.
  var token: String?
  private let digest: ContentDigest

  init(_ way: StorePartsTests.Way, seed: UInt64) throws {
    (self.way, random) = (way, SplitMix64(seed: seed))
    digest = try #require(ContentDigest(sha256: SHA256.hash(data: [1, 2, 3])))
  }

  var examination: LibraryExamination {
    LibraryExamination(catalog: self) { _ in self }
  }

  func add(_ fate: Fate) {
    let letters = Array("ABCXYZabcxyz0189")
    let drawn = String((0..<22).map { _ in letters.randomElement(using: &random) ?? "0" }) + ".mp4"
    guard fate != .foreign, let key = ObjectKey(drawn) else {
      // Foreign names, some of which sort differently by bytes than as Swift strings.
      let odd = "\u{65}\u{301}\u{FFFF}\u{10000}".prefix(Int.random(in: 1...3, using: &random))
      stored[String(odd) + drawn] = 1
      return
    }
    if fate != .unknown {
      rows[drawn] = ExaminedObject(
        id: PostID(at: Date(timeIntervalSince1970: 0), random: SystemRandomness()), key: key, size: 3,
        digest: digest, state: .published, changedAt: Date(timeIntervalSince1970: 0))
    }
    if fate != .missing { stored[drawn] = fate == .shorter ? 2 : 3 }
    let kinds: [Fate: Finding.Kind] = [
      .missing: .objectMissing, .shorter: .objectDiffers, .unknown: .objectUnknown,
    ]
    if let kind = kinds[fate] { expected.insert("\(kind.rawValue) \(drawn)") }
  }

  // MARK: The catalog

  func damage() async throws(CatalogError) -> [String] { [] }
  func owners() async throws(CatalogError) -> [ExaminedOwner] { [] }
  func destinations() async throws(CatalogError) -> [Destination] { [here] }
  func objects(
    in destination: Destination, after key: ObjectKey?, limit: Int
  ) async throws(CatalogError) -> [ExaminedObject] {
    let later = rows.values.filter { key?.rawValue.precedes($0.key.rawValue) ?? true }
    return Array(later.sorted { $0.key.rawValue.precedes($1.key.rawValue) }.prefix(limit))
  }

  // MARK: The store

  let traits = UploadTraits(atomicCreate: true, resumable: false, verifiesChecksums: false, durable: true)
  var destination: Destination { here }

  /// The token is the last name of the previous page, or in an unordered store a number.
  func page(after token: String?) async throws(UploadError) -> StorePage {
    defer { onPage() }
    let names = stored.keys.sorted { $0.precedes($1) }
    if way.isOrdered {
      let left = names.filter { token?.precedes($0) ?? true }
      let page = left.prefix(way.pageSize)
      return StorePage(
        page.map { ($0, stored[$0]) }, next: left.count > page.count ? self.token ?? page.last : nil)
    }
    let mixed = names.indices.sorted { ($0 % 7, $0) < ($1 % 7, $1) }.map { names[$0] }
    let start = token.flatMap { Int($0) } ?? 0
    let page = mixed.dropFirst(start).prefix(way.pageSize)
    let end = start + page.count
    return StorePage(page.map { ($0, stored[$0]) }, next: end < mixed.count ? String(end) : nil)
  }

  func names() async throws(UploadError) -> [String] { try await allNames() }
  func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? {
    stored[key.rawValue].map { StoredObject(key: key, url: "memory:", size: $0, digest: nil) }
  }
  func leftovers() async throws(UploadError) -> [String] { [] }
  func removeLeftovers() async throws(UploadError) {}
  func prepare() async throws(UploadError) {}
  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject { throw UploadError(.rejected, "not in this test") }
  func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval { .gone }
  func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? { nil }
}
