import ReelCore

/// A project's Firestore database, its default one.
public struct FirestoreDatabase: Hashable, Sendable {
  /// The project's id, such as `my-app`.
  public let project: String
  /// An emulator's address; nil for Google's own.
  public let emulator: HTTPOrigin?

  /// Nil when no project has that id: 4 to 40 lower-case letters, digits and dashes (and `domain.com:` before them).
  public init?(project: String, emulator: HTTPOrigin? = nil) {
    guard (4...100).contains(project.utf8.count),
      project.utf8.allSatisfy({ (97...122).contains($0) || (48...57).contains($0) || "-.:".utf8.contains($0) }
      )
    else { return nil }
    self.project = project
    self.emulator = emulator
  }

  var origin: HTTPOrigin { emulator ?? HTTPOrigin(isSecure: true, host: "firestore.googleapis.com") }

  /// The name of the root of all documents, which stands before their names.
  private var documents: String { "projects/\(project)/databases/(default)/documents" }

  /// A document's full name.
  func name(_ path: String) -> String { documents + "/" + path }

  /// The address of a method.
  func target(_ method: String) -> String { "/v1/\(documents):\(method)" }
}
