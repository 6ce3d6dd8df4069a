import Dispatch
import FoundationEssentials
import Glibc
import ReelCore
import Synchronization

/// Finds the files to ingest beneath what the user named, a few at a time.
///
/// Inputs are walked in the order given, and each folder depth first, in byte order within a folder, so that two runs
/// over one tree are alike. Memory does not grow with the number of files, but with the names in the folders on the way
/// down and (for several inputs, or with links) with the number of folders and inputs.
///
/// Everything is found and opened by descriptor beneath the folder that the user named. No FIFO or device is opened.
public final class SourceWalk: Sendable {
  /// Each file that was found holds its folder open, so a batch ends early after this many folders.
  private static let foldersInABatch = 32

  private let state: Mutex<WalkState>
  /// Ends every wait for a remote file.
  package let cancellation = CancellationFlag()

  /// Creates a walk, which begins with the first call of ``next(upTo:)``.
  public init(inputs: [SourceInput], options: WalkOptions = WalkOptions()) {
    state = Mutex(WalkState(inputs: inputs, options: options, cancellation))
  }

  /// Returns the next items, at least one and at most `count`; none at the end. Blocks, for as long as it takes to find
  /// them.
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

/// What a walk takes in, and what it passes by.
public struct WalkOptions: Sendable {
  /// Whether symbolic links are followed: those that the user named wherever they lead, those within a folder
  /// as long as they stay beneath it. A link with an absolute target counts as leading out.
  public var followLinks: Bool
  /// Which names in folders are considered.
  public var filter: NameFilter
  /// Folders that are never entered, whatever their names: the library and the destination.
  public var skippedDirectories: [DirectoryIdentity]
  /// Whether a folder that the user named stands for its files; otherwise it is a failure.
  public var entersFolders = true
  /// Extensions in lower case, besides those of the containers, that make a file in a folder a candidate.
  public var otherExtensions: Set<String> = []
  /// Whether to enter folders of discarded files and those that a system keeps for itself, even if the user did not
  /// name them: `$RECYCLE.BIN`, `#recycle`, `@eaDir`, `lost+found` and the like.
  public var includesTrash = false
  /// Whether to pass by files whose names say that they may be unfinished: there is something after a video's
  /// extension, as in `clip.mp4.x7Q2`, or before it, as in `clip.temp.mp4`.
  package var skipsDoubtfulNames = false
  /// Whether a Git LFS pointer is a candidate whatever its name is.
  public var takesPointers = false
  /// Whether what the user named twice is returned twice, for a command that answers each argument.
  package var repeatsInputs = false
  /// Addresses below which nothing is ingested: the destination's.
  package var skippedAddresses: [String] = []
  /// What remote files are read for.
  package var remoteUse = RemoteUse.copying
  /// The time for which a local file must have been left alone before ``begun``. One that was modified later may still
  /// be written to, and is passed by. A modification time further than this in the future is ignored, as such a file
  /// would be passed by forever.
  public var settle = Duration.zero
  /// When the run to which this walk belongs began, so that its walks that count files and that hand them out judge
  /// alike. Nil stands for now.
  public var begun: Date?
  /// Returns the current time.
  package var now: @Sendable () -> Date = { Date() }
  /// Called for each file and folder that is passed by, with the reason.
  package var onPassed: (@Sendable (SourcePath, PassedBy) -> Void)?
  /// Called for each folder before its names are read.
  var onFolder: (@Sendable (SourcePath, Descriptor) -> Void)?

  /// Creates options by which no link is followed, every name is considered, and nothing is skipped, unless stated
  /// otherwise.
  public init(
    followLinks: Bool = false, filter: NameFilter = NameFilter(), skippedDirectories: [DirectoryIdentity] = []
  ) {
    self.followLinks = followLinks
    self.filter = filter
    self.skippedDirectories = skippedDirectories
  }
}

extension WalkOptions {
  /// Returns why a walk does not reach and enter the folder at `path`, relative to `root`, the one that the user named;
  /// nil if it does.
  func obstacle(onWay path: [UInt8], from root: SourcePath) -> PassedBy? {
    let slash = UInt8(ascii: "/")
    var end = path.startIndex
    while end < path.endIndex {
      let next = path[end...].firstIndex(of: slash) ?? path.endIndex
      let place = Array(path[..<next])
      if let found = obstacle(toFolder: Array(path[end..<next]), at: place, of: root.appending(place)) {
        return found
      }
      end = min(next + 1, path.endIndex)
    }
    return nil
  }

  /// Returns why the folder is not entered; nil if it is.
  /// - Parameters:
  ///   - path: the path of the folder `name`, relative to the one that the user named.
  ///   - whole: its path, of which the folder that the user named is a part.
  func obstacle(toFolder name: [UInt8], at path: [UInt8], of whole: SourcePath) -> PassedBy? {
    if ExtensionHint(of: name) == .ignored { return .hidden }
    if UnfinishedName.isFolder(name) { return .unfinished }
    if !filter.entersFolder(path) { return .excluded }
    guard !includesTrash else { return nil }
    return TrashFolder.isOne(name) || TrashFolder.holdsSecondVersions(name, at: whole) ? .trash : nil
  }

  /// Returns a walk's item for a file or folder that is passed by.
  func pass(_ path: SourcePath, _ reason: PassedBy) -> WalkItem {
    onPassed?(path, reason)
    return reason == .changing ? .leftAlone(path) : .ignored(path)
  }

  /// Returns the file as a candidate, unless it was modified a moment ago and may be unfinished.
  func candidate(_ file: FoundFile) -> WalkItem {
    guard settle > .zero, file.owned == nil else { return .candidate(file) }
    let (changed, now) = (Date(timeIntervalSince1970: Double(file.identity.modifiedAt) / 1e9), now())
    let settle = settle / .seconds(1)
    return changed > (begun ?? now) - settle && changed < now + settle
      ? pass(file.path, .changing) : .candidate(file)
  }

  /// Whether `path` is an address that is not ingested, or is below one.
  func skips(_ path: SourcePath) -> Bool {
    skippedAddresses.contains { address in
      let folder = Array((address.hasSuffix("/") ? address : address + "/").utf8)
      return path.bytes.starts(with: folder) || path.bytes == Array(folder.dropLast())
    }
  }
}

/// Something that a walk has found.
public enum WalkItem: Sendable {
  /// A file to ingest.
  case candidate(FoundFile)
  /// Neither its name nor its bytes claim to be a video, or it was excluded. A folder that is not entered counts as one
  /// item.
  case ignored(SourcePath)
  /// Like ``ignored(_:)``: a sidecar without a file beside it that could be its video.
  case orphanSidecar(SourcePath)
  /// It would be a candidate, but was modified so recently that it is left to the next walk (``WalkOptions/settle``).
  case leftAlone(SourcePath)
  /// It should be a candidate or a folder to enter, but can't be.
  case failed(SourcePath, SourceError)
}

/// Why a walk passes something by.
package enum PassedBy: Hashable, Sendable {
  /// Its name is hidden, or a system's own.
  case hidden
  /// Its name says that it is unfinished.
  case unfinished
  /// It is a folder of discarded files, or a system's own.
  case trash
  /// `--include` or `--exclude` leaves it out.
  case excluded
  /// It belongs to the library or the destination.
  case own
  /// It is the sidecar of a video.
  case sidecar
  /// Neither its name nor its bytes say that it is a video.
  case noVideo
  /// It can't be read, and its name claims nothing.
  case unreachable
  /// It was modified a moment ago.
  case changing
}

/// The state of a walk.
struct WalkState: Sendable {
  let options: WalkOptions
  var inputs: ArraySlice<SourceInput>
  var folder: FolderWalk?
  var bucket: BucketWalk?
  let cancellation: CancellationFlag
  /// The identifiers of the addresses that were named so far.
  private var addresses: Set<[UInt8]> = []
  /// The items of addresses that were opened together with an earlier one, in the order in which they were named.
  private var opened: ArraySlice<WalkItem> = []
  /// How many addresses are opened at once. Each takes a round trip, or until the timeout if its server does not
  /// answer.
  private static let openedAtOnce = 16
  var parents: ParentDirectories
  /// The folder of the last file given beneath a root. It is reused for the next file, with what is known of its names.
  private var lastParent: DirectoryHandle?
  var seen: SeenSources
  var skipped: ExcludedDirectories
  /// Everything that the user named.
  private let named: [SourceInput]
  /// The folders among these, with links resolved; nil until a link makes them necessary.
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

  /// Returns the next item, or nil at the end.
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

  /// Begins a walk through `root` at `path`, which covers nothing else.
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

  /// Whether the file was neither named before nor certainly found in a folder that was walked before. If that is
  /// uncertain it is returned twice, and its digest shows that it is a duplicate.
  private mutating func isNew(_ file: FoundFile, in directory: DirectoryIdentity) -> Bool {
    if options.repeatsInputs { return true }
    let name = file.path.lastComponent.bytes
    guard seen.names(name, in: directory) else { return false }
    let wasFound =
      seen.hasEntered(directory) && ExtensionHint(of: name) == .media && options.filter.takesAll
    return !wasFound
  }
}

// Remote files.
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

  /// Opens the file at that address, together with those at the addresses named after it.
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
      // One queue for each: a concurrent queue counts waiting threads against the number of cores.
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

// Files in a folder that the user named.
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
    guard folder?.hasFile(beside: entry, ending: UnfinishedName.controls) != true,
      !isPartOfUpload(entry, status.identity.size)
    else {
      return options.pass(entry.path, .unfinished)
    }
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

  /// Whether tusd has written beside it that there is more to come, or that it is one of several parts.
  private func isPartOfUpload(_ entry: FolderWalk.Entry, _ size: Int64) -> Bool {
    guard folder?.hasFile(beside: entry, ending: [Array(".info".utf8)]) == true,
      let bytes = try? entry.directory.find(entry.name + ".info".utf8).openRegular().head(Sidecar.largest),
      let info = try? JSONDecoder().decode(UploadInfo.self, from: Data(bytes))
    else { return false }
    return info.id.utf8.elementsEqual(entry.name)
      && (info.size > size || info.isOfUnknownSize == true || info.isPart == true)
  }

  private struct UploadInfo: Decodable {
    let id: String
    let size: Int64
    let isOfUnknownSize: Bool?
    let isPart: Bool?

    private enum CodingKeys: String, CodingKey {
      case id = "ID"
      case size = "Size"
      case isOfUnknownSize = "SizeIsDeferred"
      case isPart = "IsPartial"
    }
  }

  /// Whether it is a video's sidecar; checked only if somebody is told about what is passed by.
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

  /// Whether its extension is a video's all the same; then it is a failure if the file is not a video.
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
    if let obstacle = options.obstacle(toFolder: entry.name, at: entry.relativePath, of: entry.path) {
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

  /// Something that can't be read and whose name claims nothing is ignored. But a link to a folder, or a link that
  /// should be followed but leads out of the root, may mean the loss of a whole folder of videos.
  private mutating func unreachable(
    _ entry: FolderWalk.Entry, _ claim: ExtensionHint, _ error: SourceError
  ) -> WalkItem {
    if error.code == .isLink, leadsToOtherFolder(entry) { return .failed(entry.path, .isLinkToFolder) }
    let isOurs = (claim == .media || claim == .shared) && options.filter.takesFile(entry.relativePath)
    let isLoss = isOurs || error.code == .tooManyOpenFiles || error.code == .outsideRoot
    return isLoss ? .failed(entry.path, error) : options.pass(entry.path, .unreachable)
  }

  /// Whether it is a link to a folder that the walk does not reach by another way.
  private mutating func leadsToOtherFolder(_ entry: FolderWalk.Entry) -> Bool {
    guard options.obstacle(toFolder: entry.name, at: entry.relativePath, of: entry.path) == nil,
      let target = entry.path.resolved, let identity = DirectoryIdentity(at: target),
      !options.skippedDirectories.contains(identity)
    else { return false }
    let folders =
      namedFolders ?? named.filter { $0.path.fileKind == S_IFDIR }.compactMap(\.path.resolved)
    namedFolders = folders
    return !folders.contains { $0.holds(target) }
  }
}
