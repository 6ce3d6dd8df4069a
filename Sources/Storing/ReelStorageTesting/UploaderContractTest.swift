import ReelCore

/// A promise that every uploader makes, and a check of whether it is kept.
///
/// Run each of ``all`` on a store for tests:
/// ```swift
/// for promise in UploaderContractTest.all {
///   try await promise.check(StoreUnderTest { MyUploader(…) })
/// }
/// ```
/// The checks create objects under random names and remove them again; other objects in the store are left alone.
public struct UploaderContractTest: Sendable {
  /// A stable name for reports, such as `upload.neverOverwrites`.
  public let name: String
  /// What is promised, in one sentence.
  public let sentence: String
  private let body: @Sendable (ContractTestContext) async throws -> Void

  init(
    _ name: String, _ sentence: String, _ body: @escaping @Sendable (ContractTestContext) async throws -> Void
  ) {
    self.name = name
    self.sentence = sentence
    self.body = body
  }

  /// All promises, the simplest first: what breaks an early one breaks later ones too.
  public static let all: [UploaderContractTest] =
    storing + finding + keeping + reporting + refusing + cancelling

  /// Checks whether `store` keeps this promise; returns if it does.
  ///
  /// A check that never ends is a broken promise as well; put a time limit around it if that may happen.
  /// - Throws: ``ContractViolation``, with what was expected and what was seen.
  public func check(_ store: StoreUnderTest) async throws(ContractViolation) {
    try await rethrowing(as: { ContractViolation(name, sentence, $0) }) {
      try await ContractTestContext.run(store, body)
    }
  }
}

extension UploaderContractTest: CustomStringConvertible {
  /// The promise's name.
  public var description: String { name }
}

/// A promise that an uploader does not keep.
public struct ContractViolation: Error, Hashable, Sendable, CustomStringConvertible {
  /// The promise's name.
  public let promise: String
  /// What was promised.
  public let sentence: String
  /// What was seen instead.
  public let detail: String

  /// All three in one line.
  public var description: String { "\(promise) (\(sentence)): \(detail)" }
}

extension ContractViolation {
  /// Describes a promise whose check ended with `error`.
  init(_ promise: String, _ sentence: String, _ error: any Error) {
    let detail =
      switch error {
      case let difference as Difference: difference.detail
      case let error as UploadError: "it failed with \(error.code.rawValue): \(error.message)"
      default: "the check itself failed: \(error)"
      }
    self.init(promise: promise, sentence: sentence, detail: detail)
  }
}

/// How what a check saw differs from what it expected.
struct Difference: Error {
  let detail: String
}

extension UploaderContractTest {
  /// On return the whole object is visible under its key.
  static let storing: [UploaderContractTest] = [
    storingContent("empty", "an empty object") { try TestContent(size: 0, seed: $0) },
    storingContent("oneByte", "a one-byte object") { try TestContent(size: 1, seed: $0) },
    storingContent("small", "a small object") { try TestContent(size: 1000, seed: $0) },
    UploaderContractTest("upload.large", "when upload returns, a large object is visible in full") {
      context in
      try await storeAndCompare(try context.large(), context)
    },
    UploaderContractTest(
      "upload.keys", "names are kept exactly, even the longest ones and those that differ only in case"
    ) {
      context in
      let keys = try [
        context.newKey { "a\($0).mp4" }, context.newKey { "A\($0).mp4" }, context.newKey { "0_-..\($0)" },
        context.newKey { String(repeating: $0, count: 10).prefix(200).description },
      ]
      let swapped = try context.newKey { _ in "A" + keys[0].rawValue.dropFirst() }
      for (index, key) in (keys + [swapped]).enumerated() {
        try await storeAndCompare(try context.small(seed: UInt64(index + 1)), context, key)
      }
    },
    UploaderContractTest("upload.sideBySide", "objects that are stored concurrently are all complete") {
      context in
      try await withThrowingTaskGroup { group in
        for seed in 1...12 {
          group.addTask { try await storeAndCompare(try context.small(seed: UInt64(seed)), context) }
        }
        try await group.waitForAll()
      }
    },
  ]

  private static func storingContent(
    _ name: String, _ words: String, _ content: @escaping @Sendable (UInt64) throws -> TestContent
  ) -> UploaderContractTest {
    UploaderContractTest("upload.\(name)", "when upload returns, \(words) is visible in full") { context in
      try await storeAndCompare(try content(1), context)
    }
  }

  private static func storeAndCompare(
    _ content: TestContent, _ context: ContractTestContext, _ given: ObjectKey? = nil
  ) async throws {
    let key = try given ?? context.newKey()
    let object = try await context.upload(content, to: key)
    try context.expect(object.key == key, "it returned the key \(object.key) instead of \(key)")
    try context.expect(
      object.size == content.size, "it returned a size of \(object.size) bytes instead of \(content.size)")
    try context.expect(
      object.digest == nil || object.digest == content.digest, "it returned a different digest")
    try context.expect(!object.url.isEmpty, "it returned no URL")
    try await context.expectWhole(content, under: key)
    let url = try await context.uploader.find(key)?.url
    try context.expect(url == object.url, "find returned the URL \(url ?? "none") instead of \(object.url)")
  }
}

extension UploaderContractTest {
  /// What exists is found, what does not exist is not, and only the named object is removed.
  static let finding: [UploaderContractTest] = [
    UploaderContractTest("destination.settled", "two uploaders of the same store have the same destination") {
      context in
      let other = try await context.store.makeUploader()
      try context.expect(!context.uploader.destination.name.isEmpty, "its destination has no name")
      try context.expect(
        other.destination == context.uploader.destination,
        "one uploader has \(context.uploader.destination), another \(other.destination)")
      try await other.prepare()
      try context.expect(
        other.destination == context.uploader.destination, "prepare changed it to \(other.destination)")
    },
    UploaderContractTest(
      "find.nothing", "for an object that was never stored, find and readBack return nil and do not throw"
    ) {
      context in
      try await context.expectNothing(under: try context.newKey(), after: "storing nothing")
    },
    UploaderContractTest(
      "find.others", "an object that one uploader stored is found by another uploader of the same store"
    ) {
      context in
      let key = try context.newKey()
      let content = try context.small()
      try await context.upload(content, to: key)
      let other = try await context.anotherUploader()
      try context.expect(
        try await other.find(key)?.size == content.size,
        "another uploader does not find it with the same size")
      try context.expect(
        try await other.readBack(key) == content.digest, "another uploader does not read back the same bytes")
    },
    UploaderContractTest("remove.nothing", "removing an object that does not exist is not an error") {
      context in
      let key = try context.newKey()
      do throws(UploadError) {
        try await context.uploader.remove(key)
      } catch {
        // A store that removes nothing need not look whether the object exists.
        guard error.code == .rejected, !context.uploader.traits.removes else { throw error }
      }
    },
    UploaderContractTest("remove.gone", "a removed object is gone, and its name is free again") { context in
      let key = try context.newKey()
      let first = try context.small(seed: 1)
      try await context.upload(first, to: key)
      guard try await context.remove(key) else { return try await context.expectWhole(first, under: key) }
      try await context.expectNothing(under: key, after: "removing it")
      let second = try context.small(seed: 2)
      try await context.upload(second, to: key)
      try await context.expectWhole(second, under: key)
    },
    UploaderContractTest(
      "remove.again", "removing an object again is not an error, and does not bring it back"
    ) {
      context in
      let key = try context.newKey()
      try await context.upload(try context.small(), to: key)
      let other = try await context.anotherUploader()
      for uploader in [context.uploader, context.uploader, other] {
        guard try await context.remove(key, by: uploader) else { return }
        try await context.expectNothing(under: key, after: "removing it again")
      }
      try context.expect(try await other.find(key) == nil, "another uploader still finds it")
    },
    UploaderContractTest("remove.atOnce", "concurrent removals of the same object all succeed") { context in
      let key = try context.newKey()
      try await context.upload(try context.small(), to: key)
      let uploaders = [context.uploader, try await context.anotherUploader()]
      try await withThrowingTaskGroup { group in
        for index in 0..<6 {
          group.addTask { _ = try await context.remove(key, by: uploaders[index % uploaders.count]) }
        }
        try await group.waitForAll()
      }
      guard context.uploader.traits.removes else { return }
      try await context.expectNothing(under: key, after: "removing it")
    },
    UploaderContractTest("remove.onlyThat", "removing one object leaves all others alone") { context in
      let key = try context.newKey()
      let neighbours = try [
        context.newKey { _ in key.rawValue + "x" }, context.newKey { _ in "x" + key.rawValue },
      ]
      let content = try context.small()
      for each in [key] + neighbours { try await context.upload(content, to: each) }
      guard try await context.remove(key) else { return }
      for neighbour in neighbours { try await context.expectWhole(content, under: neighbour) }
    },
  ]
}
