import ReelCore

/// One thing that every uploader promises, and a check that finds out whether it is kept.
///
/// Run each of ``all`` over a store for tests:
/// ```swift
/// for promise in UploaderContractTest.all {
///   try await promise.check(StoreUnderTest { MyUploader(…) })
/// }
/// ```
/// The checks make objects under random names and remove them again; other objects in the store are left
/// alone.
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

  /// Every promise, the simplest first: what breaks an early one breaks later ones too.
  public static let all: [UploaderContractTest] =
    storing + finding + keeping + reporting + refusing + cancelling

  /// Finds out whether `store` keeps this promise; returns when it does.
  ///
  /// A check that never ends is a broken promise as well; put a time limit around it where that may happen.
  /// - Throws: ``ContractViolation``, saying what was expected and what was seen.
  public func check(_ store: StoreUnderTest) async throws(ContractViolation) {
    do {
      try await ContractTestContext.run(store, body)
    } catch let difference as Difference {
      throw ContractViolation(promise: name, sentence: sentence, detail: difference.detail)
    } catch let error as UploadError {
      throw ContractViolation(
        promise: name, sentence: sentence, detail: "it failed with \(error.code.rawValue): \(error.message)")
    } catch {
      throw ContractViolation(promise: name, sentence: sentence, detail: "the check itself failed: \(error)")
    }
  }
}

extension UploaderContractTest: CustomStringConvertible {
  /// The name.
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

/// What a check expected and did not see.
struct Difference: Error {
  let detail: String
}
