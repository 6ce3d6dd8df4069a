import ReelCore

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
    guard claim != .ignored else { return .ignored(entry.path) }
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
    guard claim != .unfinished else { return .ignored(entry.path) }
    guard !seen.hasNamed(entry.name, in: entry.directory.identity) else { return nil }
    guard options.filter.takesFile(entry.relativePath) else { return .ignored(entry.path) }
    let file = FoundFile(
      path: entry.path, identity: status.identity, wasNamed: false, directory: entry.directory, place: place)
    if claim == .shared { return try isAmbiguousExtension(file) ? .ignored(entry.path) : .candidate(file) }
    if claim == .media || claimsOtherwise(entry) { return .candidate(file) }
    return try isCandidateByBytes(file) ? .candidate(file) : .ignored(entry.path)
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
    guard options.filter.entersFolder(entry.relativePath) else { return .ignored(entry.path) }
    do throws(SourceError) {
      let located = try place.find(in: entry.directory)
      guard located.status.kind == .directory else { throw .changed }
      guard !skipped.contains(located.status.directoryIdentity) else { return .ignored(entry.path) }
      guard seen.enters(located.status.directoryIdentity) else { return nil }
      try folder?.enter(entry, try located.openDirectory(), byLink: place.mayBeLink)
      return nil
    } catch {
      return .failed(entry.path, error)
    }
  }

  /// Something whose name claims nothing, and that can't be looked into, is none of ours; but a link that was
  /// to be followed and leads out may be a whole folder of videos.
  private func unreachable(
    _ entry: FolderWalk.Entry, _ claim: ExtensionHint, _ error: SourceError
  ) -> WalkItem {
    let isOurs = (claim == .media || claim == .shared) && options.filter.takesFile(entry.relativePath)
    let isLoss = isOurs || error.code == .tooManyOpenFiles || error.code == .outsideRoot
    return isLoss ? .failed(entry.path, error) : .ignored(entry.path)
  }
}
