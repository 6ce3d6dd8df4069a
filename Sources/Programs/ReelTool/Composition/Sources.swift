import Glibc
import ReelCore
import ReelRemoteStorage
import ReelSandbox
import ReelSource
import ReelStores

/// The place where names given by the user become sources: a path of this machine, or an address.
struct Sources: Sendable {
  /// The number of files downloaded at once by default.
  static let downloads = 16

  private let remote: RemoteSources

  /// - Parameter rule: which servers may be connected to; nil for all.
  init(_ settings: Settings, rule: ConnectionRule? = nil) {
    // The command's settings, except those that concern stored objects.
    var stores = Stores(settings, library: nil)
    stores.rule = rule
    remote = RemoteSources(stores, limits: RemoteLimits(settings), staging: TemporaryStaging())
  }

  /// The paths and addresses that the words of a command line name.
  /// - Throws: ``CommandFailure`` for a word that is more likely a mistake than a file, unless there is such a file.
  static func named(_ words: [String]) throws -> [SourcePath] {
    let paths = RawArguments.paths(words)
    for path in paths where !path.isAddress {
      guard let mistake = MistakenPath.told(path.text),
        path.withCString({ faccessat(AT_FDCWD, $0, F_OK, AT_SYMLINK_NOFOLLOW) }) != 0
      else { continue }
      throw CommandFailure(.usage, mistake)
    }
    return paths
  }

  /// - Throws: ``CommandFailure`` for an invalid address, or one that a setting can't be used with.
  static func inputs(_ paths: [SourcePath], _ settings: Settings) async throws -> [SourceInput] {
    let sources = Sources(settings)
    var inputs: [SourceInput] = []
    for path in paths { inputs.append(try await sources.input(path)) }
    return inputs
  }

  /// - Parameter listed: the size and the state that the file at an address must have; nil for those that it has now.
  /// - Throws: ``CommandFailure``.
  func input(
    _ path: SourcePath, listed: (size: Int64, state: RemoteState)? = nil
  ) async throws -> SourceInput {
    guard let remote = try await remote.source(path) else {
      return SourceInput(path: path)
    }
    return SourceInput(remote, listed: listed.map { remote.file(size: $0.size, in: $0.state) })
  }
}

extension RemoteLimits {
  /// Limits for a download. Time spent waiting for a network does not count as a reader's, and has its own limit, six
  /// times as long.
  fileprivate init(_ settings: Settings) {
    self.init()
    if let limit = settings.maxRead?.bytes { bytes = limit }
    let deadline: Duration = settings.deadline.map { .seconds($0) } ?? SandboxedProber.defaultDeadline
    patience = deadline * 6
  }
}
