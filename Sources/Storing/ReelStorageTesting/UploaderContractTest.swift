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
    storingContent("oneByte", "an object of one byte") { try TestContent(size: 1, seed: $0) },
    storingContent("small", "a small object") { try TestContent(size: 1000, seed: $0) },
    UploaderContractTest("upload.large", "on return the whole of a large object is visible") { context in
      try await storeAndCompare(try context.large(), context)
    },
    UploaderContractTest(
      "upload.keys", "names are kept exactly, the longest and those that differ by case too"
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
    UploaderContractTest("upload.sideBySide", "objects that are stored side by side are all whole") {
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
    UploaderContractTest("upload.\(name)", "on return the whole of \(words) is visible") { context in
      try await storeAndCompare(try content(1), context)
    }
  }

  private static func storeAndCompare(
    _ content: TestContent, _ context: ContractTestContext, _ given: ObjectKey? = nil
  ) async throws {
    let key = try given ?? context.newKey()
    let object = try await context.upload(content, to: key)
    try context.expect(object.key == key, "it says it stored \(object.key) instead of \(key)")
    try context.expect(
      object.size == content.size, "it says it stored \(object.size) bytes of \(content.size)")
    try context.expect(object.digest == nil || object.digest == content.digest, "it gives another digest")
    try context.expect(!object.url.isEmpty, "it gives no address")
    try await context.expectWhole(content, under: key)
    let url = try await context.uploader.find(key)?.url
    try context.expect(url == object.url, "find gives the address \(url ?? "none") instead of \(object.url)")
  }
}

extension UploaderContractTest {
  /// What exists is found, what does not exist is not, and only the named object is removed.
  static let finding: [UploaderContractTest] = [
    UploaderContractTest("destination.settled", "two uploaders of one store give it the same name") {
      context in
      let other = try await context.store.makeUploader()
      try context.expect(!context.uploader.destination.name.isEmpty, "its destination has no name")
      try context.expect(
        other.destination == context.uploader.destination,
        "one says \(context.uploader.destination), another one \(other.destination)")
      try await other.prepare()
      try context.expect(
        other.destination == context.uploader.destination, "preparing turns it into \(other.destination)")
    },
    UploaderContractTest("find.nothing", "what was never stored is nil to find and readBack, and no error") {
      context in
      try await context.expectNothing(under: try context.newKey(), after: "nothing")
    },
    UploaderContractTest("find.others", "what one uploader stored another one of the same store finds") {
      context in
      let key = try context.newKey()
      let content = try context.small()
      try await context.upload(content, to: key)
      let other = try await context.anotherUploader()
      try context.expect(try await other.find(key)?.size == content.size, "another one does not find it")
      try context.expect(try await other.readBack(key) == content.digest, "another one reads other bytes")
    },
    UploaderContractTest("remove.nothing", "removing what is not there is not an error") { context in
      let key = try context.newKey()
      do throws(UploadError) {
        try await context.uploader.remove(key)
      } catch {
        // A store that removes nothing need not look whether the object exists.
        guard error.code == .rejected, !context.uploader.traits.removes else { throw error }
      }
    },
    UploaderContractTest("remove.gone", "what was removed is gone, and its name is free") { context in
      let key = try context.newKey()
      let first = try context.small(seed: 1)
      try await context.upload(first, to: key)
      guard try await context.remove(key) else { return try await context.expectWhole(first, under: key) }
      try await context.expectNothing(under: key, after: "removing it")
      let second = try context.small(seed: 2)
      try await context.upload(second, to: key)
      try await context.expectWhole(second, under: key)
    },
    UploaderContractTest("remove.again", "removing again is not an error, and brings nothing back") {
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
    UploaderContractTest("remove.atOnce", "of several that remove an object at once none fails") { context in
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
