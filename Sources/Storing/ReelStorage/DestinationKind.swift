import ReelCore

/// The kinds of stores, and what holds for each. The compiler points out what has to be decided for a new case.
package enum DestinationKind: Hashable, Sendable {
  case folder, command, tus, s3, firebase

  /// Whether `reel doctor` can examine it.
  package var canBeExamined: Bool {
    switch self {
    case .folder, .s3, .firebase: true
    case .command, .tus: false
    }
  }

  /// Whether its videos can be read to make the posters that are missing.
  package var givesVideos: Bool {
    switch self {
    case .folder, .s3: true
    case .command, .tus, .firebase: false
    }
  }

  /// Whether it also keeps posts (`PostRecorder`).
  package var keepsPosts: Bool {
    switch self {
    case .firebase: true
    case .folder, .command, .tus, .s3: false
    }
  }

  /// Whether credentials are for one store of this kind only, and useless at another.
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

  /// The address that a destination's name in a catalog stands for; nil for one that the command line does not know.
  package init?(ofName name: String) {
    guard let address = try? DestinationAddress(parsing: name) else { return nil }
    // A folder's name is its URL. Any other name that looks like a path belongs to an app.
    if case .folder = address, !name.hasPrefix("file:") { return nil }
    self = address
  }

  /// The kind of store that a destination's name, or `--to`, stands for; nil for one that the command line does not
  /// know.
  package static func kind(ofName name: String) -> DestinationKind? {
    (try? DestinationAddress(parsing: name))?.kind
  }

  /// A shell command that moves the object `name` out of the store, to a place beside it; nil for a store without such
  /// a command.
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
