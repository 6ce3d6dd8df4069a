import Glibc
import ReelCore
import ReelSource

/// What the rows of a queue may name. Without this limit, anyone who may write to the queue could have any file
/// published that the worker can read, and anything that is served on the worker's machine and network.
package struct AllowedSources: Sendable {
  private enum Rule: Sendable {
    case root([UInt8])
    case place(AddressPlace)
    case host(String, port: Int?)
  }

  /// Empty to allow what is safe on most machines: see ``isSafe(_:)-(AddressPlace)``.
  private let rules: [Rule]
  /// The worker's own store, to which it connects anyway.
  private let destination: AddressPlace?

  /// - Parameters:
  ///   - texts: folders, addresses and hosts, as given to `--allow`.
  ///   - destination: where the worker stores.
  /// - Throws: for a text that is none of these.
  package init(_ texts: [String], destination: String) throws(NoSource) {
    self.destination = AddressPlace(destination)
    rules = try texts.map { text throws(NoSource) in
      if text.hasPrefix("/"), let root = Self.plain(Array(text.utf8)) {
        return .root(Self.real(root) ?? root)
      }
      if let place = AddressPlace(text) { return .place(place) }
      if !text.isEmpty, !text.contains("/"), let place = AddressPlace("http://" + text) {
        return .host(place.host.name, port: place.host.port)
      }
      throw NoSource(text)
    }
  }

  /// The error for a text that names no possible source.
  package struct NoSource: ReelError {
    package let text: ErrorMessage
    package var message: String { text.description }

    fileprivate init(_ allowed: String) {
      text =
        "\(setting: .allow) \(allowed) is neither a folder's absolute path, nor an address (s3://bucket/, https://host/folder/), nor a host"
    }
  }

  /// - Throws: `outsideRoot` if this worker may not read from the address.
  func check(_ address: SourcePath) throws(SourceError) {
    let isAllowed =
      if address.isAddress {
        AddressPlace(address.text).map(isAllowed) ?? false
      } else {
        isAllowed(address.bytes)
      }
    if !isAllowed { throw refusal }
  }

  /// Checks a file that was found by following links, which may lead elsewhere than when its path was checked.
  /// - Throws: `outsideRoot` if this worker may not read it; also `sourceChanged` and the like.
  func check(_ found: FoundFile) throws(SourceError) {
    guard !found.isRemote else { return }
    guard let path = try found.realPath(), isAllowed(real: path.bytes) else { throw refusal }
  }

  /// Returns the error for a request to `host` at `address`, to which a connection was made; nil if it may be sent. A
  /// name may lead elsewhere than when ``check(_:)-(SourcePath)`` resolved it.
  package func refusal(of host: String, at address: IPAddress?) -> SourceError? {
    if !rules.isEmpty || address?.isPublic == true { return nil }
    // A bucket may be part of its store's host name.
    if let own = destination?.host.name, host == own || host.hasSuffix("." + own) { return nil }
    return refusal
  }

  private var refusal: SourceError {
    SourceError(
      .outsideRoot,
      rules.isEmpty
        ? "workers read nothing from there by default: if this one should, start it with \(setting: .allow) FOLDER, ADDRESS or HOST, "
          + "then run reel queue retry --code outsideRoot"
        : "it is not in what \(setting: .allow) names for this worker: if it should be, start the worker with \(setting: .allow) FOLDER, ADDRESS or HOST, "
          + "then run reel queue retry --code outsideRoot")
  }

  private func isAllowed(_ place: AddressPlace) -> Bool {
    guard !rules.isEmpty else { return isSafe(place) }
    return rules.contains { rule in
      switch rule {
      case .root: false
      case .place(let allowed): allowed.holds(place)
      case .host(let name, let port):
        place.scheme != "s3" && place.host.name == name && (port == nil || port == place.host.port)
      }
    }
  }

  private func isAllowed(_ path: [UInt8]) -> Bool {
    // Resolve symbolic links in the parent folders. A link in the last place is checked once it has been followed.
    guard let path = Self.plain(path), let end = path.lastIndex(of: UInt8(ascii: "/")) else { return false }
    let real =
      Self.real(Array(path[..<max(1, end)])).map { ($0 == [UInt8(ascii: "/")] ? [] : $0) + path[end...] }
      ?? path
    return isAllowed(real: real) && (!rules.isEmpty || Self.isSafe(path))
  }

  private func isAllowed(real: [UInt8]) -> Bool {
    guard !rules.isEmpty else { return Self.isSafe(real) }
    return rules.contains { rule in
      if case .root(let root) = rule { Self.isIn(root, real) } else { false }
    }
  }

  // MARK: Defaults without --allow

  /// Whether the place is public, or on the host of the worker's own store.
  private func isSafe(_ place: AddressPlace) -> Bool {
    if let destination, destination.scheme == place.scheme, destination.authority == place.authority {
      return true
    }
    return !place.isPrivate
  }

  /// The folders of the system and of root.
  private static let systemFolders = ["/boot", "/dev", "/etc", "/proc", "/root", "/run", "/sys", "/var/run"]

  /// Whether the path is outside the system folders, and no part of it is hidden.
  private static func isSafe(_ path: [UInt8]) -> Bool {
    !systemFolders.contains { isIn(Array($0.utf8), path) }
      && !path.split(separator: UInt8(ascii: "/")).contains { $0.first == UInt8(ascii: ".") }
  }

  // MARK: Paths

  private static func isIn(_ root: [UInt8], _ path: [UInt8]) -> Bool {
    root == [UInt8(ascii: "/")] || path == root || path.starts(with: root + [UInt8(ascii: "/")])
  }

  /// The absolute path without empty and "." components and without a trailing slash; nil if it is not absolute or has
  /// "..".
  private static func plain(_ path: [UInt8]) -> [UInt8]? {
    guard path.first == UInt8(ascii: "/"), !path.contains(0) else { return nil }
    let steps = path.split(separator: UInt8(ascii: "/")).filter { $0 != [UInt8(ascii: ".")] }
    if steps.contains(where: { $0.elementsEqual("..".utf8) }) { return nil }
    return steps.isEmpty ? [UInt8(ascii: "/")] : Array(steps.flatMap { [UInt8(ascii: "/")] + $0 })
  }

  /// The path with symbolic links resolved; nil if it does not exist.
  private static func real(_ path: [UInt8]) -> [UInt8]? { SourcePath(bytes: path).resolved?.bytes }
}
