import FoundationEssentials
import Glibc
import ReelCore

/// What becomes of a file of a watched folder once it was dealt with: it stays, goes, or goes to another folder.
///
/// It never touches another file than the one that was dealt with: whatever is in its place by then, or was written to,
/// stays. A crash between any two steps leaves the file where it was, or where it goes.
package struct FileDisposal: Sendable {
  package enum Kind: Hashable, Sendable {
    case keep
    case delete
    /// To this folder, under its name, or that with a number where there is one of this name.
    case move(SourcePath)
  }

  /// What has just been done, for who looks at crashes.
  package enum Step: String, CaseIterable, Sendable {
    case sidecarDisposed, reasonWritten, fileHidden, fileRemoved, fileMoved, copyMade, copySynced, copyNamed
  }

  private let kind: Kind
  private let sidecarFirst: Bool
  private let onStep: @Sendable (Step) -> Void

  /// - Parameters:
  ///   - sidecarFirst: whether the sidecar goes before its video: left behind by a crash, it would be that of the next video
  ///     of this name. Not where the video must not be met without it: it says who the author is, or why the video is no post.
  ///   - onStep: told of each step.
  package init(
    _ kind: Kind, sidecarFirst: Bool = true, onStep: @escaping @Sendable (Step) -> Void = { _ in }
  ) {
    (self.kind, self.sidecarFirst, self.onStep) = (kind, sidecarFirst, onStep)
  }

  /// Does it to `file`, and to the sidecar beside it, unless that is another video's, too. Blocks.
  /// - Parameter reason: why the file is not a post: written beside it where it goes to another folder, as NAME.txt.
  /// - Returns: where it is now; nil where it was removed or stays.
  /// - Throws: `sourceChanged` when it is not the file that was dealt with any more; `notFound` when it is gone; `denied`,
  ///   `unreadable` when it can't be done.
  @discardableResult
  package func apply(to file: FoundFile, reason: String? = nil) throws(SourceError) -> SourcePath? {
    guard kind != .keep, let directory = file.directory else { return nil }
    let name = file.path.lastComponent.bytes
    guard try directory.status(of: name).identity == file.identity else { throw .changed }
    let sidecar = sidecar(of: name, in: directory)
    if sidecarFirst { try dispose(ofSidecar: sidecar, in: directory) }
    let place: SourcePath?
    switch kind {
    case .keep: return nil
    case .delete:
      try remove(name, file.identity, in: directory)
      place = nil
    case .move(let folder):
      let target = try Folder(folder)
      let moved = try move(file, name, in: directory, to: target)
      if let reason { try target.write(reason, named: moved + Array(".txt".utf8)) }
      onStep(.reasonWritten)
      place = folder.appending(moved)
    }
    if !sidecarFirst { try dispose(ofSidecar: sidecar, in: directory) }
    return place
  }

  // MARK: Sidecars

  private func sidecar(of name: [UInt8], in directory: DirectoryHandle) -> [UInt8]? {
    let sidecar = Sidecar.name(for: name)
    guard sidecar != name, (try? directory.status(of: sidecar))?.kind == .regular,
      let names = try? NameList(of: directory)
    else { return nil }
    let others = (0..<names.count).lazy.map { names[$0] }.filter { $0 != name && $0 != sidecar }
    return others.contains { Sidecar.name(for: $0) == sidecar } ? nil : sidecar
  }

  private func dispose(ofSidecar name: [UInt8]?, in directory: DirectoryHandle) throws(SourceError) {
    guard let name else { return }
    let status = try directory.status(of: name)
    switch kind {
    case .keep: return
    case .delete: try remove(name, status.identity, in: directory)
    case .move(let folder):
      let file = FoundFile(
        path: folder.appending(name), identity: status.identity, wasNamed: false,
        origin: .local(directory, .name(name)))
      _ = try move(file, name, in: directory, to: Folder(folder))
    }
    onStep(.sidecarDisposed)
  }

  // MARK: Removing

  /// What a name begins with while it is on its way out.
  private static let hidden = Array(".reel-removing-".utf8)

  /// Under another name first: between a look and a removal, the name may come to mean another file.
  private func remove(
    _ name: [UInt8], _ identity: FileIdentity, in directory: DirectoryHandle
  ) throws(SourceError) {
    let aside = Self.hidden + name
    try rename(name, aside, in: directory)
    onStep(.fileHidden)
    guard try directory.status(of: aside).identity.isSameFile(as: identity) else {
      try rename(aside, name, in: directory)
      throw .changed
    }
    let target = try PathBytes(aside)
    do throws(SystemError) {
      _ = try retryingInterrupts("unlinkat") {
        unlinkat(directory.descriptor.rawValue, target.characters, 0)
      }
    } catch {
      try? rename(aside, name, in: directory)
      throw FileDisposal.failure(error, "removed")
    }
    onStep(.fileRemoved)
  }

  /// What a crash has left on its way out gets its name back: it is dealt with anew.
  /// - Parameter begun: what has been hidden since then is on its way out just now.
  static func putBack(_ path: SourcePath, unlessSince begun: Date) {
    let name = path.lastComponent.bytes
    guard name.starts(with: hidden), name.count > hidden.count,
      let status = try? PathLookup.find(path.bytes, from: nil, links: .follow).status,
      Double(status.identity.changedAt) / 1e9 < begun.timeIntervalSince1970,
      let folder = try? Folder(SourcePath(bytes: path.bytes.dropLast(name.count) + ".".utf8))
    else { return }
    try? folder.take(name, from: folder.directory, as: Array(name.dropFirst(hidden.count)))
  }

  private func rename(
    _ name: [UInt8], _ other: [UInt8], in directory: DirectoryHandle
  ) throws(SourceError) {
    do throws(SystemError) {
      try Folder(directory).take(name, from: directory, as: other)
    } catch {
      throw Self.failure(error, "removed")
    }
  }

  // MARK: Moving

  private func move(
    _ file: FoundFile, _ name: [UInt8], in directory: DirectoryHandle, to folder: Folder
  ) throws(SourceError) -> [UInt8] {
    do throws(SystemError) {
      let moved = try folder.firstFree(name) { other throws(SystemError) in
        try folder.take(name, from: directory, as: other)
      }
      onStep(.fileMoved)
      let status: FileStatus
      do { status = try folder.directory.status(of: moved) } catch { return moved }
      if status.identity.isSameFile(as: file.identity) { return moved }
      // Something else has come in its place just before.
      try? Folder(directory).take(moved, from: folder.directory, as: name)
    } catch {
      guard error.code == EXDEV else { throw Self.failure(error, "moved") }
      return try copy(file, name, in: directory, to: folder)
    }
    throw .changed
  }

  /// To another file system: copied, synced, compared, and only then removed.
  private func copy(
    _ file: FoundFile, _ name: [UInt8], in directory: DirectoryHandle, to folder: Folder
  ) throws(SourceError) -> [UInt8] {
    let draft = try Draft(of: name, in: folder.directory)
    let original = try file.open()
    let copy: PrivateCopy?
    do throws(PrivateCopy.Failure) {
      copy = try PrivateCopy.make(of: original, in: draft)
    } catch {
      switch error {
      case .source(let error): throw error
      case .staging(let error): throw SourceError(.unreadable, error.text)
      }
    }
    guard let copy else { throw .changed }
    onStep(.copyMade)
    try draft.finish(like: directory.status(of: name), in: directory, name)
    onStep(.copySynced)
    guard let held = try SourceDigest.sha256(of: copy.source, isCancelled: { false }), held == copy.digest
    else {
      throw SourceError(.unreadable, "its copy is not what it is; check the disk that it is moved to")
    }
    let moved: [UInt8]
    do throws(SystemError) {
      moved = try folder.firstFree(name) { other throws(SystemError) in
        try folder.take(draft.name, from: folder.directory, as: other)
      }
      _ = try retryingInterrupts("fsync") { fsync(folder.directory.descriptor.rawValue) }
    } catch {
      throw Self.failure(error, "moved")
    }
    draft.isNamed = true
    onStep(.copyNamed)
    do throws(SourceError) {
      try remove(name, file.identity, in: directory)
    } catch {
      // It stays, and the next attempt makes another copy.
      if error.code != .sourceChanged, error.code != .notFound, let copied = try? PathBytes(moved) {
        unlinkat(folder.directory.descriptor.rawValue, copied.characters, 0)
      }
      throw error
    }
    return moved
  }

  static func failure(_ error: SystemError, _ task: String) -> SourceError {
    switch error.code {
    case ENOENT: SourceError(.notFound, "it is gone")
    case EACCES, EPERM, EROFS:
      SourceError(
        .denied, "it can't be \(task) (\(error.reason)); give Reel the right to write to both folders")
    case ENOSPC, EDQUOT: SourceError(.unreadable, "it can't be \(task): there is no room; free some")
    default: SourceError(.unreadable, "it can't be \(task) (\(error)); check both folders and their disks")
    }
  }
}
