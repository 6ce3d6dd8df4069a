import FoundationEssentials
import HTTPTypes
import ReelCore

/// The requests of Firestore's REST API, each as one call
/// (https://firebase.google.com/docs/firestore/reference/rest/v1/projects.databases.documents).
struct FirestoreClient: Sendable {
  let database: FirestoreDatabase
  let google: GoogleClient

  /// The smallest role that allows all of it, for error messages.
  static let role = "Cloud Datastore User (roles/datastore.user)"

  struct Document: Decodable, Hashable, Sendable {
    let name: String
    let fields: [String: FirestoreValue]?
    let updateTime: String?
  }

  /// A change of one document.
  struct Write: Encodable, Hashable, Sendable {
    struct Content: Encodable, Hashable, Sendable {
      let name: String
      let fields: [String: FirestoreValue]
    }
    struct Precondition: Encodable, Hashable, Sendable {
      var exists: Bool?
      var updateTime: String?
    }
    struct Mask: Encodable, Hashable, Sendable {
      let fieldPaths: [String]
    }
    var update: Content?
    /// The fields to change; nil for the whole document.
    var updateMask: Mask?
    var delete: String?
    var currentDocument: Precondition?
  }

  /// The result of a commit.
  enum Outcome: Hashable, Sendable {
    case committed
    /// Another transaction was faster: read again, and retry.
    case aborted
    /// A document that was to be created exists.
    case alreadyExists
  }

  /// Begins a read-write transaction, and returns its name.
  /// - Parameter previous: an aborted transaction that this one retries.
  func begin(after previous: String?) async throws(UploadError) -> String {
    struct Options: Encodable {
      struct ReadWrite: Encodable {
        let retryTransaction: String?
      }
      let readWrite: ReadWrite
    }
    struct Answer: Decodable {
      let transaction: String
    }
    let options = Options(readWrite: .init(retryTransaction: previous))
    let reply = try await send("beginTransaction", ["options": options], "begin a transaction")
    return try google.decoded(Answer.self, reply, "begin a transaction").transaction
  }

  /// Reads those documents of the given names that exist.
  /// - Parameter transaction: the transaction to read in; nil for none.
  func read(
    _ names: [String], in transaction: String?
  ) async throws(UploadError) -> [String: Document] {
    struct Question: Encodable {
      let documents: [String]
      let transaction: String?
    }
    struct Answer: Decodable {
      let found: Document?
      let missing: String?
    }
    let question = Question(documents: names, transaction: transaction)
    let reply = try await send("batchGet", question, "read the documents")
    let answers = try google.decoded([Answer].self, reply, "read the documents")
    guard Set(answers.compactMap { $0.found?.name ?? $0.missing }) == Set(names) else {
      throw UploadError(.interrupted, "Firestore returned only some of the documents: try again")
    }
    return Dictionary(answers.compactMap(\.found).map { ($0.name, $0) }) { first, _ in first }
  }

  /// Performs all of `writes` or none.
  /// - Parameter transaction: the transaction, whose reads must still be valid; nil for none.
  func commit(_ writes: [Write], in transaction: String?) async throws(UploadError) -> Outcome {
    struct Commit: Encodable {
      let writes: [Write]
      let transaction: String?
    }
    let call = try google.call(
      .post, database.target("commit"), json: Commit(writes: writes, transaction: transaction))
    let reply = try await google.send(call)
    if reply.isSuccess { return try committed(reply, writes.count) }
    switch (reply.status.code, GoogleFailure(reply).status) {
    case (409, "ABORTED"): return .aborted
    case (409, "ALREADY_EXISTS"): return .alreadyExists
    default: throw failure(reply, "write the post down")
    }
  }

  /// Confirms a commit. Only Firestore's own reply counts: a proxy may answer 200, too, with a page.
  private func committed(_ reply: HTTPReply, _ count: Int) throws(UploadError) -> Outcome {
    struct Answer: Decodable {
      struct Result: Decodable {}
      let writeResults: [Result]
    }
    let answer = try google.decoded(Answer.self, reply, "write the post down")
    guard answer.writeResults.count == count else {
      throw UploadError(.interrupted, "Firestore did not say how writing the post down ended: try again")
    }
    return .committed
  }

  /// Ends a transaction, so that others do not wait for it. Without this it expires.
  func rollBack(_ transaction: String) async {
    _ = try? await send("rollback", ["transaction": transaction], "give up a transaction")
  }

  private func send(
    _ method: String, _ body: some Encodable, _ task: String
  ) async throws(UploadError) -> HTTPReply {
    let reply = try await google.send(google.call(.post, database.target(method), json: body))
    guard reply.isSuccess else { throw failure(reply, task) }
    return reply
  }

  private func failure(_ reply: HTTPReply, _ task: String) -> UploadError {
    let said = GoogleFailure(reply)
    let words = said.message.map { " (\(HTTPReply.oneLine($0)))" } ?? ""
    switch (reply.status.code, said.status) {
    // Also if a read waited for another transaction's lock.
    case (409, "ABORTED"):
      return UploadError(.unavailable, "Firestore of the project \(database.project) is busy\(words)")
    // As in Google's own libraries: only the message distinguishes this from other errors.
    case (400, "INVALID_ARGUMENT") where said.message?.contains("transaction has expired") ?? false:
      return UploadError(
        .unavailable, "Firestore of the project \(database.project) did not \(task)\(words): try again")
    case (404, _):
      return UploadError(
        .storeUnusable,
        "there is no Firestore database in the project \(database.project)\(words): make one (Firebase console, "
          + "Firestore), or name the project with \(setting: .project)")
    case (400, "FAILED_PRECONDITION"):
      return UploadError(
        .storeUnusable,
        "Firestore of the project \(database.project) did not \(task)\(words): see its settings")
    default: return google.failure(reply, task, permission: Self.role)
    }
  }
}

/// The default Firestore database of a project.
public struct FirestoreDatabase: Hashable, Sendable {
  /// The project's id, such as `my-app`.
  public let project: String
  /// The emulator's address; nil for Google's own.
  public let emulator: HTTPOrigin?

  /// Nil if no project can have that id: lower-case letters, digits and dashes, optionally preceded by `domain.com:`.
  /// Only the characters and a length of 4 to 100 are checked.
  public init?(project: String, emulator: HTTPOrigin? = nil) {
    guard (4...100).contains(project.utf8.count),
      project.utf8.allSatisfy({ $0.isASCIILowercase || $0.isASCIIDigit || "-.:".utf8.contains($0) })
    else { return nil }
    self.project = project
    self.emulator = emulator
  }

  var origin: HTTPOrigin { emulator ?? HTTPOrigin(isSecure: true, host: "firestore.googleapis.com") }

  /// The resource name of the root of all documents, the prefix of their names.
  private var documents: String { "projects/\(project)/databases/(default)/documents" }

  /// `firestore://` and the project; an emulator's contains its address.
  var destination: Destination {
    Destination(emulator.map { "firestore+\($0)/\(project)" } ?? "firestore://" + project)
  }

  func name(_ path: String) -> String { documents + "/" + path }

  func target(_ method: String) -> String { "/v1/\(documents):\(method)" }
}
