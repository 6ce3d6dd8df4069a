import ReelCore
import ReelSource
import ReelValidation

/// Finds files, and gathers what a policy and a lock need to know about them.
package struct FixtureScan: Sendable {
  /// Which files' bytes are read completely.
  package enum Hashing: Sendable {
    case none
    /// Those of files that have the same size, because they may be equal.
    case sameSizes
    case all
  }
  private let inputs: [SourceInput]
  private let options: WalkOptions
  private let prober: any MediaProber
  private let hashing: Hashing
  private let width: Int
  private let wording: @Sendable (ErrorMessage) -> String
  private let disk = BlockingQueue(label: "reel.disk", width: 8)

  /// - Parameters:
  ///   - width: the number of files read at once, at least 1.
  ///   - wording: puts messages into words, with the names of settings: a report contains only text.
  package init(
    inputs: [SourceInput], followLinks: Bool, includesTrash: Bool, filter: NameFilter,
    prober: any MediaProber, hashing: Hashing, width: Int,
    wording: @escaping @Sendable (ErrorMessage) -> String
  ) {
    self.wording = wording
    self.inputs = inputs
    self.prober = prober
    self.hashing = hashing
    self.width = max(1, width)
    var options = WalkOptions(followLinks: followLinks, filter: filter)
    options.otherExtensions = VideoNames.extensions.union([Self.sidecarExtension])
    options.includesTrash = includesTrash
    options.takesPointers = true
    options.remoteUse = .probing
    self.options = options
  }

  private static let sidecarExtension = "json"

  /// Returns every file, in the order of the walk, each once.
  /// - Parameter isLocked: whether a file is one that must stay as it is; it has its digest if all are hashed.
  /// - Throws: a ``ProbeError`` after which no other file would fare better; `cancelled` too.
  package func run(
    isLocked: (FixtureFacts) -> Bool = { _ in false }
  ) async throws(ProbeError) -> [FixtureFacts] {
    let gathered = try await gather()
    var seen: Set<SourcePath> = []
    let files = withoutKeptSidecars(gathered).filter { seen.insert($0.path).inserted }
    return await comparingLikeness(of: files, isLocked: isLocked)
  }

  // MARK: Walking

  private func gather() async throws(ProbeError) -> [FixtureFacts] {
    var gathered: [FixtureFacts] = []
    // Twice as many, so that some open and hash files while the others wait for their readers.
    try await FileRun(inputs: inputs, options: options, width: 2 * width).run(facts(of:_:)) {
      facts throws(ProbeError) in
      gathered += [facts].compactMap(\.self)
      return true
    }
    if Task.isCancelled { throw ProbeError(.cancelled, "interrupted") }
    return gathered
  }

  @Sendable private func facts(of file: WalkedFile, _ flag: CancellationFlag) throws(ProbeError)
    -> FixtureFacts?
  {
    switch file.found {
    case .success(let found): return try facts(of: found, flag)
    case .failure(let error):
      let path = file.path
      if Self.isSidecarName(path), !inputs.contains(SourceInput(path: path)) { return nil }
      return FixtureFacts(path: path, patternPath: inputs.place(of: path), reading: unreachable(error))
    }
  }

  /// Returns nil for what is not a fixture at all.
  private func facts(of found: FoundFile, _ flag: CancellationFlag) throws(ProbeError) -> FixtureFacts? {
    if Self.isSidecarName(found.path), !found.wasNamed { return sidecarAlone(found, flag) }
    let pattern = inputs.place(of: found.path)
    let source: SourceFile
    do throws(SourceError) {
      source = try found.open(flag)
    } catch {
      var facts = FixtureFacts(path: found.path, patternPath: pattern, reading: unreachable(error))
      facts.lacksOnlyItsMode = error.code == .denied && found.lacksOnlyItsMode
      return facts
    }
    var facts = FixtureFacts(
      path: found.path, patternPath: pattern, size: source.size, reading: try reading(source, flag),
      sidecar: sidecar(beside: found))
    facts.isRemote = found.isRemote
    if !found.isRemote {
      facts.identity = source.identity
      if Self.isGivenBack(facts.problem) { facts.git = GitRepository.facts(of: found.path) }
      if facts.problem?.code == .lfsPointer { facts.pointsTo = Self.target(of: source) }
    }
    do throws(SourceError) {
      facts.digest = try digest(of: source, flag)
    } catch {
      facts.reading = unreachable(error)
    }
    return facts
  }

  /// Whether Git may have what is missing from the file.
  private static func isGivenBack(_ problem: ProbeError?) -> Bool {
    problem?.code == .empty || problem?.code == .lfsPointer
  }

  private static func target(of source: SourceFile) -> ContentDigest? {
    guard source.size <= LFSPointer.most else { return nil }
    var bytes = [UInt8](repeating: 0, count: LFSPointer.most)
    let count = bytes.withUnsafeMutableBytes { try? source.handle.read(into: $0, at: 0) }
    return LFSPointer.target(Array(bytes.prefix(count ?? 0)))
  }

  // MARK: Reading

  private func unreachable(_ error: SourceError) -> FixtureReading {
    .unreachable(SourceError(error.code, wording(error.text)))
  }

  private func reading(_ source: SourceFile, _ flag: CancellationFlag) throws(ProbeError) -> FixtureReading {
    do throws(ProbeError) {
      return .media(try prober.probe(source, cancellation: flag))
    } catch {
      if error.code.isInstallation || error.code == .cancelled { throw error }
      return .unreadable(ProbeError(error.code, wording(error.text), found: error.found))
    }
  }

  /// Returns nil if the digest is not wanted, or if the bytes can't be read or have changed.
  /// - Throws: `readLimit`.
  private func digest(of source: SourceFile, _ flag: CancellationFlag) throws(SourceError) -> ContentDigest? {
    guard hashing == .all else { return nil }
    do throws(SourceError) {
      return try SourceDigest.sha256(of: source, isCancelled: { flag.isSet })
    } catch {
      if error.code == .readLimit { throw error }
      return nil
    }
  }

  // MARK: Sidecars

  private static func isSidecarName(_ path: SourcePath) -> Bool { path.claimedExtension == sidecarExtension }

  private func sidecar(beside found: FoundFile) -> SidecarStatus {
    do throws(SourceError) {
      return try Sidecar.metadata(beside: found, trustAuthor: true) == nil ? .none : .valid
    } catch {
      return .invalid(wording(error.text))
    }
  }

  /// Returns the facts of a JSON file that may be a sidecar. Whether it has a video is checked at the end.
  private func sidecarAlone(_ found: FoundFile, _ flag: CancellationFlag) -> FixtureFacts? {
    let size = Int(found.identity.size)
    guard size <= Sidecar.largest, let source = try? found.open() else { return nil }
    var bytes = [UInt8](repeating: 0, count: size)
    let count = bytes.withUnsafeMutableBytes { try? source.handle.read(into: $0, at: 0) }
    guard count == size, Sidecar.isOne(bytes) else { return nil }
    return FixtureFacts(
      path: found.path, patternPath: inputs.place(of: found.path), size: found.identity.size,
      digest: (try? digest(of: source, flag)) ?? nil, reading: .orphanSidecar)
  }

  /// Leaves out sidecars that have a video: they are not files of their own.
  private func withoutKeptSidecars(_ files: [FixtureFacts]) -> [FixtureFacts] {
    let stems = Set(files.filter { $0.reading != .orphanSidecar }.map { Self.stem($0.path) })
    return files.filter { $0.reading != .orphanSidecar || !stems.contains(Self.stem($0.path)) }
  }

  /// Returns a text that is equal for paths that differ only in their extensions, as they are printed.
  private static func stem(_ path: SourcePath) -> String {
    let length = path.claimedExtension.map { $0.utf8.count + 1 } ?? 0
    return String(decoding: path.bytes.dropLast(length), as: UTF8.self)
  }

  // MARK: Likeness

  private func comparingLikeness(
    of files: [FixtureFacts], isLocked: (FixtureFacts) -> Bool
  ) async -> [FixtureFacts] {
    guard hashing != .none else { return files }
    let groups = Dictionary(grouping: files.indices.filter { (files[$0].size ?? 0) > 0 }) { files[$0].size }
    var files = files
    for index in files.indices where files[index].size != nil { files[index].likeness = .unique }
    var firsts: [ContentDigest: FixtureFacts] = [:]
    // The file to keep is locked, safely named and correctly named, as far as there is
    // one; the first criterion counts most.
    let alike = groups.values.filter { $0.count > 1 }.joined().map { index in
      let file = files[index]
      let flaws = (isLocked(file) ? 0 : 4) + (file.isSafelyNamed ? 0 : 2) + (file.isMisnamed ? 1 : 0)
      return (flaws, file.path, index)
    }
    .sorted { $0 < $1 }
    for (_, _, index) in alike {
      if files[index].digest == nil { files[index].digest = await digest(ofFileAt: files[index].path) }
      guard let digest = files[index].digest else {
        files[index].likeness = .unknown
        continue
      }
      if let first = firsts[digest] {
        files[index].likeness =
          files[index].isFile(of: first) ? .isFile(first.path) : .sameAs(first.path)
      }
      firsts[digest] = firsts[digest] ?? files[index]
    }
    return files
  }

  /// Opens the file again: if all were held open until now, that would be too many.
  private func digest(ofFileAt path: SourcePath) async -> ContentDigest? {
    let followLinks = options.followLinks
    return await disk.run {
      guard let source = try? FoundFile.named(path, followLinks: followLinks).open() else { return nil }
      return try? SourceDigest.sha256(of: source)
    }
  }
}

extension FixtureFacts {
  /// Whether its name claims another container than it has.
  fileprivate var isMisnamed: Bool {
    guard let media, let claimed = path.claimedExtension else { return false }
    return media.container.contradicts(claimedExtension: claimed)
  }

  /// Whether both paths lead to the same file.
  fileprivate func isFile(of other: FixtureFacts) -> Bool {
    guard let identity, let same = other.identity else { return false }
    return identity.device == same.device && identity.inode == same.inode
  }
}
