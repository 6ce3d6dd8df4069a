import ReelCore
import Synchronization

/// A walk through the objects below an address: page by page, in the order of the store, which is that of the names'
/// bytes. It holds two pages at a time.
struct BucketWalk: Sendable {
  let source: any RemoteSource
  private var page: ArraySlice<RemoteFile> = []
  /// The next page, which is fetched early: a video and its sidecar may be on different pages.
  private var following: RemotePage?
  private var hasBegun = false
  private var trail = PageTrail()
  /// The names of sidecars on the previous page, on this one and on the next.
  private var sidecars: [Set<[UInt8]>] = []
  /// These sidecars by the bytes of their names: a store tells apart two names that look alike.
  private var files: [[UInt8]: RemoteFile] = [:]
  /// Their names, by the key that names that print alike have in common.
  private var alike: [String: Set<[UInt8]>] = [:]

  init(_ source: any RemoteSource) { self.source = source }

  /// Returns the next item, or nil at the end. Blocks.
  mutating func next(_ options: WalkOptions, _ cancellation: CancellationFlag) throws(SourceError)
    -> WalkItem?
  {
    while true {
      while let file = page.popFirst() {
        if let item = visit(file, options, cancellation) { return item }
      }
      guard try turn(cancellation) else { return nil }
    }
  }

  /// Advances to the next page; false if there is none.
  private mutating func turn(_ cancellation: CancellationFlag) throws(SourceError) -> Bool {
    if !hasBegun {
      hasBegun = true
      following = try load(after: nil, cancellation)
    }
    guard let current = following else { return false }
    page = current.files[...]
    following = nil
    if let token = current.next { following = try load(after: token, cancellation) }
    return true
  }

  private mutating func load(
    after token: String?, _ cancellation: CancellationFlag
  ) throws(SourceError) -> RemotePage {
    let page = try source.page(after: token, cancellation: cancellation)
    guard trail.goesOn(to: page.next, after: page.lastName) else {
      throw SourceError(
        .unreadable,
        "its list never ends, because the store returns the same page again; tell the store's operator")
    }
    let found = page.files.filter { Sidecar.isName(Array($0.name.utf8)) }
    if sidecars.count == 3 {
      for name in sidecars.removeFirst() { note(nil, name) }
    }
    sidecars.append(Set(found.map { Array($0.name.utf8) }))
    for file in found { note(file, Array(file.name.utf8)) }
    return page
  }

  private mutating func note(_ file: RemoteFile?, _ name: [UInt8]) {
    files[name] = file
    guard let key = AlikeName.key(name) else { return }
    if file == nil { alike[key]?.remove(name) } else { alike[key, default: []].insert(name) }
    if alike[key]?.isEmpty == true { alike[key] = nil }
  }

  /// Returns the sidecar of that name, or else the only one whose name prints alike.
  private func sidecar(_ name: [UInt8]) -> RemoteFile? {
    if let file = files[name] { return file }
    guard let key = AlikeName.key(name), let names = alike[key], names.count == 1 else { return nil }
    return names.first.flatMap { files[$0] }
  }

  /// Returns the item for `file`, or nil for a sidecar, which is not a file of the walk.
  private func visit(
    _ file: RemoteFile, _ options: WalkOptions, _ cancellation: CancellationFlag
  ) -> WalkItem? {
    let relative = Array(file.path.bytes.dropFirst(source.path.bytes.count)).drop { $0 == UInt8(ascii: "/") }
    let folders = relative.lastIndex(of: UInt8(ascii: "/")).map { relative[..<$0] } ?? []
    if let obstacle = options.obstacle(onWay: Array(folders), from: source.path) {
      return options.pass(file.path, obstacle)
    }
    guard !options.skips(file.path) else { return options.pass(file.path, .own) }
    let claim = ExtensionHint(of: file.path.lastComponent.bytes)
    guard claim != .ignored else { return options.pass(file.path, .hidden) }
    guard claim != .unfinished, claim != .doubtful || !options.skipsDoubtfulNames else {
      return options.pass(file.path, .unfinished)
    }
    guard options.filter.takesFile(Array(relative)) else { return options.pass(file.path, .excluded) }
    let claimed = file.path.lastComponent.claimedExtension
    let isMedia = claimed.map(MediaContainer.claimableExtensions.contains) ?? false
    if claim == .media || claim == .doubtful && isMedia
      || claimed.map(options.otherExtensions.contains) ?? false
    {
      return .candidate(found(file, options.remoteUse, cancellation))
    }
    // Reading its first bytes costs a request, which a file with the extension of another kind is not worth.
    guard claim == .shared || claimed == nil, file.identity.size > 0 else {
      return options.pass(file.path, .noVideo)
    }
    return byBytes(file, claim, options, cancellation)
  }

  private func byBytes(
    _ file: RemoteFile, _ claim: ExtensionHint, _ options: WalkOptions, _ cancellation: CancellationFlag
  ) -> WalkItem {
    do throws(SourceError) {
      // The file may wait behind thousands of others before it is copied, so it is opened again then.
      let opened = try source.open(file, for: .probing, cancellation: cancellation)
      let head = try opened.handle.head(Sniffer.headLength)
      let isWanted: Bool
      if claim == .shared {
        isWanted = !AmbiguousExtension.isOne(
          head: head, size: opened.size, claimed: file.path.claimedExtension ?? "")
      } else if case .container = Sniffer.verdict(head: head, size: opened.size) {
        isWanted = true
      } else {
        isWanted = false
      }
      return isWanted
        ? .candidate(found(file, options.remoteUse, cancellation)) : options.pass(file.path, .noVideo)
    } catch {
      return claim == .shared ? .failed(file.path, error) : options.pass(file.path, .unreachable)
    }
  }

  private func found(
    _ file: RemoteFile, _ use: RemoteUse, _ cancellation: CancellationFlag
  ) -> FoundFile {
    let bytes = Array(file.name.utf8)
    let start = bytes.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
    let sidecar = sidecar(bytes[..<start] + Sidecar.name(for: Array(bytes[start...])))
    return FoundFile(
      path: file.path, identity: file.identity, wasNamed: false,
      origin: .remote(
        RemoteOrigin(
          source: source, file: file, use: use, sidecar: sidecar.map { .listed($0) } ?? .none, nil,
          cancellation)))
  }
}

/// How a remote file is opened.
struct RemoteOrigin: Sendable {
  /// Where the file's sidecar is.
  enum SidecarPlace: Sendable {
    case none
    /// In the listing.
    case listed(RemoteFile)
    /// Beside it, if it exists, which is unknown so far.
    case beside(any RemoteSource)
  }
  private let source: any RemoteSource
  private let file: RemoteFile?
  private let use: RemoteUse
  /// What is known of the file's state.
  let state: RemoteState
  private let sidecarPlace: SidecarPlace
  /// The file, if it was opened to read its first bytes; handed to the first caller that opens it.
  private let opened: Opened
  private let cancellation: CancellationFlag

  private final class Opened: Sendable {
    private let file: Mutex<SourceFile?>
    init(_ file: SourceFile?) { self.file = Mutex(file) }
    func take() -> SourceFile? { file.withLock { $0.take() } }
  }

  init(
    source: any RemoteSource, file: RemoteFile?, use: RemoteUse, sidecar: SidecarPlace, _ opened: SourceFile?,
    _ cancellation: CancellationFlag
  ) {
    (self.source, self.file, self.use, sidecarPlace) = (source, file, use, sidecar)
    state = file?.state ?? (opened?.handle as? any RemoteHandle)?.state ?? RemoteState()
    self.cancellation = cancellation
    self.opened = Opened(opened)
  }

  /// Finds the file that an address names. Blocks, as its first bytes are read to see that it exists.
  static func named(
    _ source: any RemoteSource, for use: RemoteUse, _ cancellation: CancellationFlag
  ) throws(SourceError) -> FoundFile {
    let opened = try source.open(nil, for: use, cancellation: cancellation)
    return FoundFile(
      path: source.path, identity: opened.identity, wasNamed: true,
      origin: .remote(
        RemoteOrigin(
          source: source, file: nil, use: use, sidecar: besides(source), opened, cancellation)))
  }

  /// Makes the file that an address names, in a state that was seen earlier. Sends no request.
  static func listed(
    _ file: RemoteFile, of source: any RemoteSource, for use: RemoteUse, _ cancellation: CancellationFlag
  ) -> FoundFile {
    FoundFile(
      path: file.path, identity: file.identity, wasNamed: true,
      origin: .remote(
        RemoteOrigin(source: source, file: file, use: use, sidecar: besides(source), nil, cancellation)))
  }

  private static func besides(_ source: any RemoteSource) -> SidecarPlace {
    source.sibling(Sidecar.name(for: source.path.lastComponent.bytes)).map { .beside($0) } ?? .none
  }

  func open(_ cancellation: CancellationFlag) throws(SourceError) -> SourceFile {
    if let ready = opened.take() { return ready }
    return try source.open(file, for: use, cancellation: cancellation)
  }

  /// Returns the sidecar's bytes, at most one more than allowed; nil if there is no sidecar.
  func sidecar() throws(SourceError) -> [UInt8]? {
    let opened: SourceFile
    switch sidecarPlace {
    case .none: return nil
    case .listed(let file): opened = try source.open(file, for: .probing, cancellation: cancellation)
    case .beside(let other):
      do throws(SourceError) {
        opened = try other.open(nil, for: .probing, cancellation: cancellation)
      } catch  where error.code == .denied {
        // A user who may read the video but not list is denied even objects that do not exist.
        return nil
      }
    }
    return try opened.handle.head(Sidecar.largest + 1)
  }
}
