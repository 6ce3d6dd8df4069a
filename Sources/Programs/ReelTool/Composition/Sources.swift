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
      try Self.checkSlashes(path)
      return SourceInput(path: path)
    }
    return SourceInput(remote, listed: listed.map { remote.file(size: $0.size, in: $0.state) })
  }

  /// Rejects `s3:/bucket/name`, which is more likely a mistyped address than a file, unless there is such a file.
  private static func checkSlashes(_ path: SourcePath) throws {
    let text = path.text.lowercased()
    guard let scheme = ["s3", "http", "https"].first(where: { text.hasPrefix($0 + ":") }),
      path.withCString({ access($0, F_OK) }) != 0
    else { return }
    let example = scheme == "s3" ? "s3://bucket/name" : "\(scheme)://host/name"
    throw CommandFailure(
      .usage, "there is no file \(path.text); an address has two slashes after the colon: \(example)")
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
