import ReelCore

/// What is true of each kind of store. A new kind is a new case: the compiler asks for its answers.
package enum DestinationKind: Hashable, Sendable {
  case folder, command, tus, s3, firebase

  /// Whether `reel doctor` can look into it.
  package var canBeExamined: Bool {
    switch self {
    case .folder, .s3, .firebase: true
    case .command, .tus: false
    }
  }

  /// Whether posters are made of the videos in it that have none.
  package var givesVideos: Bool {
    switch self {
    case .folder, .s3: true
    case .command, .tus, .firebase: false
    }
  }

  /// Whether it keeps posts as well (`PostRecorder`).
  package var keepsPosts: Bool {
    switch self {
    case .firebase: true
    case .folder, .command, .tus, .s3: false
    }
  }

  /// Whether credentials name one store of this kind, and are no use at another.
  package var needsSecretOfItsOwn: Bool {
    switch self {
    case .command, .tus, .s3: true
    case .folder, .firebase: false
    }
  }
}

extension DestinationAddress {
  package var kind: DestinationKind {
    switch self {
    case .folder: .folder
    case .command: .command
    case .tus: .tus
    case .s3: .s3
    case .firebase: .firebase
    }
  }

  /// What a destination's name, as a catalog has it, stands for; nil for one that the command line does not know.
  package init?(ofName name: String) {
    guard let address = try? DestinationAddress(parsing: name) else { return nil }
    // A folder is named by its URL; what else looks like a path is an app's own.
    if case .folder = address, !name.hasPrefix("file:") { return nil }
    self = address
  }

  /// The kind of store that a destination's name, or `--to`, stands for; nil for one that the command line does not know.
  package static func kind(ofName name: String) -> DestinationKind? {
    (try? DestinationAddress(parsing: name))?.kind
  }

  /// Moves the object `name` out of the store, beside it; for a shell. Nil for a store that has no such command.
  package func commandMovingAway(_ name: String) -> String? {
    func quoted(_ path: String) -> String { ShellWord.quoted(Array(path.utf8)) }
    switch self {
    case .folder(let path):
      let store = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
      let place = store + "-unknown"
      return "mkdir -p \(quoted(place)) && mv -n \(quoted(store + "/" + name)) \(quoted(place + "/"))"
    case .firebase(let address) where address.emulator == nil:
      let store = address.prefix.isEmpty ? address.bucket : address.bucket + "/" + address.prefix
      let place = address.prefix.isEmpty ? store + "/unknown" : store + "-unknown"
      return
        "gcloud storage mv --no-clobber \(quoted("gs://\(store)/\(name)")) \(quoted("gs://\(place)/\(name)"))"
    case .firebase, .s3, .command, .tus: return nil
    }
  }
}
