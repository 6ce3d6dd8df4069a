import FoundationEssentials
import Glibc
import ReelCore
import ReelLibrary
import ReelSandbox
import ReelSource

/// Builds a catalog from what is stored, in place of one that was lost.
package struct LibraryRebuild: Sendable {
  /// A store, and its folder; nil if it is not a folder.
  package typealias Opened = (uploader: any Uploader, folder: String?)

  private let library: LibraryFolder
  private let folders: [String]
  private let prober: SandboxedProber
  private let open: @Sendable (_ folder: String?) async throws -> Opened
  private let disk: BlockingQueue

  /// - Parameters:
  ///   - folders: where this library stored objects, besides its own store.
  ///   - width: the number of objects that are examined at once.
  ///   - open: opens one of these folders, or (nil) the library's own store.
  package init(
    of library: LibraryFolder, folders: [String], prober: SandboxedProber, width: Int,
    open: @escaping @Sendable (_ folder: String?) async throws -> Opened
  ) {
    (self.library, self.folders, self.prober, self.open) = (library, folders, prober, open)
    disk = BlockingQueue(label: "reel.rebuild", width: width)
  }

  /// The outcome of a rebuild.
  package struct Rebuilt: Sendable {
    package let posts: Int
    /// Objects that got no post.
    package let failures: [RepairFailure]
  }

  /// Why no catalog is built. The cause has to be put right first.
  package struct Obstacle: ReelError {
    package let text: ErrorMessage
    package var message: String { text.description }

    fileprivate init(_ text: ErrorMessage) { self.text = text }
  }

  /// An object that has not been read yet.
  private struct FoundObject: Sendable {
    let key: ObjectKey
    let store: any Uploader
    /// Its path rather than the file, which would hold its folder open.
    let path: SourcePath
    let identity: FileIdentity
    /// When it was stored, because it has not changed since.
    var storedAt: Date { Date(timeIntervalSince1970: Double(identity.modifiedAt) / 1e9) }
  }

  private enum Outcome: Sendable {
    case post(RebuiltObject)
    case leftOut(RepairFailure)
  }

  /// Rebuilds the catalog.
  /// - Parameter onWait: told which process is in the library if a wait for it takes long.
  /// - Throws: if there is a catalog, if another process is at work on the library, or if an object can't be read at
  ///   present. Then the catalog is still lost.
  package func run(onWait: @escaping @Sendable (LockHolder) -> Void) async throws -> Rebuilt {
    let catalog = try await CatalogRebuild.begin(for: library, onWait: onWait)
    var (objects, failures) = try await found()
    // The feed shows them in the order in which they were stored.
    objects.sort { ($0.storedAt, $0.key.rawValue) < ($1.storedAt, $1.key.rawValue) }
    var posts = 0
    for start in stride(from: 0, to: objects.count, by: Self.batch) {
      let outcomes = try await read(objects[start..<min(start + Self.batch, objects.count)])
      var rebuilt: [RebuiltObject] = []
      for outcome in outcomes {
        switch outcome {
        case .post(let object): rebuilt.append(object)
        case .leftOut(let failure): failures.append(failure)
        }
      }
      posts += rebuilt.count
      let batch = rebuilt
      try await catalog.add(batch)
    }
    try await catalog.finish()
    return Rebuilt(posts: posts, failures: failures)
  }

  /// The number of objects that are open at once.
  private static let batch = 16

  // MARK: Finding

  private func found() async throws -> ([FoundObject], [RepairFailure]) {
    var objects: [FoundObject] = []
    var failures: [RepairFailure] = []
    var seen: Set<Destination> = []
    // A link to a disk that is not mounted exists, too: what is behind it must not be silently left out.
    var facts = stat()
    let hasOwn = lstat(library.mediaPath, &facts) == 0
    for destination in (hasOwn ? [nil] : []) + folders.map(Optional.some) {
      let opened = try await open(destination)
      guard seen.insert(opened.uploader.destination).inserted else { continue }
      guard let folder = opened.folder, let store = opened.uploader as? any Uploader & StoreExamination else {
        throw Obstacle(
          "a catalog can't be rebuilt from the objects in \(opened.uploader.destination): restore a backup of the catalog (docs/backup.md), or name only folders with \(setting: .to)"
        )
      }
      let names = try await store.names()
      // Nothing records any more which posts the posters belonged to.
      for key in names.filter(ObjectKey.isDrawn).compactMap({ ObjectKey($0) }) where !key.isPoster {
        let path = SourcePath(URL(filePath: folder).resolvingSymlinksInPath().path + "/" + key.rawValue)
        do throws(SourceError) {
          let identity = try await disk.run { () throws(SourceError) in
            try FoundFile.named(path, followLinks: false).identity
          }
          objects.append(FoundObject(key: key, store: store, path: path, identity: identity))
        } catch {
          failures.append(try Self.leftOut(key, error))
        }
      }
    }
    guard !objects.isEmpty else {
      throw Obstacle(
        "no stored object was found, so no catalog was made: with \(setting: .to), name the folders where \(library.path) stored its objects; posts in other stores can be recovered only from a backup of the catalog (docs/backup.md)"
      )
    }
    return (objects, failures)
  }

  // MARK: Reading

  /// Reads objects, and returns the outcomes in their order.
  private func read(_ objects: ArraySlice<FoundObject>) async throws -> [Outcome] {
    try await withThrowingTaskGroup(of: (Int, Outcome).self) { group in
      for (index, object) in zip(objects.indices, objects) {
        group.addTask { (index, try await read(object)) }
      }
      return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
    }
  }

  private func read(_ object: FoundObject) async throws -> Outcome {
    let (file, digest): (SourceFile, ContentDigest?)
    do throws(SourceError) {
      (file, digest) = try await disk.run { () throws(SourceError) in
        let file = try FoundFile.named(object.path, followLinks: false).open()
        return (file, try SourceDigest.sha256(of: file))
      }
    } catch {
      return .leftOut(try Self.leftOut(object.key, error))
    }
    let report: ProbeReport
    do throws(ProbeError) {
      report = try await prober.probe(file)
    } catch {
      return .leftOut(try Self.leftOut(object.key, error))
    }
    let stored = try await object.store.find(object.key)
    guard let digest, let stored, stored.size == file.size, file.identity == object.identity else {
      throw Obstacle("\(object.key) changed while it was read: \(Self.again)")
    }
    let randomness = SystemRandomness()
    return .post(
      RebuiltObject(
        stored,
        of: Publication(digest: digest, destination: object.store.destination, authorID: nil),
        draft: PostDraft(
          media: report.media, provenance: report.provenance, metadata: PostMetadata(),
          commentID: randomness.name(length: 22)),
        id: PostID(at: object.storedAt, random: randomness), createdAt: object.storedAt))
  }

  // MARK: Unreadable objects

  private static let again =
    "run it again, or move that object out of the store if it happens again; nothing was changed"

  /// Returns the failure of an object that gets no post because its bytes are not a
  /// video, as far as this reader can tell.
  /// - Throws: ``Obstacle`` for a failure that may pass, because the object would never get a post.
  private static func leftOut(_ key: ObjectKey, _ error: ProbeError) throws -> RepairFailure {
    let isLasting = [.crashed, .sandboxViolation, .implausible].contains(error.code)
    guard error.code.isAboutTheBytes || isLasting else {
      if error.code.isInstallation || error.code == .cancelled { throw error }
      throw Obstacle("\(key): \(error.text): \(again)")
    }
    return RepairFailure(subject: key.rawValue, code: error.code.rawValue, message: error.text)
  }

  /// Returns the failure of something that is not a file, and so was not stored by Reel.
  private static func leftOut(_ key: ObjectKey, _ error: SourceError) throws -> RepairFailure {
    guard [.isDirectory, .notRegular, .isLink].contains(error.code) else {
      throw Obstacle("\(key): \(error.text): \(again)")
    }
    return RepairFailure(subject: key.rawValue, code: error.code.rawValue, message: error.text)
  }
}
