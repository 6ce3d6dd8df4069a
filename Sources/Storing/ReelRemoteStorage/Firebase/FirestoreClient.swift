import FoundationEssentials
import HTTPTypes
import ReelCore

/// The requests of Firestore's REST API, each as one call
/// (https://firebase.google.com/docs/firestore/reference/rest/v1/projects.databases.documents).
struct FirestoreClient: Sendable {
  let database: FirestoreDatabase
  let google: GoogleClient

  /// The smallest role that may all of it, for sentences.
  static let role = "Cloud Datastore User (roles/datastore.user)"

  struct Document: Decodable, Hashable, Sendable {
    let name: String
    let fields: [String: FirestoreValue]?
    let updateTime: String?
  }

  /// What is to be done to one document.
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
    /// The fields that change; nil for all of the document.
    var updateMask: Mask?
    var delete: String?
    var currentDocument: Precondition?
  }

  /// What becomes of a commit.
  enum Outcome: Hashable, Sendable {
    case committed
    /// Somebody else was faster: read anew, and try again.
    case aborted
    /// A document that was to be created is there.
    case alreadyExists
  }

  /// Begins a transaction that may write, and gives its name.
  /// - Parameter previous: one that was aborted, which this one takes the place of.
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

  /// The documents of those names that are there.
  /// - Parameter transaction: in which; nil for outside of any.
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
      throw UploadError(.interrupted, "Firestore told only of some documents: try again")
    }
    return Dictionary(answers.compactMap(\.found).map { ($0.name, $0) }) { first, _ in first }
  }

  /// Does all of `writes` or nothing.
  /// - Parameter transaction: what was read in it must not have changed; nil for outside of any.
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

  /// Only Firestore's own words say that it is written: what stands before it may answer 200, too, with a page.
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

  /// Gives up a transaction, so that nobody waits for it. One that is not given up ends by itself.
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
    // Also where a read waited for somebody's lock.
    case (409, "ABORTED"):
      return UploadError(.unavailable, "Firestore of the project \(database.project) is busy\(words)")
    // As Google's own libraries do: the message is all that tells it from other mistakes.
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

/// A project's Firestore database, its default one.
public struct FirestoreDatabase: Hashable, Sendable {
  /// The project's id, such as `my-app`.
  public let project: String
  /// An emulator's address; nil for Google's own.
  public let emulator: HTTPOrigin?

  /// Nil when no project has that id: 4 to 40 lower-case letters, digits and dashes (and `domain.com:` before them).
  public init?(project: String, emulator: HTTPOrigin? = nil) {
    guard (4...100).contains(project.utf8.count),
      project.utf8.allSatisfy({ $0.isASCIILowercase || $0.isASCIIDigit || "-.:".utf8.contains($0) })
    else { return nil }
    self.project = project
    self.emulator = emulator
  }

  var origin: HTTPOrigin { emulator ?? HTTPOrigin(isSecure: true, host: "firestore.googleapis.com") }

  /// The name of the root of all documents, which stands before their names.
  private var documents: String { "projects/\(project)/databases/(default)/documents" }

  /// `firestore://` and the project; an emulator's has its address in it.
  var destination: Destination {
    Destination(emulator.map { "firestore+\($0)/\(project)" } ?? "firestore://" + project)
  }

  func name(_ path: String) -> String { documents + "/" + path }

  func target(_ method: String) -> String { "/v1/\(documents):\(method)" }
}
