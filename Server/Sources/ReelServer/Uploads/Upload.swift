import FoundationEssentials
import Glibc
import Reel

/// What is remembered of an upload beside its bytes.
struct UploadState: Codable, Sendable {
  /// Bytes of the whole; nil where nobody said.
  var length: Int64?
  /// Bytes that it may have at most; nil for as many as the server takes.
  var most: Int64?
  /// What is said of the video.
  var words: PostMetadata
  /// Whether its sender may go on after an interruption: it came by a protocol that can.
  var isResumable: Bool
  /// tus' `Upload-Metadata` as it came.
  var metadataHeader: String?
  var createdAt: Date
  /// Until then it is remembered that its one-time address is spent.
  var rememberedUntil: Date?
  /// Bytes from here on belong to a part whose checksum nobody has compared yet: should the process die, they go.
  var uncheckedFrom: Int64?
  /// What became of it; its bytes are gone then.
  var verdict: Verdict?

  /// Whether there is a verdict, and no post.
  var isUnwanted: Bool { verdict?.problem != nil }

  /// Whether it is to be there after a power cut, and once it has its verdict: somebody may come back to it.
  var isDurable: Bool { isResumable || rememberedUntil != nil }
}

/// An upload as it was found.
struct Upload: Sendable {
  let id: UploadID
  var state: UploadState
  /// Bytes that are there for good.
  var offset: Int64
  /// When a byte came last.
  var touchedAt: Date

  var isComplete: Bool { offset == state.length }

  /// - Parameter lifetime: seconds after its last byte.
  func expires(after lifetime: Int64) -> Date {
    let end = max(state.createdAt, touchedAt).addingTimeInterval(Double(lifetime))
    return state.verdict == nil ? end : max(end, state.rememberedUntil ?? end)
  }
}

/// The files of an upload: `FOLDER/ID/bytes` and `FOLDER/ID/state.json`; in place of `bytes` it has `whole` once it is being
/// published. Every call blocks.
struct UploadFiles: Sendable {
  let id: UploadID
  private let folder: String
  /// Where bytes come in.
  var path: String { folder + "/bytes" }
  /// Where they are once none comes any more: nothing opens that to write to it, so it may become an object of a store.
  var wholePath: String { folder + "/whole" }
  private var statePath: String { folder + "/state.json" }

  init(_ id: UploadID, in root: String) {
    self.id = id
    folder = "\(root)/\(id)"
  }

  /// False when there is one of that name.
  func make(_ state: UploadState) throws(Problem) -> Bool {
    if mkdir(folder, 0o700) != 0 {
      guard errno == EEXIST else { throw Problem(errno: errno, in: "mkdir") }
      // One without a state is what a crash left of a beginning.
      guard Disk.status(of: statePath).map(\.st_size) ?? 0 == 0 else { return false }
      removeBytes()
    }
    // Never one that is there: it might be an object, too.
    _ = try Disk.open(path, O_WRONLY | O_CREAT | O_EXCL)
    try save(state)
    if state.isDurable { try Disk.syncFolder(of: folder) }
    return true
  }

  /// Nil when there is none.
  func find() throws(Problem) -> Upload? {
    guard let (upload, hasBytes) = try read() else { return nil }
    // Its verdict may have come between the two looks: then it is there now.
    return hasBytes || upload.state.verdict != nil ? upload : try read()?.upload
  }

  private func read() throws(Problem) -> (upload: Upload, hasBytes: Bool)? {
    // An empty one is what a power cut left of a beginning: the name may be there for good before the contents are.
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

  /// Makes all of it durable that was not made to be.
  func keep(_ state: UploadState) throws(Problem) {
    try save(state, durably: true)
    try Disk.syncFolder(of: folder)
  }

  /// What is there of the bytes.
  private var received: stat? { Disk.status(of: path) ?? Disk.status(of: wholePath) }
  var hasBytes: Bool { received != nil }
  /// Whether it is being published, or was when somebody died.
  var isSealed: Bool { Disk.status(of: wholePath) != nil }

  /// No byte comes any more, from now on. For who holds the upload.
  func seal() throws(Problem) {
    do throws(Problem) {
      try Disk.call("rename") { rename(path, wholePath) }
    } catch {
      // It was before.
      guard error == .noSuchUpload, Disk.status(of: wholePath) != nil else { throw error }
    }
  }

  func removeBytes() { for path in [path, wholePath] { unlink(path) } }

  /// The state goes last: as long as it is there, the rest is known.
  func remove() {
    removeBytes()
    for path in [statePath + ".new", statePath] { unlink(path) }
    rmdir(folder)
  }
}
