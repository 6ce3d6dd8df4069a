import Dispatch
import FoundationEssentials
import Glibc
import ReelCore
import Synchronization

/// Finds the files to take in, beneath what the user named, a few at a time.
///
/// Inputs come in the order given; a folder's files depth first, in byte order within each folder, so that
/// two runs over the same tree are alike. Its memory does not grow with the number of files, but with the
/// names in the folders on the way down, and (for several inputs, or with links) with the number of folders
/// and of inputs.
///
/// Everything is found and opened by descriptor beneath the folder that the user named. No FIFO or device is
/// opened.
public final class SourceWalk: Sendable {
  /// A file found holds its folder open. So a batch ends early after this many folders.
  private static let foldersInABatch = 32

  private let state: Mutex<WalkState>
  /// Ends every wait for what lies elsewhere.
  package let cancellation = CancellationFlag()

  /// Does nothing yet: the first call of ``next(upTo:)`` begins.
  public init(inputs: [SourceInput], options: WalkOptions = WalkOptions()) {
    state = Mutex(WalkState(inputs: inputs, options: options, cancellation))
  }

  /// The next items, at least one and at most `count`; none at the end. Blocks, for as long as it takes to
  /// find them.
  public func next(upTo count: Int) -> [WalkItem] {
    state.withLock { state in
      var items: [WalkItem] = []
      var folders: Set<DirectoryIdentity> = []
      while items.count < count, folders.count < Self.foldersInABatch, let item = state.next() {
        items.append(item)
        if case .candidate(let file) = item, let directory = file.directory {
          folders.insert(directory.identity)
        }
      }
      return items
    }
  }
}

/// How a walk goes.
public struct WalkOptions: Sendable {
  /// Whether symbolic links are followed: those that the user named wherever they lead, those within a folder
  /// as long as they stay beneath it. A link with an absolute target counts as leading out.
  public var followLinks: Bool
  /// Which of the names in folders are looked at.
  public var filter: NameFilter
  /// Folders that are never entered, whatever they are called: the library and the destination.
  public var skippedDirectories: [DirectoryIdentity]
  /// Whether a folder that the user named stands for its files; else it is a failure of its own.
  public var entersFolders = true
  /// Extensions, lower case, by which a name in a folder makes its file a candidate, beyond those of the containers.
  public var otherExtensions: Set<String> = []
  /// Whether folders are entered that hold what was thrown away, or what a system keeps for itself: `$RECYCLE.BIN`,
  /// `#recycle`, `@eaDir`, `lost+found` and the like, unless the user named them.
  public var includesTrash = false
  /// Whether a file is passed by whose name says that it may not be done: there is something behind a video's extension, as
  /// in `clip.mp4.x7Q2`, or before it, as in `clip.temp.mp4`.
  package var skipsDoubtfulNames = false
  /// Whether a Git LFS pointer is a candidate whatever its name.
  public var takesPointers = false
  /// Whether what the user named twice is given twice, as for an answer to each argument.
  package var repeatsInputs = false
  /// Addresses below which nothing is taken in: the destination's.
  package var skippedAddresses: [String] = []
  /// What files that lie elsewhere are read for.
  package var remoteUse = RemoteUse.copying
  /// Files of this machine are left alone that were changed less than this long before ``begun``, or since then: they may still
  /// be written to. A time of change that is further than this in the future counts for nothing: else such a file would be
  /// left alone for ever.
  public var settle = Duration.zero
  /// When the run began of which this walk is a part: walks that count and that hand out files judge alike. Nil for now.
  public var begun: Date?
  /// What time it is.
  package var now: @Sendable () -> Date = { Date() }
  /// Told of each file and folder that is passed by, and why.
  package var onPassed: (@Sendable (SourcePath, PassedBy) -> Void)?
  /// Told of each folder before its names are read.
  var onFolder: (@Sendable (SourcePath, Descriptor) -> Void)?

  /// By default no link is followed, every name is looked at, and nothing is skipped.
  public init(
    followLinks: Bool = false, filter: NameFilter = NameFilter(), skippedDirectories: [DirectoryIdentity] = []
  ) {
    self.followLinks = followLinks
    self.filter = filter
    self.skippedDirectories = skippedDirectories
  }
}

extension WalkOptions {
  /// Why a walk does not come to the folder at `path`, seen from the one that the user named, and enter it; nil where it does.
  func obstacle(onWay path: [UInt8]) -> PassedBy? {
    let slash = UInt8(ascii: "/")
    var end = path.startIndex
    while end < path.endIndex {
      let next = path[end...].firstIndex(of: slash) ?? path.endIndex
      if let found = obstacle(toFolder: Array(path[end..<next]), at: Array(path[..<next])) { return found }
      end = min(next + 1, path.endIndex)
    }
    return nil
  }

  /// Why the folder is not entered; nil where it is.
  /// - Parameter path: that of the folder `name`, seen from the one that the user named.
  func obstacle(toFolder name: [UInt8], at path: [UInt8]) -> PassedBy? {
    if ExtensionHint(of: name) == .ignored { return .hidden }
    if UnfinishedName.isFolder(name) { return .unfinished }
    if !filter.entersFolder(path) { return .excluded }
    return !includesTrash && TrashFolder.isOne(name) ? .trash : nil
  }

  /// What a walk gives for a file or folder that is passed by.
  func pass(_ path: SourcePath, _ reason: PassedBy) -> WalkItem {
    onPassed?(path, reason)
    return reason == .changing ? .leftAlone(path) : .ignored(path)
  }

  /// A candidate, unless it was changed a moment ago by somebody who may not be done.
  func candidate(_ file: FoundFile) -> WalkItem {
    guard settle > .zero, file.owned == nil else { return .candidate(file) }
    let (changed, now) = (Date(timeIntervalSince1970: Double(file.identity.modifiedAt) / 1e9), now())
    let settle = settle / .seconds(1)
    return changed > (begun ?? now) - settle && changed < now + settle
      ? pass(file.path, .changing) : .candidate(file)
  }

  /// Whether `path` is, or lies below, an address that is not taken in.
  func skips(_ path: SourcePath) -> Bool {
    skippedAddresses.contains { address in
      let folder = Array((address.hasSuffix("/") ? address : address + "/").utf8)
      return path.bytes.starts(with: folder) || path.bytes == Array(folder.dropLast())
    }
  }
}

/// Something that a walk met.
public enum WalkItem: Sendable {
  /// A file to take in.
  case candidate(FoundFile)
  /// Neither its name nor its bytes claim to be a video, or it was excluded. A folder that is not entered
  /// counts as one.
  case ignored(SourcePath)
  /// As ``ignored(_:)``: a sidecar beside no file that could be its video.
  case orphanSidecar(SourcePath)
  /// It would be a candidate, and was changed so short a time ago that it is left for the next walk
  /// (``WalkOptions/settle``).
  case leftAlone(SourcePath)
  /// It should have been a candidate, or a folder to enter, and can't be.
  case failed(SourcePath, SourceError)
}

/// Why a walk passes something by.
package enum PassedBy: Hashable, Sendable {
  /// By its name: hidden, or a system's own.
  case hidden
  /// By its name: somebody has not finished it.
  case unfinished
  /// A folder of what was thrown away, or is a system's own.
  case trash
  /// By `--include` or `--exclude`.
  case excluded
  /// It belongs to the library or the destination.
  case own
  /// The sidecar of a video.
  case sidecar
  /// Neither its name nor its bytes say that it is a video.
  case noVideo
  /// It can't be looked into, and its name claims nothing.
  case unreachable
  /// It was changed a moment ago.
  case changing
}

/// Where a walk stands.
struct WalkState: Sendable {
  let options: WalkOptions
  var inputs: ArraySlice<SourceInput>
  var folder: FolderWalk?
  var bucket: BucketWalk?
  let cancellation: CancellationFlag
  /// Addresses that were named, by what tells them apart.
  private var addresses: Set<[UInt8]> = []
  /// Of addresses that were opened with one before them, in the order in which they were named.
  private var opened: ArraySlice<WalkItem> = []
  /// How many addresses are opened at once: each takes a way there and back, or until its server has not answered.
  private static let openedAtOnce = 16
  var parents: ParentDirectories
  /// The folder of the last file below a folder that was named: what is known of its names is for the next one, too.
  private var lastParent: DirectoryHandle?
  var seen: SeenSources
  var skipped: ExcludedDirectories
  /// All that was named.
  private let named: [SourceInput]
  /// The folders among these, without links; nil until a link asks.
  private var namedFolders: [SourcePath]?

  init(inputs: [SourceInput], options: WalkOptions, _ cancellation: CancellationFlag = CancellationFlag()) {
    self.inputs = inputs[...]
    named = inputs
    self.cancellation = cancellation
    self.options = options
    parents = ParentDirectories(followLinks: options.followLinks)
    seen = SeenSources(
      isNeeded: (inputs.count > 1 && !options.repeatsInputs) || options.followLinks)
    skipped = ExcludedDirectories(options.skippedDirectories)
  }

  /// The next item, or nil at the end.
  mutating func next() -> WalkItem? {
    while true {
      if folder != nil {
        if let item = stepInFolder() { return item }
      } else if bucket != nil {
        if let item = stepInBucket() { return item }
      } else if let item = opened.popFirst() {
        return item
      } else if let input = inputs.popFirst() {
        if let remote = input.remote {
          if let item = begin(remote, input.listed) { return item }
        } else if let item = input.root.map({ begin(input.path, beneath: $0) })
          ?? begin(input.path, input.owned)
        {
          return item
        }
      } else {
        return nil
      }
    }
  }

  // MARK: What the user named

  private mutating func begin(_ path: SourcePath, _ owned: OwnedFile?) -> WalkItem? {
    do throws(SourceError) {
      let located = try PathLookup.find(path.bytes, from: nil, links: options.followLinks ? .follow : .refuse)
      if located.status.kind == .directory, options.entersFolders { return try beginFolder(path, located) }
      var file = try parents.foundFile(path, located)
      file.owned = owned
      guard let directory = file.directory else { return options.candidate(file) }
      guard !skipped.covers(directory.descriptor, directory.identity) else {
        throw ExcludedDirectories.error
      }
      return isNew(file, in: directory.identity) ? options.candidate(file) : nil
    } catch {
      return .failed(path, error)
    }
  }

  private mutating func beginFolder(_ path: SourcePath, _ located: LocatedFile) throws(SourceError)
    -> WalkItem?
  {
    let identity = located.status.directoryIdentity
    guard !skipped.covers(located.descriptor, identity) else { throw ExcludedDirectories.error }
    guard seen.enters(identity) else { return nil }
    let directory = try located.openDirectory()
    options.onFolder?(path, directory.descriptor)
    folder = try FolderWalk(directory, path: path, followLinks: options.followLinks)
    return nil
  }

  /// The walk through `root`, from `path` on, and no further.
  private mutating func begin(_ path: SourcePath, beneath root: SourcePath) -> WalkItem? {
    let name = path.lastComponent.bytes
    do throws(SourceError) {
      let top = try PathLookup.find(root.bytes, from: nil, links: options.followLinks ? .follow : .refuse)
      let walk = FolderWalk(
        beneath: try top.openDirectory(), root, followLinks: options.followLinks)
      let relative = Array(path.bytes.dropFirst(walk.rootLength))
      let parent = Array(relative.dropLast(name.count))
      let located =
        try parent.isEmpty
        ? top
        : PathLookup.find(
          parent + [UInt8(ascii: ".")], from: walk.root.descriptor,
          links: options.followLinks ? .followBeneath : .refuse)
      let identity = located.status.directoryIdentity
      let directory =
        lastParent.flatMap { $0.identity == identity ? $0 : nil }
        ?? DirectoryHandle(descriptor: located.descriptor, identity: identity)
      lastParent = directory
      let entry = walk.entry(at: path, name, in: directory)
      folder = walk
      return visit(entry)
    } catch {
      return .failed(path, error)
    }
  }

  /// Whether it was neither named before, nor surely found in a folder that was walked before. Where that
  /// isn't sure it comes twice, and its digest tells.
  private mutating func isNew(_ file: FoundFile, in directory: DirectoryIdentity) -> Bool {
    if options.repeatsInputs { return true }
    let name = file.path.lastComponent.bytes
    guard seen.names(name, in: directory) else { return false }
    let wasFound =
      seen.hasEntered(directory) && ExtensionHint(of: name) == .media && options.filter.takesAll
    return !wasFound
  }
}

// What lies elsewhere.
extension WalkState {
  private mutating func begin(_ remote: any RemoteSource, _ listed: RemoteFile?) -> WalkItem? {
    guard addresses.insert(remote.identifier).inserted else { return nil }
    guard !options.skips(remote.path) else { return .failed(remote.path, ExcludedDirectories.error) }
    if let listed {
      return .candidate(RemoteOrigin.listed(listed, of: remote, for: options.remoteUse, cancellation))
    }
    if remote.isFolder {
      guard options.entersFolders else { return .failed(remote.path, .isDirectory) }
      bucket = BucketWalk(remote)
      return nil
    }
    opened = openTogether(with: remote)[...]
    return opened.popFirst()
  }

  /// Opens the file at that address and those of the addresses that were named behind it.
  private mutating func openTogether(with first: any RemoteSource) -> [WalkItem] {
    var sources = [first]
    while sources.count < Self.openedAtOnce, let next = inputs.first?.remote, !next.isFolder,
      !options.skips(next.path)
    {
      inputs.removeFirst()
      if addresses.insert(next.identifier).inserted { sources.append(next) }
    }
    let (use, cancellation) = (options.remoteUse, cancellation)
    let items = Mutex([WalkItem?](repeating: nil, count: sources.count))
    let group = DispatchGroup()
    for (index, source) in sources.enumerated() {
      // A queue for each: a concurrent one counts threads that wait against the cores.
      DispatchQueue(label: "reel.walk.address").async(group: group) {
        let item: WalkItem
        do throws(SourceError) {
          item = .candidate(try RemoteOrigin.named(source, for: use, cancellation))
        } catch {
          item = .failed(source.path, error)
        }
        items.withLock { $0[index] = item }
      }
    }
    group.wait()
    return items.withLock { $0 }.compactMap(\.self)
  }

  private mutating func stepInBucket() -> WalkItem? {
    guard var walk = bucket.take() else { return nil }
    do throws(SourceError) {
      guard let item = try walk.next(options, cancellation) else { return nil }
      bucket = walk
      return item
    } catch {
      return .failed(walk.source.path, error)
    }
  }
}

// What lies in a folder that the user named.
extension WalkState {
  mutating func stepInFolder() -> WalkItem? {
    guard let step = folder?.next() else { return nil }
    switch step {
    case .entry(let entry): return visit(entry)
    case .lost(let path, let error): return .failed(path, error)
    case .end:
      folder = nil
      return nil
    }
  }

  private mutating func visit(_ entry: FolderWalk.Entry) -> WalkItem? {
    let claim = ExtensionHint(of: entry.name)
    guard claim != .ignored else { return options.pass(entry.path, .hidden) }
    do throws(SourceError) {
      let status = try entry.directory.status(of: entry.name)
      guard status.kind == .link else { return try visit(entry, status, claim, at: .name(entry.name)) }
      guard options.followLinks, let root = folder?.root else { throw .isLink }
      let place = FilePlace.beneath(root: root, path: entry.relativePath)
      return try visit(entry, try place.find(in: entry.directory).status, claim, at: place)
    } catch {
      return unreachable(entry, claim, error)
    }
  }

  private mutating func visit(
    _ entry: FolderWalk.Entry, _ status: FileStatus, _ claim: ExtensionHint, at place: FilePlace
  ) throws(SourceError) -> WalkItem? {
    switch status.kind {
    case .directory: return visitFolder(entry, at: place)
    case .link: throw .isLink
    case .special(let kind): throw .notRegular(kind)
    case .regular: break
    }
    guard claim != .unfinished, claim != .doubtful || !options.skipsDoubtfulNames else {
      return options.pass(entry.path, .unfinished)
    }
    guard !seen.hasNamed(entry.name, in: entry.directory.identity) else { return nil }
    guard options.filter.takesFile(entry.relativePath) else { return options.pass(entry.path, .excluded) }
    let file = FoundFile(
      path: entry.path, identity: status.identity, wasNamed: false,
      origin: .local(entry.directory, place))
    if claim == .shared {
      return try isAmbiguousExtension(file)
        ? options.pass(entry.path, .noVideo) : options.candidate(file)
    }
    if claim == .media || claimsOtherwise(entry) || isDoubtfulMedia(claim, entry) {
      return options.candidate(file)
    }
    if try isCandidateByBytes(file) { return options.candidate(file) }
    if isOrphanSidecar(file, entry) { return .orphanSidecar(entry.path) }
    return options.pass(entry.path, isSidecar(entry) ? .sidecar : .noVideo)
  }

  /// Of nobody's interest unless somebody is told.
  private mutating func isSidecar(_ entry: FolderWalk.Entry) -> Bool {
    options.onPassed != nil && Sidecar.isName(entry.name)
      && folder?.hasVideo(forSidecar: entry.name) == true
  }

  private mutating func isOrphanSidecar(_ file: FoundFile, _ entry: FolderWalk.Entry) -> Bool {
    guard entry.name.suffix(5).elementsEqual(".json".utf8),
      (1...Int64(Sidecar.largest)).contains(file.identity.size),
      folder?.hasVideo(forSidecar: entry.name) == false,
      let bytes = try? file.open().handle.head(Sidecar.largest)
    else { return false }
    return Sidecar.isOne(bytes)
  }

  /// Its extension is a video's all the same: that it is none is then a failure.
  private func isDoubtfulMedia(_ claim: ExtensionHint, _ entry: FolderWalk.Entry) -> Bool {
    claim == .doubtful
      && SourcePath(bytes: entry.name).claimedExtension.map(MediaContainer.claimableExtensions.contains)
        ?? false
  }

  private func claimsOtherwise(_ entry: FolderWalk.Entry) -> Bool {
    guard !options.otherExtensions.isEmpty else { return false }
    return SourcePath(bytes: entry.name).claimedExtension.map(options.otherExtensions.contains) ?? false
  }

  private func isCandidateByBytes(_ file: FoundFile) throws(SourceError) -> Bool {
    guard file.identity.size > 0 else { return false }
    let opened = try file.open()
    switch Sniffer.verdict(head: try opened.handle.head(Sniffer.headLength), size: opened.size) {
    case .container: return true
    case .refused(let error): return options.takesPointers && error.code == .lfsPointer
    case .unrecognised: return false
    }
  }

  private func isAmbiguousExtension(_ file: FoundFile) throws(SourceError) -> Bool {
    guard let claimed = file.path.claimedExtension else { return false }
    let opened = try file.open()
    return AmbiguousExtension.isOne(
      head: try opened.handle.head(Sniffer.headLength), size: opened.size, claimed: claimed)
  }

  private mutating func visitFolder(_ entry: FolderWalk.Entry, at place: FilePlace) -> WalkItem? {
    if let obstacle = options.obstacle(toFolder: entry.name, at: entry.relativePath) {
      return options.pass(entry.path, obstacle)
    }
    do throws(SourceError) {
      let located = try place.find(in: entry.directory)
      guard located.status.kind == .directory else { throw .changed }
      guard !skipped.contains(located.status.directoryIdentity) else { return options.pass(entry.path, .own) }
      guard seen.enters(located.status.directoryIdentity) else { return nil }
      let directory = try located.openDirectory()
      options.onFolder?(entry.path, directory.descriptor)
      try folder?.enter(entry, directory, byLink: place.mayBeLink)
      return nil
    } catch {
      return .failed(entry.path, error)
    }
  }

  /// Something whose name claims nothing, and that can't be looked into, is none of ours; but a link to a folder, and one
  /// that was to be followed and leads out, may be a whole folder of videos.
  private mutating func unreachable(
    _ entry: FolderWalk.Entry, _ claim: ExtensionHint, _ error: SourceError
  ) -> WalkItem {
    if error.code == .isLink, leadsToOtherFolder(entry) { return .failed(entry.path, .isLinkToFolder) }
    let isOurs = (claim == .media || claim == .shared) && options.filter.takesFile(entry.relativePath)
    let isLoss = isOurs || error.code == .tooManyOpenFiles || error.code == .outsideRoot
    return isLoss ? .failed(entry.path, error) : options.pass(entry.path, .unreachable)
  }

  /// Whether it is a link to a folder that the walk does not come by anyway.
  private mutating func leadsToOtherFolder(_ entry: FolderWalk.Entry) -> Bool {
    guard options.obstacle(toFolder: entry.name, at: entry.relativePath) == nil,
      let target = entry.path.resolved, let identity = DirectoryIdentity(at: target),
      !options.skippedDirectories.contains(identity)
    else { return false }
    let folders =
      namedFolders ?? named.filter { $0.path.fileKind == S_IFDIR }.compactMap(\.path.resolved)
    namedFolders = folders
    return !folders.contains { $0.holds(target) }
  }
}
