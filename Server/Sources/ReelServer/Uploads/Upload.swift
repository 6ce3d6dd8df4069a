import FoundationEssentials
import Glibc
import Reel

/// What is recorded of an upload besides its bytes.
struct UploadState: Codable, Sendable {
  /// The total number of bytes; nil if it was not stated.
  var length: Int64?
  /// The largest number of bytes that it may have; nil for the server's own limit.
  var most: Int64?
  /// What is said about the video.
  var words: PostMetadata
  /// Whether its sender may resume it after an interruption, as the protocol allows.
  var isResumable: Bool
  /// tus' `Upload-Metadata` as received.
  var metadataHeader: String?
  var createdAt: Date
  /// Until when it is remembered that its one-time address is spent.
  var rememberedUntil: Date?
  /// The bytes from here on belong to a part whose checksum has not been compared yet: if the process dies, they are
  /// discarded.
  var uncheckedFrom: Int64?
  /// What became of it. Once there is a verdict, the bytes are removed.
  var verdict: Verdict?

  /// Whether there is a verdict, and no post.
  var isUnwanted: Bool { verdict?.problem != nil }

  /// Whether it must survive a power cut, and remain once it has its verdict: somebody may come back to it.
  var isDurable: Bool { isResumable || rememberedUntil != nil }
}

/// An upload as found on disk.
struct Upload: Sendable {
  let id: UploadID
  var state: UploadState
  /// The number of bytes received for good.
  var offset: Int64
  /// When the last byte came.
  var touchedAt: Date

  var isComplete: Bool { offset == state.length }

  /// - Parameter lifetime: in seconds after the last byte.
  func expires(after lifetime: Int64) -> Date {
    let end = max(state.createdAt, touchedAt).addingTimeInterval(Double(lifetime))
    return state.verdict == nil ? end : max(end, state.rememberedUntil ?? end)
  }
}

/// The files of an upload: `FOLDER/ID/bytes` and `FOLDER/ID/state.json`. Once it is being published, `whole` takes the
/// place of `bytes`. Every call blocks.
struct UploadFiles: Sendable {
  let id: UploadID
  private let folder: String
  /// The file that receives the bytes.
  var path: String { folder + "/bytes" }
  /// The file that holds them once all are received. Nothing opens it for writing, so it may become an object of a
  /// store.
  var wholePath: String { folder + "/whole" }
  private var statePath: String { folder + "/state.json" }

  init(_ id: UploadID, in root: String) {
    self.id = id
    folder = "\(root)/\(id)"
  }

  /// Creates the files; false when there is an upload of that name.
  func make(_ state: UploadState) throws(Problem) -> Bool {
    if mkdir(folder, 0o700) != 0 {
      guard errno == EEXIST else { throw Problem(errno: errno, in: "mkdir") }
      // A folder without a state is what a crash left of an upload that was being created.
      guard Disk.status(of: statePath).map(\.st_size) ?? 0 == 0 else { return false }
      removeBytes()
    }
    // Never open an existing file for writing: it might be an object of a store, too.
    _ = try Disk.open(path, O_WRONLY | O_CREAT | O_EXCL)
    try save(state)
    if state.isDurable { try Disk.syncFolder(of: folder) }
    return true
  }

  /// Nil when there is none.
  func find() throws(Problem) -> Upload? {
    guard let (upload, hasBytes) = try read() else { return nil }
    // The verdict may have come between the two looks. If so, the second read finds it.
    return hasBytes || upload.state.verdict != nil ? upload : try read()?.upload
  }

  private func read() throws(Problem) -> (upload: Upload, hasBytes: Bool)? {
    // An empty state is what a power cut left of an upload that was being created: a name may become durable before the
    // contents do.
    guard let bytes = try Disk.contents(of: statePath), !bytes.isEmpty,
      let file = Disk.status(of: statePath)
    else { return nil }
    let state: UploadState
    do {
      state = try JSONDecoder().decode(UploadState.self, from: Data(bytes))
    } catch {
      throw Problem(.internalServerError, "storage", "what is known of this upload can't be read")
    }
    let received = received
    let offset =
      state.verdict == nil
      ? min(Int64(received?.st_size ?? 0), state.uncheckedFrom ?? .max) : state.length ?? 0
    let upload = Upload(
      id: id, state: state, offset: offset,
      touchedAt: Date(timeIntervalSince1970: Double((received ?? file).st_mtim.tv_sec)))
    return (upload, received != nil)
  }

  func save(_ state: UploadState) throws(Problem) { try save(state, durably: state.isDurable) }

  private func save(_ state: UploadState, durably: Bool) throws(Problem) {
    let bytes: Data
    do {
      bytes = try JSONEncoder().encode(state)
    } catch {
      throw Problem(.internalServerError, "storage", "what is known of this upload can't be written")
    }
    try Disk.replace(statePath, with: Array(bytes), durably: durably)
  }

  /// Makes an upload durable that was not created so.
  func keep(_ state: UploadState) throws(Problem) {
    try save(state, durably: true)
    try Disk.syncFolder(of: folder)
  }

  /// The status of the file that holds the bytes.
  private var received: stat? { Disk.status(of: path) ?? Disk.status(of: wholePath) }
  var hasBytes: Bool { received != nil }
  /// Whether it is being published, or was when a process died.
  var isSealed: Bool { Disk.status(of: wholePath) != nil }

  /// Lets no more bytes come from now on. The caller must hold the upload.
  func seal() throws(Problem) {
    do throws(Problem) {
      try Disk.call("rename") { rename(path, wholePath) }
    } catch {
      // It was sealed before.
      guard error == .noSuchUpload, Disk.status(of: wholePath) != nil else { throw error }
    }
  }

  func removeBytes() { for path in [path, wholePath] { unlink(path) } }

  /// Removes the state last: as long as it is there, the other files can be found.
  func remove() {
    removeBytes()
    for path in [statePath + ".new", statePath] { unlink(path) }
    rmdir(folder)
  }
}
