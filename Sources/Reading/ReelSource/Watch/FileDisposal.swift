import FoundationEssentials
import Glibc
import ReelCore

/// What happens to a file of a watched folder after it was dealt with: it stays, is deleted, or is moved to another
/// folder.
///
/// Only the file that was dealt with is touched. If another is in its place by then, or it was written to, it stays. A
/// crash between any two steps leaves the file where it was, or where it is to go.
package struct FileDisposal: Sendable {
  package enum Kind: Hashable, Sendable {
    case keep
    case delete
    /// Moved to this folder, under its name, or with a number added if the name is taken.
    case move(SourcePath)
  }

  /// A step that has just been taken, for tests of crashes.
  package enum Step: String, CaseIterable, Sendable {
    case sidecarDisposed, reasonWritten, fileHidden, fileRemoved, fileMoved, copyMade, copySynced, copyNamed
  }

  private let kind: Kind
  private let sidecarFirst: Bool
  private let folders: Folders
  private let onStep: @Sendable (Step) -> Void
  /// Whether any process may still write to a file.
  var writers: @Sendable (OpenedFile) -> FileWriters = { $0.writers() }
  /// Renames without replacing.
  var renaming = Folder.systemRename
  /// Makes the names in a folder durable.
  var syncFolder: @Sendable (Descriptor) throws(SystemError) -> Void = { folder throws(SystemError) in
    try folder.syncFolder()
  }

  /// - Parameters:
  ///   - sidecarFirst: whether the sidecar goes before its video. If a crash left it behind, it would count for the
  ///     next video of this name. Must be false if the video must not be met without it, as it says who the author is,
  ///     or why the video is not a post.
  ///   - folders: the folders to which files are moved. All that share this use the very folders that it has opened.
  ///   - onStep: called after each step.
  package init(
    _ kind: Kind, sidecarFirst: Bool = true, folders: Folders = Folders(),
    onStep: @escaping @Sendable (Step) -> Void = { _ in }
  ) {
    (self.kind, self.sidecarFirst, self.folders, self.onStep) = (kind, sidecarFirst, folders, onStep)
  }

  /// Disposes of `file`, and of the sidecar beside it unless that is also another video's. Blocks.
  /// - Parameters:
  ///   - reason: why the file is not a post. If the file is moved, this is written beside it, as NAME.txt.
  ///   - seen: the sidecar as it was when the file was taken. One that has replaced it belongs to the next file, and
  ///     stays. Nil for whichever there is.
  ///   - cancellation: ends the copying to another file system.
  /// - Returns: the new path; its own path if it is in the target folder already; nil if it was removed or is kept.
  /// - Throws: `sourceChanged` if it is no longer the file that was dealt with, if a process has it open for writing,
  ///   or if it was cancelled; `notFound` if it is gone; `isLink` for a symbolic link; `denied`, `unreadable` if it
  ///   can't be done.
  @discardableResult
  package func apply(
    to file: FoundFile, reason: String? = nil, sidecar seen: SidecarState? = nil,
    cancellation: CancellationFlag = CancellationFlag()
  ) throws(SourceError) -> SourcePath? {
    guard kind != .keep, let directory = file.directory else { return nil }
    let name = file.path.lastComponent.bytes
    let status = try directory.status(of: name)
    // Moving a link would break it, and removing it would leave the file to which it leads.
    if status.kind == .link { throw SourceError(.isLink, "it is a symbolic link, which stays") }
    guard status.identity == file.identity else { throw .changed }
    try checkWriters(of: name, in: directory)
    let isReplaced = seen.map { $0.isKnown && $0 != SidecarState(beside: file) } ?? false
    let sidecar = isReplaced ? nil : sidecar(of: name, in: directory)
    switch kind {
    case .keep: return nil
    case .delete:
      try inOrder(sidecar, in: directory) { sidecar throws(SourceError) in
        try removeSidecar(sidecar, in: directory)
      } file: { () throws(SourceError) in
        try remove(name, file.identity, in: directory)
      }
      return nil
    case .move(let path):
      let folder = try folders.find(path)
      guard folder.directory.identity != directory.identity else { return file.path }
      let number = sidecar.map { folder.freeNumber(for: name, with: $0, of: directory) } ?? 0
      let move = Move(
        from: directory, to: folder, number: number, isCancelled: { cancellation.isSet })
      let moved = try inOrder(sidecar, in: directory) { sidecar throws(SourceError) in
        try moveSidecar(sidecar, move)
      } file: { () throws(SourceError) in
        try apply(move, to: file, name, because: reason)
      }
      return path.appending(moved)
    }
  }

  /// Disposes of both: of the second only when a power loss can no longer undo the first.
  private func inOrder<Value>(
    _ sidecar: [UInt8]?, in directory: DirectoryHandle,
    dispose: ([UInt8]) throws(SourceError) -> Void, file: () throws(SourceError) -> Value
  ) throws(SourceError) -> Value {
    guard let sidecar else { return try file() }
    if sidecarFirst {
      try dispose(sidecar)
      try sync(directory)
      return try file()
    }
    let value = try file()
    try sync(directory)
    try dispose(sidecar)
    return value
  }

  /// Throws if a process has it open for writing: what that still writes would be lost, or not be in the post.
  private func checkWriters(of name: [UInt8], in directory: DirectoryHandle) throws(SourceError) {
    // A file that can't be opened was not read either, so it can be disposed of.
    guard let file = try? directory.find(name).openRegular(), writers(file) == .some else { return }
    throw SourceError(.sourceChanged, "another program has it open for writing; it stays until that is done")
  }

  // MARK: Sidecars

  /// The identity of a file's sidecar, if there is one.
  package struct SidecarState: Equatable, Sendable {
    private let identity: FileIdentity?

    var isKnown: Bool { identity != nil }

    /// Whether it was changed so recently that its writer may not be done.
    package func isNew(within time: Duration, at now: Date) -> Bool {
      guard let identity else { return false }
      // A time in the future, from the clock of a machine that is ahead, must not count forever.
      return abs(now.timeIntervalSince1970 - Double(identity.changedAt) / 1e9) < time / .seconds(1)
    }

    package init(beside file: FoundFile) {
      identity = file.directory.flatMap { directory in
        Sidecar.name(beside: file.path.lastComponent.bytes, in: directory).flatMap {
          try? directory.status(of: $0).identity
        }
      }
    }
  }

  private func sidecar(of name: [UInt8], in directory: DirectoryHandle) -> [UInt8]? {
    guard let sidecar = Sidecar.name(beside: name, in: directory),
      (try? directory.status(of: sidecar))?.kind == .regular,
      let all = folders.names(in: directory, forSidecarsLike: sidecar)
    else { return nil }
    let identity = { (name: [UInt8]) in (try? directory.status(of: name))?.directoryIdentity }
    let (own, key, folded) = (identity(sidecar), AlikeName.key(sidecar), SidecarNames.folded(sidecar))
    // If the file system ignores case, the name in the listing may differ in case from that by which it was found.
    let listed = all.contains(sidecar) ? sidecar : all.first(where: isAlike) ?? sidecar
    func isAlike(_ name: [UInt8]) -> Bool {
      let isAlike = SidecarNames.folded(name) == folded || key != nil && AlikeName.key(name) == key
      return isAlike && identity(name) == own
    }
    func isWanted(by other: [UInt8]) -> Bool {
      let wanted = Sidecar.name(for: other)
      if wanted == sidecar { return true }
      if Sidecar.isName(other) { return false }
      return key != nil && AlikeName.key(wanted) == key
        || SidecarNames.folded(wanted) == folded && identity(wanted) == own
    }
    func isAnother(_ name: [UInt8]) -> Bool { identity(name).map { $0 != own } ?? false }
    return all.contains { $0 != name && isWanted(by: $0) && isAnother($0) } ? nil : listed
  }

  private func sync(_ directory: DirectoryHandle) throws(SourceError) {
    try Self.being("removed") { () throws(SystemError) in
      // The handle is `O_PATH`, which can't be synced.
      let number = try directory.descriptor.call("openat") {
        openat($0, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      }
      try syncFolder(Descriptor(adopting: number))
    }
  }

  private func removeSidecar(_ name: [UInt8], in directory: DirectoryHandle) throws(SourceError) {
    try remove(name, directory.status(of: name).identity, in: directory)
    onStep(.sidecarDisposed)
  }

  private func moveSidecar(_ name: [UInt8], _ move: Move) throws(SourceError) {
    let file = FoundFile(
      path: SourcePath(bytes: name), identity: try move.directory.status(of: name).identity, wasNamed: false,
      origin: .local(move.directory, .name(name)))
    _ = try apply(move, to: file, name, because: nil)
    onStep(.sidecarDisposed)
  }

  // MARK: Removing

  /// The prefix of a name whose file is being removed.
  private static let hidden = Array(".reel-removing-".utf8)

  /// Removes the file. It is renamed first: between the check and the removal, its name may come to mean another file.
  private func remove(
    _ name: [UInt8], _ identity: FileIdentity, in directory: DirectoryHandle
  ) throws(SourceError) {
    let aside = try rename(name, name, markedBy: Self.hidden, in: directory)
    onStep(.fileHidden)
    do throws(SourceError) {
      guard try directory.status(of: aside).identity.isSameFile(as: identity) else { throw .changed }
      // From here on no process can open it by its name.
      try checkWriters(of: aside, in: directory)
      let target = try PathBytes(aside)
      try Self.being("removed") { () throws(SystemError) in
        _ = try directory.descriptor.call("unlinkat") { unlinkat($0, target.characters, 0) }
      }
    } catch {
      _ = try rename(aside, name, in: directory)
      throw error
    }
    onStep(.fileRemoved)
  }

  /// The length of the random mark in names that ``dropped(_:longest:)`` returns.
  private static let droppedMarkLength = 12

  /// Returns a name that nobody else knows or uses, for the file called `name`.
  static func dropped(_ name: [UInt8], longest: Int) -> [UInt8] {
    let mark =
      hiddenDropped + Array(SystemRandomness().name(length: droppedMarkLength).utf8) + Array("-".utf8)
    return mark + Folder.numbered(name, 0, longest: longest - mark.count)
  }

  private static let hiddenDropped = Array(".reel-dropping-".utf8)

  /// Returns the name for which a hidden name stands; nil for any other name.
  static func original(of name: [UInt8]) -> [UInt8]? {
    let length =
      name.starts(with: hidden)
      ? hidden.count
      : name.starts(with: hiddenDropped) ? hiddenDropped.count + droppedMarkLength + 1 : name.count
    return name.count > length ? Array(name.dropFirst(length)) : nil
  }

  /// Gives a file that a crash left under a hidden name its own name back, so that it is dealt with again.
  /// - Parameter begun: a file that was hidden since then is just being removed, and is left alone.
  static func putBack(_ path: SourcePath, unlessSince begun: Date) {
    let name = path.lastComponent.bytes
    guard let original = original(of: name),
      let status = try? PathLookup.find(path.bytes, from: nil, links: .follow).status,
      Double(status.identity.changedAt) / 1e9 < begun.timeIntervalSince1970,
      let folder = try? Folder(SourcePath(bytes: path.bytes.dropLast(name.count) + ".".utf8))
    else { return }
    // If it was to have two names only for a moment, it may still have its own.
    if (try? folder.directory.status(of: original))?.directoryIdentity == status.directoryIdentity {
      return folder.unlink(name)
    }
    _ = try? folder.firstFree(original) { other throws(SystemError) in
      try folder.take(name, from: folder.directory, as: other)
    }
  }

  /// Renames the file to the first name that is free.
  private func rename(
    _ name: [UInt8], _ wanted: [UInt8], markedBy mark: [UInt8] = [], in directory: DirectoryHandle
  ) throws(SourceError) -> [UInt8] {
    try Self.being("removed") { () throws(SystemError) in
      try Folder(directory).firstFree(wanted, markedBy: mark) { other throws(SystemError) in
        try Folder(directory).take(name, from: directory, as: other, renaming)
      }
    }
  }

  // MARK: Moving

  private struct Move {
    let directory: DirectoryHandle
    let folder: Folder
    /// The number to begin with in the names of a file and its sidecar: free for both when the move began.
    let number: Int
    let isCancelled: () -> Bool

    init(from directory: DirectoryHandle, to folder: Folder, number: Int, isCancelled: @escaping () -> Bool) {
      (self.directory, self.folder, self.number) = (directory, folder, number)
      self.isCancelled = isCancelled
    }
  }

  private func apply(
    _ move: Move, to file: FoundFile, _ name: [UInt8], because reason: String?
  ) throws(SourceError) -> [UInt8] {
    let (directory, folder) = (move.directory, move.folder)
    do throws(SystemError) {
      let moved = try place(name, move, because: reason) { other throws(SystemError) in
        try folder.take(name, from: directory, as: other, renaming)
      }
      onStep(.fileMoved)
      let status: FileStatus
      do { status = try folder.directory.status(of: moved) } catch { return moved }
      if status.identity.isSameFile(as: file.identity), hasNoWriters(moved, in: folder) { return moved }
      // Another file has taken its place just before, or a process has opened it.
      if reason != nil { folder.unlink(moved + Folder.explanation) }
      let origin = Folder(directory)
      _ = try origin.firstFree(name) { other throws(SystemError) in
        try origin.take(moved, from: folder.directory, as: other, renaming)
      }
    } catch {
      guard error.code == EXDEV else { throw Self.failure(error, "moved" + toFolder) }
      return try copy(file, name, move, because: reason)
    }
    throw .changed
  }

  private func hasNoWriters(_ name: [UInt8], in folder: Folder) -> Bool {
    do { try checkWriters(of: name, in: folder.directory) } catch { return false }
    return true
  }

  /// Calls `take` with the first name that is free. The text that explains why the file is there is written before it,
  /// as nothing would write it after a crash.
  private func place(
    _ name: [UInt8], _ move: Move, because reason: String?,
    _ take: ([UInt8]) throws(SystemError) -> Void
  ) throws(SystemError) -> [UInt8] {
    let folder = move.folder
    let spare = reason == nil ? 0 : Folder.explanation.count
    return try folder.firstFree(name, from: move.number, spare: spare) { other throws(SystemError) in
      guard let reason else { return try take(other) }
      guard !folder.holds(other) else { throw SystemError(code: EEXIST, call: "rename") }
      let explanation = other + Folder.explanation
      let isNew = try folder.write(reason, named: explanation)
      onStep(.reasonWritten)
      do throws(SystemError) {
        try take(other)
      } catch {
        if isNew { folder.unlink(explanation) }
        throw error
      }
    }
  }

  /// Copies the file to another file system, syncs and compares the copy, and only then removes the file.
  private func copy(
    _ file: FoundFile, _ name: [UInt8], _ move: Move, because reason: String?
  ) throws(SourceError) -> [UInt8] {
    let (directory, folder) = (move.directory, move.folder)
    let draft = try Draft(in: folder.directory, folders)
    let original = try file.open()
    let copy: PrivateCopy?
    do throws(PrivateCopy.Failure) {
      copy = try PrivateCopy.make(of: original, in: draft, isCancelled: move.isCancelled)
    } catch {
      switch error {
      case .source(let error): throw error
      case .staging(let error): throw SourceError(.unreadable, "it can't be moved\(toFolder): " + error.text)
      }
    }
    guard let copy else { throw .changed }
    onStep(.copyMade)
    try draft.finish(like: name, in: directory)
    onStep(.copySynced)
    guard let held = try SourceDigest.sha256(of: copy.source, isCancelled: move.isCancelled) else {
      throw .changed
    }
    guard held == copy.digest else {
      throw SourceError(.unreadable, "its copy differs from it; check the disk to which it is moved")
    }
    let moved = try Self.being("moved" + toFolder) { () throws(SystemError) in
      try place(name, move, because: reason) { other throws(SystemError) in
        try folder.take(draft.name, from: folder.directory, as: other, renaming)
      }
    }
    draft.isNamed = true
    do throws(SystemError) {
      try syncFolder(folder.directory.descriptor)
    } catch {
      withdraw(moved, of: draft, from: folder, with: reason)
      throw Self.failure(error, "moved" + toFolder)
    }
    onStep(.copyNamed)
    guard draft.has(moved) else {
      throw SourceError(
        .unreadable, "its copy was removed; check what else writes to the folder to which it is moved")
    }
    do throws(SourceError) {
      try remove(name, file.identity, in: directory)
    } catch {
      if error.code != .sourceChanged, error.code != .notFound {
        withdraw(moved, of: draft, from: folder, with: reason)
      }
      throw error
    }
    return moved
  }

  /// Removes the copy. The original stays, and the next attempt makes another copy.
  private func withdraw(_ moved: [UInt8], of draft: Draft, from folder: Folder, with reason: String?) {
    guard draft.has(moved) else { return }
    folder.unlink(moved)
    if reason != nil { folder.unlink(moved + Folder.explanation) }
  }

  /// The target folder, for a sentence.
  private var toFolder: String {
    if case .move(let folder) = kind { " to \(folder.text)" } else { "" }
  }

  /// Runs `body`, and reports its failure as that of `task`, such as "removed".
  static func being<Value>(
    _ task: String, _ body: () throws(SystemError) -> Value
  ) throws(SourceError) -> Value {
    try rethrowing(as: { failure($0, task) }, body)
  }

  private static func failure(_ error: SystemError, _ task: String) -> SourceError {
    switch error.code {
    case ENOENT: SourceError(.notFound, "it is gone")
    case EACCES, EPERM, EROFS:
      SourceError(
        .denied, "it can't be \(task) (\(error.reason)); give Reel the right to write to both folders")
    case ENOSPC, EDQUOT:
      SourceError(.unreadable, "it can't be \(task): there is no space left; free some there")
    default: SourceError(.unreadable, "it can't be \(task) (\(error)); check both folders and their disks")
    }
  }
}
