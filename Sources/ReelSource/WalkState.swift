import ReelCore

/// Where a walk stands.
struct WalkState: Sendable {
  let options: WalkOptions
  var inputs: ArraySlice<SourceInput>
  var folder: FolderWalk?
  var parents: ParentDirectories
  var seen: SeenSources
  var skipped: ExcludedDirectories

  init(inputs: [SourceInput], options: WalkOptions) {
    self.inputs = inputs[...]
    self.options = options
    parents = ParentDirectories(followLinks: options.followLinks)
    seen = SeenSources(isNeeded: inputs.count > 1 || options.followLinks)
    skipped = ExcludedDirectories(options.skippedDirectories)
  }

  /// The next item, or nil at the end.
  mutating func next() -> WalkItem? {
    while true {
      if folder != nil {
        if let item = stepInFolder() { return item }
      } else if let input = inputs.popFirst() {
        if let item = begin(input.path) { return item }
      } else {
        return nil
      }
    }
  }

  // MARK: What the user named

  private mutating func begin(_ path: SourcePath) -> WalkItem? {
    do throws(SourceError) {
      let located = try PathLookup.find(path.bytes, from: nil, links: options.followLinks ? .follow : .refuse)
      if located.status.kind == .directory, options.entersFolders { return try beginFolder(path, located) }
      let file = try parents.foundFile(path, located)
      guard !skipped.covers(file.directory.descriptor, file.directory.identity) else {
        throw ExcludedDirectories.error
      }
      return isNew(file) ? .candidate(file) : nil
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
    folder = try FolderWalk(try located.openDirectory(), path: path, followLinks: options.followLinks)
    return nil
  }

  /// Whether it was neither named before, nor surely found in a folder that was walked before. Where that
  /// isn't sure it comes twice, and its digest tells.
  private mutating func isNew(_ file: FoundFile) -> Bool {
    let name = file.path.lastComponent.bytes
    guard seen.names(name, in: file.directory.identity) else { return false }
    let wasFound =
      seen.hasEntered(file.directory.identity) && ExtensionHint(of: name) == .media && options.filter.takesAll
    return !wasFound
  }
}
