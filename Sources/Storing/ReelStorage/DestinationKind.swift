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

  /// The kind of store that a destination's name stands for; nil for one that the command line does not know.
  package static func kind(ofName name: String) -> DestinationKind? {
    (try? DestinationAddress(parsing: name))?.kind
  }
}
