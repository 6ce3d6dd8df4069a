import Glibc
import ReelCore
import Synchronization

/// Stores objects as files in one folder.
///
/// A file gets its name atomically, when it is complete and synced, and never replaces another. Until then it lies in a
/// folder for temporary files on the same file system, under a name that identifies its uploader. The next
/// ``prepare()`` removes what a dead uploader left there.
public final class FolderUploader: Uploader {
  /// Durable, and atomic unless an upload has shown that the file system can only name files by replacing. The digest
  /// is proved by the copy, or vouched for by the program that made the file (`OwnedFile`).
  public var traits: UploadTraits {
    UploadTraits(
      atomicCreate: !notices.hasTold(.namesByReplacing), resumable: false, verifiesChecksums: true,
      durable: true, isLatencyBound: true)
  }
  /// `file://` and the folder's real path, percent-encoded.
  public let destination: Destination

  private let root: CanonicalPath
  private let temporaries: CanonicalPath?
  private let addresses: ObjectAddresses
  private let mode: FolderModes
  private let lease: Duration
  private let notices: FolderNotices
  let failure: FolderFailure
  private let queue: BlockingQueue
  private let opened = Mutex<OpenStore?>(nil)

  /// Creates an uploader, but no folders yet; see ``prepare()``.
  ///
  /// - Parameters:
  ///   - root: the folder, absolute or relative to the current working folder.
  ///   - temporaries: a folder for incomplete files that belongs to this user and this machine alone; created if it is
  ///     missing. If it is nil, or turns out to be on another file system, `.reel-tmp` in `root` is used.
  ///   - publicBaseURL: the address at which viewers find the folder, such as `https://media.example.org/v`; nil for
  ///     file URLs.
  ///   - mode: the permissions of the files and folders that are created.
  ///   - width: how many files may be copied at once; at least 1.
  ///   - lease: how long the temporary files of a process on another machine are kept without a sign of life from it;
  ///     nil for a minute. Each process gives a sign of life six times in that time.
  ///   - onNotice: called with a sentence, once, for each thing that the folder's file system can't promise.
  public init(
    root: String, temporaries: String? = nil, publicBaseURL: String? = nil, mode: FolderModes = .private,
    width: Int = 8, lease: Duration? = nil, onNotice: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    self.root = CanonicalPath(resolving: root)
    self.temporaries = temporaries.map(CanonicalPath.init(resolving:))
    self.mode = mode
    self.lease = lease ?? LeaseTerms.library
    destination = Destination(self.root == CanonicalPath(resolving: "/") ? "file:///" : self.root.fileURL)
    addresses = ObjectAddresses(base: publicBaseURL ?? self.root.fileURL)
    failure = FolderFailure(store: self.root.text)
    notices = FolderNotices(store: self.root.text, tell: onNotice)
    queue = BlockingQueue(label: "reel.folder-store", width: width)
  }

  /// Creates the folder (and those above it) and the folder for temporary files if they are missing, and removes the
  /// temporary files of dead uploaders.
  /// - Throws: `storeUnusable` if the folder can't be created, opened or written to, `storeFull`, `unavailable`.
  public func prepare() async throws(UploadError) {
    let store = try await queue.run { [self] () throws(UploadError) in
      try checkPaths()
      return try preparation.run()
    }
    opened.withLock { $0 = store }
  }

  /// The folder for temporary files; nil before ``prepare()``, and if its file system lets others write to it: a
  /// private copy is judged, and must not change afterwards.
  public var staging: (any StagingArea)? {
    guard let store = opened.withLock({ $0 }), store.isPrivate else { return nil }
    return FolderStaging(store: store, failure: failure)
  }

  /// Copies `source` to a temporary file, syncs it, names it `key`, and syncs the folder. A private copy from
  /// ``staging`` serves as that file. A program's own file (`OwnedFile`) on the same file system is not copied: it
  /// becomes the object, by a hard link.
  ///
  /// The digest of the result is proved, because what was written was hashed: here, or by the program that made that
  /// file.
  /// - Throws: `alreadyExists`, `sourceChanged`, `sourceUnreadable`, `storeFull`, `tooLarge`, `storeUnusable`,
  ///   `unavailable` (no descriptors or memory left), `interrupted` (a disk error), `cancelled`.
  public func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    let store = try preparedStore()
    return try await queue.runCancellable { [self] cancellation throws(UploadError) in
      try cancellation.check()
      let copy = try copy(source, to: key, in: store, cancellation, reporting)
      for outcome in batch(in: store.root).place([copy], cancellation) { try outcome.get() }
      return stored(source, as: key)
    }
  }

  /// Returns the object with its length. Its digest is nil, as only ``readBack(_:)`` can determine it.
  ///
  /// In a store that was prepared for uploads, an object that is found is made durable: the process that named it may
  /// have died before it synced the folder.
  /// - Throws: `storeUnusable` if the folder is missing, `denied`, `conflict` if something other than a file has the
  ///   name, `interrupted` if the folder can't be synced.
  public func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? {
    let size = try await withStoredFile(key) { file, _ in file.size }
    if size != nil, let durable = opened.withLock({ $0?.durable }) { try await sync(durable) }
    return size.map { StoredObject(key: key, url: addresses.url(of: key), size: $0, digest: nil) }
  }

  /// Removes the object, durably.
  /// - Throws: `denied`, `conflict` if something other than a file has that name, `storeUnusable`.
  @discardableResult
  public func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval {
    for removal in await queue.run({ [self] () throws(Never) in remove([key]) }) { return try removal.get() }
    return .gone
  }

  /// Reads and hashes the whole file.
  /// - Throws: the errors of ``find(_:)``, `interrupted` on a disk error, `cancelled`.
  public func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? {
    try await withStoredFile(key) { [self] file, cancellation throws(UploadError) in
      try file.digest(failure, cancellation)
    }
  }
}

extension FolderUploader {
  var rootPath: String { root.text }

  var preparation: StorePreparation {
    StorePreparation(
      root: root, temporaries: temporaries, mode: mode, failure: failure, lease: lease, notices: notices)
  }

  func copy(
    _ source: UploadSource, to key: ObjectKey, in store: OpenStore, _ cancellation: CancellationFlag,
    _ reporting: @escaping @Sendable (TransferProgress) -> Void
  ) throws(UploadError) -> CopiedObject {
    try ObjectCopying(store: store, key: key, mode: mode.file, failure: failure)
      .run(source, cancellation, reporting)
  }

  func batch(in root: Descriptor) -> ObjectBatch {
    ObjectBatch(root: root, path: rootPath, failure: failure)
  }

  func stored(_ source: UploadSource, as key: ObjectKey) -> StoredObject {
    StoredObject(key: key, url: addresses.url(of: key), size: source.size, digest: source.digest)
  }

  func preparedStore() throws(UploadError) -> OpenStore {
    guard let store = opened.withLock({ $0 }) else {
      throw UploadError(.storeUnusable, "the store \(root.text) is not ready: call prepare() before upload")
    }
    return store
  }

  /// Stores `source` under the name `key`, replacing the file that has it.
  func replace(_ key: ObjectKey, with source: UploadSource) async throws(UploadError) {
    let store = try preparedStore()
    try await queue.runCancellable { [self] cancellation throws(UploadError) in
      try cancellation.check()
      let copy = try ObjectCopying(store: store, key: key, mode: mode.file, replaces: true, failure: failure)
        .run(source, cancellation) { _ in }
      try copy.sync(failure)
      try cancellation.check()
      try copy.replace(in: store.root, failure)
    }
    try await sync(store.durable)
  }

  private func sync(_ folder: DurableFolder) async throws(UploadError) {
    try await rethrowing(as: { failure($0, "sync the folder") }) { () async throws(SystemError) in
      try await folder.sync()
    }
  }

  private func withStoredFile<Value: Sendable>(
    _ key: ObjectKey, _ body: @escaping @Sendable (StoredFile, CancellationFlag) throws(UploadError) -> Value?
  ) async throws(UploadError) -> Value? {
    try await queue.runCancellable { [self] cancellation throws(UploadError) in
      try cancellation.check()
      guard let file = try StoredFile.open(key, in: try rootFolder(), failure) else { return nil }
      return try body(file, cancellation)
    }
  }

  /// - Throws: `storeUnusable` if a path can't be that of the folder that was meant.
  func checkPaths() throws(UploadError) {
    for path in [root, temporaries].compactMap(\.self) {
      guard let problem = path.problem else { continue }
      throw UploadError(.storeUnusable, "the folder \(path.text) can't be used as a store: \(problem)")
    }
  }

  /// The folder that ``prepare()`` opened. Without that, as in commands that only read, it is opened for this call.
  func rootFolder() throws(UploadError) -> Descriptor {
    if let store = opened.withLock({ $0 }) { return store.root }
    try checkPaths()
    return try failure.doing("open the folder") { () throws(SystemError) in try StoreFolder.open(root.text) }
  }
}

extension FolderUploader: DamagedObjectReplacing {
  /// Copies `source` to a temporary file and syncs it, as an upload does. Then renames it over the damaged object,
  /// whose bytes are lost with that, and syncs the folder.
  package func replaceDamaged(
    _ key: ObjectKey, with source: UploadSource
  ) async throws(UploadError) -> Bool {
    guard try await isDamaged(key, source) else { return false }
    try await replace(key, with: source)
    return true
  }
}
