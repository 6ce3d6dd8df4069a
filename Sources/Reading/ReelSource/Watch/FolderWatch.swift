import FoundationEssentials
import Glibc
import ReelCore

/// A watched folder or bucket. It yields each file in it once that is settled: first those that are there, then those
/// that arrive.
///
/// A folder is watched before it is listed, so nothing is missed in between. Where the kernel reports no changes
/// (network file systems, FUSE), and for buckets, everything is listed at intervals.
package struct FolderWatch: Sendable {
  package struct Settings: Sendable {
    package var waits: SettlingFiles.Waits
    /// How often everything is listed where changes are not reported.
    package var interval: Duration
    /// Whether everything is listed at that interval even if changes are reported.
    package var polls: Bool
    /// How long a file has to be unchanged to count as closed if nothing can tell; nil for never.
    package var presumesClosed: Duration?
    /// When the watch began, by the clock of the files' timestamps.
    package var begun: Date

    /// - Parameters: see the properties.
    package init(
      waits: SettlingFiles.Waits, interval: Duration, polls: Bool, presumesClosed: Duration? = nil,
      begun: Date = .distantPast
    ) {
      (self.waits, self.interval, self.polls) = (waits, interval, polls)
      (self.presumesClosed, self.begun) = (presumesClosed, begun)
    }
  }

  /// What is known of a settled file.
  package struct Settled: Hashable, Sendable {
    /// How long it has been unchanged.
    package let rest: Duration
    package let closing: Closing
    /// Its state when its writer was seen to close it.
    let closed: FileIdentity?
    var holes = Holes.none
    /// Whether parts of it were never written: space reserved for what is to come, or zeros that were left out.
    package var hasHoles: Bool { holes != .none }
    /// Whether it has so many holes that copying and reading it takes longer than its data would.
    package var isSparse: Bool { holes == .most }
  }

  enum Holes: Hashable, Sendable {
    case none, some, most
  }

  package enum Finding: Sendable {
    /// It is settled.
    case file(FoundFile, Settled)
    /// It has been unchanged for a while, but a process has it open for writing.
    case open(SourcePath)
    case failed(SourcePath, SourceError)
    case notice(Notice)
  }

  /// Something to report about the folder itself.
  package enum Notice: Hashable, Sendable {
    /// It is missing, or not mounted; the watch waits for it.
    case gone
    /// It is there again.
    case back
    /// It is listed at intervals, for the given reason.
    case polled(because: String)
    /// More has happened than the kernel could queue, so everything is looked at again.
    case overflowed
  }

  package let path: SourcePath
  private let input: SourceInput
  private let options: WalkOptions
  private let settings: Settings
  private var settling: SettlingFiles
  private var notifications: FolderNotifications?
  /// The identity of the folder that is watched; nil while it is missing.
  private var identity: DirectoryIdentity?
  /// When it was first looked at, by the clock of the files' timestamps.
  private var begun: Date?
  private var hasBegun = false
  private var hasChecked = false
  /// Whether the kernel has reported that the folder is lost. Its successor may have the very same identity.
  private var isLost = false
  /// Whether something was mounted there. If so, the folder beneath the mount is not the one to be watched.
  private var wasMounted = false
  private var polls: Bool
  /// Nil before the folder is watched.
  private var mountTable: MountTable?
  /// The mounts below the folder, as far as is known.
  private var mounts: [[UInt8]: [UInt8]] = [:]
  /// The paths to look at, each with whether its writer has closed it.
  private var noticed: [SourcePath: Bool] = [:]
  /// Files that were opened again after their writer had closed them, and how often: whoever has them open may write.
  private var reopened: [SourcePath: Int] = [:]
  /// Videos whose sidecars can't be used, with the state of the sidecar, by the sidecar's name.
  private var invalidSidecars: [SidecarKey: [SourcePath: FileDisposal.SidecarState]] = [:]
  private var needsListing = false
  private var nextListing: Duration?
  private var nextCheck = Duration.zero
  private var walk: Walk?

  private struct Walk {
    let items: SourceWalk
    let isWhole: Bool
    /// The files that were seen being closed, but have not been looked at yet.
    var closed: Set<SourcePath>
    var seen: Set<Int> = []
    var isComplete = true
  }

  /// A folder and a key that is equal for sidecar names printing alike.
  private struct SidecarKey: Hashable {
    let folder: [UInt8]
    let name: String

    init(_ name: [UInt8], beside path: SourcePath) {
      folder = path.bytes.dropLast(path.lastComponent.bytes.count)
      self.name = AlikeName.key(name) ?? String(decoding: name, as: UTF8.self)
    }

    init(of video: SourcePath) { self.init(Sidecar.name(for: video.lastComponent.bytes), beside: video) }
  }

  /// How often to check that the folder is still there.
  private static let checks = Duration.seconds(2)
  /// When everything is listed again after something could not be read: nothing reports when it can be.
  private static let nextTry = Duration.seconds(60)
  /// When everything is listed again after a folder has gone: only that discards what is remembered of its files.
  private static let tidying = Duration.seconds(3600)
  /// How many files are looked at before new changes are read.
  private static let portion = 256

  package init(_ input: SourceInput, options: WalkOptions, settings: Settings) {
    (path, self.input, self.options, self.settings) = (input.path, input, options, settings)
    settling = SettlingFiles(settings.waits)
    polls = settings.polls || input.isRemote
  }

  /// Whether something is mounted at a path, which leads to that directory; nil if that can't be determined.
  var isMounted: @Sendable (SourcePath, DirectoryIdentity) -> Bool? = { path, directory in
    DirectoryIdentity(at: path.appending("..".utf8)).map { $0.device != directory.device }
  }

  /// Whether any process may still write to a file.
  var writers: @Sendable (OpenedFile) -> FileWriters = { $0.writers() }

  /// Returns why nothing in the folder could be ingested; nil if it could, and for a bucket. Blocks.
  package func obstacle() -> SourceError? {
    guard !input.isRemote,
      case .failed(path, let error) = SourceWalk(inputs: [input], options: options).next(upTo: 1).first
    else { return nil }
    return error
  }

  /// The number of files that are not settled.
  package var waiting: Int { settling.count + noticed.count }

  package var isRemote: Bool { input.isRemote }

  /// Whether the folder is there; always true for a bucket.
  package var isThere: Bool { input.isRemote || identity != nil }

  /// The number of folders that the kernel watches.
  package var watchedFolders: Int { notifications?.count ?? 0 }

  /// Whether everything that was there at the beginning has been looked at.
  package var isListed: Bool { isThere ? hasBegun && !needsListing && walk == nil : hasChecked }

  // MARK: Looking

  /// Returns what is settled by now, having looked at no more than `count` files; nothing if nothing is. Blocks for as
  /// long as it takes to look.
  /// - Parameters:
  ///   - now: counted from an arbitrary moment.
  ///   - date: the same moment, by the clock of the files' timestamps.
  package mutating func next(upTo count: Int, at now: Duration, _ date: Date) -> [Finding] {
    begun = begun ?? date
    var found = check(at: now)
    guard isThere else { return found }
    found += readChanges(at: now)
    // Before anything is looked at, which would be in another folder.
    if isLost { found += check(at: now) }
    guard isThere else { return found }
    if walk == nil { beginWalk(at: now) }
    guard let walk else { return found }
    let items = walk.items.next(upTo: count)
    // A process that opened a file before it was looked at may have written what was seen of it, after that closing.
    // Read the changes before this process opens the file, which is reported, too.
    if !walk.closed.isEmpty { found += readChanges(at: now) }
    if items.isEmpty {
      end(walk, at: now, &found)
    } else {
      for item in items { if let finding = look(at: item, now, date) { found.append(finding) } }
    }
    return found
  }

  private mutating func beginWalk(at now: Duration) {
    if needsListing || nextListing.map({ $0 <= now }) ?? false {
      (needsListing, nextListing) = (false, nil)
      var options = options
      if let notifications { options.onFolder = { notifications.watch($0, $1) } }
      walk = Walk(items: SourceWalk(inputs: [input], options: options), isWhole: true, closed: [])
      return
    }
    var portion =
      noticed.count <= Self.portion
      ? noticed
      : Dictionary(
        uniqueKeysWithValues: noticed.prefix(Self.portion).map { ($0.key, $0.value) })
    for path in portion.keys { noticed[path] = nil }
    for path in settling.due(upTo: Self.portion, at: now) where portion[path] == nil { portion[path] = false }
    guard !portion.isEmpty else { return }
    var options = options
    if let notifications { options.onFolder = { notifications.watch($0, $1) } }
    // Sorted, so that two runs over the same changes are alike.
    let inputs = portion.keys.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }.map {
      SourceInput(path: $0, beneath: path)
    }
    walk = Walk(
      items: SourceWalk(inputs: inputs, options: options), isWhole: false,
      closed: Set(portion.filter { $0.value && reopened[$0.key] == nil }.keys))
  }

  private mutating func end(_ ended: Walk, at now: Duration, _ found: inout [Finding]) {
    walk = nil
    hasBegun = true
    if ended.isWhole {
      if ended.isComplete { settling.keep(ended.seen) }
      for key in invalidSidecars.keys { lookAgain(at: key, now) }
    }
    let shortcoming = notifications?.shortcoming
    if let shortcoming {
      // What is not watched has to be listed.
      (notifications, polls) = (nil, true)
      found.append(.notice(.polled(because: shortcoming)))
    }
    // Also if a new folder can't be watched, as no listing has scheduled the next one.
    if polls, ended.isWhole || shortcoming != nil { nextListing = now + settings.interval }
  }

  private mutating func look(at item: WalkItem, _ now: Duration, _ date: Date) -> Finding? {
    switch item {
    case .candidate(let file):
      walk?.seen.insert(file.path.hashValue)
      // Timestamps from another machine's clock say nothing.
      let age = polls ? 0 : date.timeIntervalSince1970 - Double(file.identity.changedAt) / 1e9
      let isClosed = file.isRemote || isSeenClosed(file.path)
      let closed = isClosed ? file.identity : settling.closing(of: file.path)
      let wasTold = settling.isTold(file.path)
      let verdict = settling.saw(
        file.path, file.identity, age: .seconds(min(max(0, age), 1e9)), isClosed: isClosed, at: now)
      guard case .settled(let rest) = verdict else { return nil }
      return settled(
        file, rest, closed: closed.flatMap { file.identity.isAsClosed($0) ? $0 : nil }, wasTold, at: now)
    case .ignored(let path), .orphanSidecar(let path), .leftAlone(let path):
      settling.forget(path)
      noticedSidecar(path, at: now)
      if let begun { FileDisposal.putBack(path, unlessSince: begun) }
      return nil
    case .failed(let path, let error):
      // A link in the folder does not hide anything that was seen.
      if error.code != .isLink || path == self.path { walk?.isComplete = false }
      walk?.seen.insert(path.hashValue)
      switch error.code {
      // The check of the folder itself reports whether it is there.
      case .notFound where path != self.path || !input.isRemote, .sourceChanged:
        settling.forget(path)
        if error.code == .sourceChanged { settling.noticed(path, at: now) }
        return nil
      default:
        if path == self.path || [.denied, .unreadable, .tooManyOpenFiles].contains(error.code) {
          list(within: Self.nextTry, at: now)
        }
        return settling.isUnreachable(path) ? .failed(path, error) : nil
      }
    }
  }

  private mutating func isSeenClosed(_ path: SourcePath) -> Bool {
    // Not earlier: that this process opens it from now on says nothing about it.
    guard walk?.closed.remove(path) != nil else { return false }
    // After an overflow, it is unknown whether the file was opened again.
    return reopened[path] == nil && !needsListing
  }

  /// Yields a file that has been left alone for long enough, unless a process may still write to it.
  private mutating func settled(
    _ file: FoundFile, _ rest: Duration, closed: FileIdentity?, _ wasTold: Bool, at now: Duration
  ) -> Finding? {
    guard !file.isRemote else { return .file(file, Settled(rest: rest, closing: .proven, closed: nil)) }
    let opened: OpenedFile
    do throws(SourceError) {
      opened = try file.opened()
    } catch {
      switch error.code {
      case .sourceChanged: settling.changed(file.path, closed: closed, at: now)
      case .notFound: settling.forget(file.path)
      // Ingesting it finds the cause, and reports it.
      default: return .file(file, Settled(rest: rest, closing: .unknown, closed: closed))
      }
      return nil
    }
    let hasHoles = opened.hasHoles(file.identity.size)
    let holes: Holes = !hasHoles ? .none : opened.hasManyHoles(file.identity.size) ? .most : .some
    switch writers(opened) {
    case .some:
      let isNew = settling.isOpen(file.path, file.identity, after: rest, wasTold: wasTold, at: now)
      return isNew ? .open(file.path) : nil
    case .none:
      return give(
        file, rest, once: hasHoles ? settings.waits.secondLook : .zero, .proven, closed: closed, holes,
        at: now)
    case .unknown:
      // Space that was reserved is not written yet, even if the writer has closed the file.
      if closed != nil, !hasHoles {
        return give(file, rest, once: .zero, .seen, closed: closed, holes, at: now)
      }
      if let patience = settings.presumesClosed {
        return give(
          file, rest, once: max(patience, settings.waits.unknown), .presumed, closed: closed, holes,
          at: now)
      }
      return give(
        file, rest, once: settings.waits.unknown, wasLeft(file) ? .presumed : .unknown, closed: closed,
        holes, at: now)
    }
  }

  /// How long, in seconds, a file must have been unchanged when the watch began to be certain that it is not being
  /// written.
  private static let leftAlone = 3600.0

  private func wasLeft(_ file: FoundFile) -> Bool {
    // Timestamps from another machine's clock say nothing.
    !polls
      && Double(file.identity.changedAt) / 1e9 <= settings.begun.timeIntervalSince1970 - Self.leftAlone
  }

  /// Yields the file if it has been left alone for long enough; otherwise lets it wait.
  /// - Parameter needed: how long it must have been left alone.
  private mutating func give(
    _ file: FoundFile, _ rest: Duration, once needed: Duration, _ closing: Closing, closed: FileIdentity?,
    _ holes: Holes, at now: Duration
  ) -> Finding? {
    guard rest < needed else {
      if closing == .unknown { settling.isUnproven(file.path) }
      return .file(file, Settled(rest: rest, closing: closing, closed: closed, holes: holes))
    }
    settling.rests(file.path, file.identity, after: rest, until: needed, closed: closed, at: now)
    return nil
  }

  /// Schedules another listing, unless everything is listed at intervals anyway.
  private mutating func list(within delay: Duration, at now: Duration) {
    guard !polls else { return }
    nextListing = min(nextListing ?? now + delay, now + delay)
  }

  // MARK: The folder itself

  private mutating func check(at now: Duration) -> [Finding] {
    guard !input.isRemote else {
      if !hasBegun, walk == nil { needsListing = true }
      return []
    }
    guard now >= nextCheck else { return [] }
    nextCheck = now + Self.checks
    let current = present()
    noticeMounts(in: current)
    guard current != identity || !hasChecked || isLost else { return [] }
    let isBack = hasChecked
    (identity, notifications, walk, noticed, reopened) = (current, nil, nil, [:], [:])
    (hasChecked, isLost) = (true, false)
    guard current != nil else { return [.notice(.gone)] }
    needsListing = true
    var found: [Finding] = isBack ? [.notice(.back)] : []
    polls = settings.polls
    if !polls, !path.withCString({ LocalFileSystem.holds($0) }) {
      polls = true
      found.append(
        .notice(.polled(because: "it is on a file system that may not report changes")))
    }
    if !polls {
      do {
        notifications = try FolderNotifications(tellsOpening: !FileWriters.areKnownOfAllUsers)
        // Before everything is listed.
        mountTable = MountTable()
        mounts = mountedBelow()
      } catch {
        polls = true
        found.append(.notice(.polled(because: "the kernel can't watch any more folders (\(error))")))
      }
    }
    return found
  }

  /// Has mounts that were added or removed below the folder looked at, as nothing else reports them.
  private mutating func noticeMounts(in current: DirectoryIdentity?) {
    guard notifications != nil, current == identity, let mountTable, mountTable.hasChanged() else { return }
    let found = mountedBelow()
    let changed = Set(found.keys).union(mounts.keys).filter { found[$0] != mounts[$0] }
    mounts = found
    for place in changed where options.obstacle(onWay: place, from: path) == nil {
      let path = path.appending(place)
      noticed[path] = noticed[path] ?? false
      // That listing discards what is known of files that are gone.
      list(within: Self.tidying, at: nextCheck)
    }
  }

  private func mountedBelow() -> [[UInt8]: [UInt8]] {
    guard let mountTable, let folder = try? FileDisposal.Folder(path).directory else { return [:] }
    return mountTable.mounts(below: folder)
  }

  /// Returns the folder to be watched; nil if there is none, or if what was mounted there is no longer.
  private mutating func present() -> DirectoryIdentity? {
    guard let current = DirectoryIdentity(at: path) else { return nil }
    let isMounted = isMounted(path, current)
    if wasMounted, isMounted == false { return nil }
    if isMounted == true { wasMounted = true }
    return current
  }

  private mutating func readChanges(at now: Duration) -> [Finding] {
    guard let notifications else { return [] }
    var found: [Finding] = []
    while case let changes = notifications.changes(), !changes.isEmpty {
      for change in changes {
        switch change {
        case .closed(let path):
          let others = (reopened[path] ?? 0) - 1
          (noticed[path], reopened[path]) = others > 0 ? (noticed[path] ?? false, others) : (true, nil)
        case .opened(let path):
          if noticed[path] ?? walk?.closed.contains(path) ?? false || reopened[path] != nil {
            reopened[path, default: 0] += 1
          }
        case .leftUnchanged(let path):
          // Never to zero: the kernel merges two reports of an opening that have not been read yet, and the other
          // opening may be a writer's.
          if let openings = reopened[path], openings > 1 { reopened[path] = openings - 1 }
        case .appeared(let path): noticed[path] = noticed[path] ?? false
        case .gone(let path, let isFolder):
          (noticed[path], reopened[path]) = (nil, nil)
          settling.forget(path)
          noticedSidecar(path, at: now)
          // Its subject is complete now.
          if let subject = UnfinishedName.subject(ofControl: path.bytes).map(SourcePath.init(bytes:)) {
            noticed[subject] = noticed[subject] ?? false
          }
          if isFolder { list(within: Self.tidying, at: now) }
        case .lost: (isLost, nextCheck) = (true, now)
        case .overflowed:
          if !needsListing { found.append(.notice(.overflowed)) }
          needsListing = true
        }
      }
      // If the changes never end, look first at what is known already.
      if noticed.count > 1 << 16 { break }
    }
    return found
  }

  // MARK: What happened to the files

  /// Returns the file at `path`; nil if there is none that would be ingested. Blocks.
  package func find(_ path: SourcePath) -> FoundFile? {
    let walk = SourceWalk(inputs: [SourceInput(path: path, beneath: self.path)], options: options)
    guard case .candidate(let file) = walk.next(upTo: 1).first else { return nil }
    return file
  }

  /// Reports that the file looks cut off: it is yielded again when it has been left alone for longer.
  /// - Returns: false if it has been left alone for long enough.
  @discardableResult
  package mutating func looksCutOff(_ file: FoundFile, _ settled: Settled, at now: Duration) -> Bool {
    settling.looksCutOff(file.path, file.identity, after: settled.rest, closed: settled.closed, at: now)
  }

  /// Reports that the file could not be dealt with now: it is yielded again after `delay`, or when it changes.
  package mutating func retry(
    _ file: FoundFile, _ settled: Settled, after delay: Duration, at now: Duration
  ) {
    settling.retry(file.path, file.identity, after: delay, closed: settled.closed, at: now)
  }

  /// Reports that the file has changed since it was yielded.
  package mutating func changed(_ file: FoundFile, _ settled: Settled, at now: Duration) {
    settling.changed(file.path, closed: settled.closed, at: now)
  }

  /// Reports that the file can't be dealt with as long as its sidecar is what it was when the file was yielded. The
  /// file is yielded again once the sidecar is different.
  package mutating func hasInvalidSidecar(
    _ file: FoundFile, _ sidecar: FileDisposal.SidecarState, at now: Duration
  ) {
    let key = SidecarKey(of: file.path)
    invalidSidecars[key, default: [:]][file.path] = sidecar
    lookAgain(at: key, now)
  }

  /// Looks again at the videos to which a changed file may be the sidecar.
  private mutating func noticedSidecar(_ path: SourcePath, at now: Duration) {
    let name = path.lastComponent.bytes
    guard !invalidSidecars.isEmpty, Sidecar.isName(name) else { return }
    lookAgain(at: SidecarKey(name, beside: path), now)
  }

  private mutating func lookAgain(at key: SidecarKey, _ now: Duration) {
    for (video, sidecar) in invalidSidecars[key] ?? [:] {
      let file = find(video)
      if let file, FileDisposal.SidecarState(beside: file) == sidecar { continue }
      forgetSidecar(of: video)
      // A sidecar that is missing for a moment, as when programs save files, is no reason to ingest the video without
      // it.
      if file != nil { settling.changed(video, at: now) }
    }
  }

  private mutating func forgetSidecar(of video: SourcePath) {
    guard !invalidSidecars.isEmpty else { return }
    let key = SidecarKey(of: video)
    invalidSidecars[key]?[video] = nil
    if invalidSidecars[key]?.isEmpty == true { invalidSidecars[key] = nil }
  }

  /// Reports that the file is no longer where it was.
  package mutating func left(_ path: SourcePath) {
    settling.forget(path)
    forgetSidecar(of: path)
  }

  // MARK: Waiting

  /// Returns how long there is nothing to do, unless a change is reported.
  func pause(at now: Duration) -> Duration {
    // Nothing in the folder can be looked at before it is there again.
    guard isThere else { return max(.zero, nextCheck - now) }
    if walk != nil || needsListing || !noticed.isEmpty { return .zero }
    let next = [settling.nextDue, nextListing, input.isRemote ? nil : nextCheck].compactMap(\.self).min()
    return max(.zero, (next ?? now + Self.checks) - now)
  }

  /// Waits for something to do in one of `watches`, until `other` is readable, or for `patience`. Blocks.
  package static func wait(
    for watches: [FolderWatch], or other: Int32, at now: Duration, atMost patience: Duration
  ) {
    let pause = watches.map { $0.pause(at: now) }.min() ?? patience
    guard pause > .zero else { return }
    FolderNotifications.wait(
      for: watches.compactMap(\.notifications), or: other, atMost: min(pause, patience))
  }
}
