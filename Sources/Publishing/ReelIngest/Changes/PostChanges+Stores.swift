import FoundationEssentials
import Glibc
import ReelCore
import ReelSource
import Synchronization

// What a change does to the objects of its post, and to the post's record in the store's database.

extension PostChanges {
  typealias Step = (OpenChange, Result<OpenChange, FileFailure>)

  /// Runs `body` for each change, several at once, and returns the results in order.
  func each(
    _ batch: [OpenChange], _ body: @escaping @Sendable (OpenChange) async throws(FileFailure) -> OpenChange
  ) async -> [Step] {
    zip(batch, await someAtOnce(batch, body)).map { ($0, $1) }
  }

  /// Runs `body` for several elements at once. Once one of them fails because the catalog can't be asked, no further
  /// one is begun, and the rest fail with the same error.
  private func someAtOnce<Element: Sendable, Value: Sendable>(
    _ elements: [Element], _ body: @escaping @Sendable (Element) async throws(FileFailure) -> Value
  ) async -> [Result<Value, FileFailure>] {
    await withTaskGroup(of: (Int, Result<Value, FileFailure>).self) { group in
      var results = [Result<Value, FileFailure>?](repeating: nil, count: elements.count)
      var end: FileFailure?
      for (index, element) in elements.enumerated() {
        if index >= Self.width, let (done, result) = await group.next() {
          results[done] = result
          if case .failure(let failure) = result, failure.cause is CatalogError { end = failure }
        }
        if let end {
          results[index] = .failure(end)
          continue
        }
        // Not `body` itself: in optimized code, Swift 6.3 loses the value that precedes a throwing closure in a tuple.
        group.addTask { (index, await Self.result(of: element, body)) }
      }
      for await (index, result) in group { results[index] = result }
      return results.compactMap(\.self)
    }
  }

  private static func result<Element, Value>(
    of element: Element, _ body: (Element) async throws(FileFailure) -> Value
  ) async -> Result<Value, FileFailure> {
    do throws(FileFailure) {
      return .success(try await body(element))
    } catch {
      return .failure(error)
    }
  }

  /// Checks that this process still holds the change. Called right before each request that changes a store: since the
  /// previous request, another process may have taken over the change and the post may have been changed again.
  /// - Throws: `takenOver`, or the error that keeps the catalog from answering.
  private func expectHeld(_ open: OpenChange) async throws(FileFailure) {
    let held: [OpenChange]
    do throws(CatalogError) {
      held = try await self.held([open])
    } catch {
      throw FileFailure(error)
    }
    if held.isEmpty { throw .takenOver }
  }

  private func asking<Value>(
    _ body: () async throws(UploadError) -> Value
  ) async throws(FileFailure) -> Value {
    do throws(UploadError) {
      return try await body()
    } catch {
      throw FileFailure(error)
    }
  }

  // MARK: Removing

  /// Withdraws the posts from the store's database first, so that no viewer sees a post whose object is gone.
  func remove(_ batch: [OpenChange], from store: Store) async -> [Step] {
    let withdrawn = await each(batch) { open throws(FileFailure) in
      guard let recorder = store.recorder else { return open }
      try await expectHeld(open)
      try await asking { () async throws(UploadError) in try await recorder.withdraw(open.post.id) }
      return open
    }
    let leaving = withdrawn.compactMap { open, result in
      if case .success = result, open.removesObjects { open } else { nil }
    }
    do throws(UploadError) {
      try await expectItself(store, for: leaving)
    } catch {
      return withdrawn.map { ($0.0, .failure(FileFailure(error))) }
    }
    let removed = await removeObjects(of: leaving, from: store.uploader)
    return withdrawn.map { open, result in
      (open, result.flatMap { open in removed[open.number].map { $0.map { open } } ?? .success(open) })
    }
  }

  /// Throws if a folder is empty although the catalog has posts in it. Then something else is mounted there, and the
  /// objects only seem to be gone.
  private func expectItself(_ store: Store, for batch: [OpenChange]) async throws(UploadError) {
    guard let folder = store.folder, let object = batch.first?.objects.first,
      try await store.uploader.find(object.key) == nil
    else { return }
    let names = try? FileManager.default.contentsOfDirectory(atPath: folder)
    let status = try? await catalog.status()
    let posts = status?.destinations.first { $0.destination == store.uploader.destination }?.posts ?? 0
    guard posts > 0, names?.allSatisfy({ $0.hasPrefix(".") }) != false else { return }
    throw UploadError(
      .storeUnusable,
      "the folder \(folder) is empty, but the catalog has posts in it: check that the right file system is mounted there"
    )
  }

  /// Removes the objects of the changes, and returns the result for each by its number.
  private func removeObjects(
    of changes: [OpenChange], from uploader: any Uploader
  ) async -> [Int64: Result<Void, FileFailure>] {
    await remove(
      changes.flatMap { open in open.objects.map { (open: open, key: $0.key) } }, from: uploader)
  }

  private func remove(
    _ objects: [(open: OpenChange, key: ObjectKey)], from uploader: any Uploader
  ) async -> [Int64: Result<Void, FileFailure>] {
    let results =
      if let batches = uploader.batches {
        await remove(objects, by: batches)
      } else {
        await someAtOnce(objects) { object throws(FileFailure) in
          try await expectHeld(object.open)
          return try await asking { () async throws(UploadError) in try await uploader.remove(object.key) }
        }
      }
    var ends: [Int64: Result<Void, FileFailure>] = [:]
    for ((open, _), result) in zip(objects, results) {
      switch result {
      case .success(let removal):
        if !removal.isGone { notice(open.post.id, removal) }
        if ends[open.number] == nil { ends[open.number] = .success(()) }
      case .failure(let error): ends[open.number] = .failure(error)
      }
    }
    return ends
  }

  /// Removes all of them in one call, which takes only a moment, because a folder involves no network.
  private func remove(
    _ objects: [(open: OpenChange, key: ObjectKey)], by batches: any BatchStore
  ) async -> [Result<ObjectRemoval, FileFailure>] {
    let held: Set<Int64>
    do throws(CatalogError) {
      held = Set(try await self.held(objects.map(\.open)).map(\.number))
    } catch {
      return objects.map { _ in .failure(FileFailure(error)) }
    }
    let keys = objects.filter { held.contains($0.open.number) }.map(\.key)
    var removals = await threads.run { batches.remove(keys) }[...]
    return objects.map { open, _ in
      guard held.contains(open.number), let removal = removals.popFirst() else {
        return .failure(.takenOver)
      }
      return removal.mapError { FileFailure($0) }
    }
  }

  // MARK: Editing

  func record(_ open: OpenChange, in store: Store) async throws(FileFailure) -> OpenChange {
    guard case .edit(let keys) = open.kind, let recorder = store.recorder else { return open }
    try await expectHeld(open)
    _ = try await asking { () async throws(UploadError) in
      try await recorder.update(open.post, from: PostEdit.differing(from: open.post, in: keys))
    }
    return open
  }

  // MARK: Restoring

  /// Stores the video again if it is missing, and records the post.
  /// - Parameter onMissing: called if the video is neither in the store nor in the files that were named.
  func restore(
    _ open: OpenChange, in store: Store, onMissing: () -> Void
  ) async throws(FileFailure) -> OpenChange {
    guard let video = open.objects.first(where: { $0.kind == .video }) else { return open }
    do throws(FileFailure) {
      let uploader = store.uploader
      let found = try await asking { () async throws(UploadError) in try await uploader.find(video.key) }
      if found == nil { try await putBack(video, of: open, in: uploader, onMissing: onMissing) }
      try await asking { () async throws(UploadError) in try await prove(video, in: uploader) }
      // Record it as it was published. A poster that the catalog no longer shows must not reach viewers either.
      if let recorder = store.recorder {
        var post = open.post
        if !open.objects.contains(where: { $0.key == post.poster }) { post.show(nil) }
        try await expectHeld(open)
        _ = try await asking { () async throws(UploadError) in try await recorder.record(post) }
      }
    } catch {
      // The post stays removed, and the objects that were stored for it are to go.
      if error.code == .upload(.conflict) { try? await strikeOut(open) }
      throw error
    }
    return open
  }

  private func putBack(
    _ video: ExaminedObject, of open: OpenChange, in uploader: any Uploader, onMissing: () -> Void
  ) async throws(FileFailure) {
    var failure = UploadError(
      .conflict,
      "its video is no longer in \(uploader.destination): give `reel restore` the file that it was made from, with --from (its digest is \(video.digest))"
    )
    if let supply {
      let result = Mutex<Result<Void, FileFailure>?>(nil)
      let unread = await supply(video) { source in
        do throws(FileFailure) {
          try await expectHeld(open)
          _ = try await asking { () async throws(UploadError) in
            try await uploader.upload(source.intended, to: video.key) { _ in }
          }
          result.withLock { $0 = .success(()) }
        } catch {
          result.withLock { $0 = .failure(error) }
        }
      }
      switch result.withLock({ $0 }) {
      case .success?: return
      case .failure(let error)?: throw error
      case nil:
        let reason: ErrorMessage = unread.first.map { " (" + $0 + ")" } ?? ""
        failure = UploadError(
          .conflict,
          "its video is neither in \(uploader.destination) nor in what was named with --from"
            + reason + ": the right file has the digest \(video.digest)"
        )
      }
    }
    onMissing()
    throw FileFailure(failure)
  }

  private func prove(_ object: ExaminedObject, in uploader: any Uploader) async throws(UploadError) {
    guard let found = try await uploader.find(object.key) else {
      throw UploadError(.conflict, "\(object.key) is not in \(uploader.destination): try again")
    }
    var digest = found.digest
    if found.size == object.size, digest != object.digest {
      digest = try await uploader.readFound(object.key)
    }
    guard found.size == object.size, digest == object.digest else {
      throw UploadError(
        .conflict, "what is stored as \(object.key) in \(uploader.destination) is not what was published")
    }
  }

  // MARK: Moving

  /// Copies the objects to the other store under their existing names.
  func move(_ open: OpenChange, from store: Store) async throws(FileFailure) -> OpenChange {
    guard case .move(let destination, moved: false) = open.kind else { return open }
    var open = open
    let target = try await asking { () async throws(UploadError) in try await self.store(destination) }
    let old = open.post
    if Self.areOne(store, target) {
      try? await strikeOut(open)
      throw Self.areOne(store, target, "folder")
    }
    do throws(FileFailure) {
      let shown = open.objects.filter { $0.key == old.video || $0.key == old.poster }
      try await noteFreeNames(of: shown, &open, from: store, to: target)
      for object in shown {
        let stored = try await copy(object, of: open, from: store, to: target.uploader)
        if object.kind == .video { open.post.videoURL = stored.url } else { open.post.posterURL = stored.url }
      }
      if let recorder = target.recorder {
        let moved = open.post
        try await expectHeld(open)
        _ = try await asking { () async throws(UploadError) in
          if store.recorder?.feed == recorder.feed {
            try await recorder.update(moved, from: old)
          } else {
            try await recorder.record(moved)
          }
        }
      }
      return open
    } catch {
      do {
        _ = try await undoMove(of: open, to: destination)
      } catch {
        // The row of the change still names what is left in the other store.
      }
      throw error
    }
  }

  /// Finds out which names are free in the other store and records them. Objects under the other names do not belong to
  /// the move and stay there if it is undone. If such an object is the one to be moved, both stores may be the same.
  private func noteFreeNames(
    of objects: [ExaminedObject], _ open: inout OpenChange, from source: Store, to target: Store
  ) async throws(FileFailure) {
    var noted = open
    var names = open.freeNames ?? []
    var isTaken = false
    for object in objects where !names.contains(object.key) {
      let found = try await asking { () async throws(UploadError) in
        try await target.uploader.find(object.key)
      }
      if found == nil { names.append(object.key) } else { isTaken = true }
    }
    let (one, other) = (source.uploader.destination, target.uploader.destination)
    var probe: ObjectKey?
    if isTaken, !twoStores.areKnown(one, other) {
      probe = ObjectKey(random: SystemRandomness(), container: .mp4)
    }
    if let probe { names.append(probe) }
    guard names != open.freeNames else { return }
    noted.freeNames = names
    try await note(noted)
    open = noted
    guard let probe else { return }
    if try await asking({ () async throws(UploadError) in
      try await isSeen(probe, in: source.uploader, putInto: target.uploader)
    }) {
      throw Self.areOne(source, target, "store")
    }
    twoStores.note(one, other)
  }

  /// Whether an object that `target` stores is visible through `source`, too. The probe's name has been recorded, so if
  /// this process dies meanwhile, the process that undoes the move removes the probe.
  private func isSeen(
    _ probe: ObjectKey, in source: any Uploader, putInto target: any Uploader
  ) async throws(UploadError) -> Bool {
    guard target.traits.removes else {
      throw UploadError(
        .rejected,
        "\(target.destination) already has the post's objects, and Reel can't find out whether it is the same store as \(source.destination), because it does not remove objects"
      )
    }
    let bytes = UploadSource(Array("reel".utf8), contentType: MediaContainer.mp4.contentType)
    _ = try await target.upload(bytes.intended, to: probe) { _ in }
    let isSeen = try await source.find(probe) != nil
    try await target.remove(probe)
    return isSeen
  }

  /// The error for a move within one store, which would remove the very objects it copied.
  private static func areOne(_ one: Store, _ other: Store, _ what: String) -> FileFailure {
    FileFailure(
      UploadError(
        .rejected,
        "\(one.uploader.destination) and \(other.uploader.destination) are the same \(what): use reel relocate to give it another name"
      ))
  }

  private func note(_ open: OpenChange) async throws(FileFailure) {
    let isHeld: Bool
    do throws(CatalogError) {
      isHeld = try await blocking { catalog throws(CatalogError) in try catalog.noteFreeNames(of: open) }
    } catch {
      throw FileFailure(error)
    }
    if !isHeld { throw .takenOver }
  }

  private func copy(
    _ object: ExaminedObject, of open: OpenChange, from: Store, to: any Uploader
  ) async throws(FileFailure) -> StoredObject {
    let file = try await asking { () async throws(UploadError) in try await bytes(of: object, in: from) }
    let type =
      object.kind == .poster ? "image/jpeg" : open.post.contentType ?? "application/octet-stream"
    let source = UploadSource(
      size: object.size, digest: object.digest, contentType: type, bytes: SourceFileBytes(file)
    ).intended
    try await expectHeld(open)
    return try await asking { () async throws(UploadError) in
      do throws(UploadError) {
        let stored = try await to.upload(source, to: object.key) { _ in }
        try await prove(object, in: to)
        return stored
      } catch {
        // Copied by a process that began this move and died.
        guard error.code == .alreadyExists, let stored = try await to.find(object.key) else { throw error }
        try await prove(object, in: to)
        return stored
      }
    }
  }

  /// Returns the object's bytes in a file that no other process can change.
  private func bytes(of object: ExaminedObject, in store: Store) async throws(UploadError)
    -> SourceFile
  {
    let uploader = store.uploader
    let name = SourcePath(uploader.destination.name + "/" + object.key.rawValue)
    let damaged = UploadError(
      .conflict,
      "what is stored as \(object.key) in \(uploader.destination) is not what was published: run \(command: "verify --read")"
    )
    if let readable = store.reader {
      let file = try staging.makeFile()
      guard try await readable.download(object.key, size: object.size, into: file) == object.digest else {
        throw damaged
      }
      return try await threads.run { () throws(UploadError) in
        try file.seal()
        return try rethrowing(
          as: { UploadError(.sourceUnreadable, $0.text) }
        ) { () throws(SourceError) in try OpenedFile.reading(file, as: name) }
      }
    }
    guard let folder = store.folder else {
      throw UploadError(
        .rejected, "objects can't be read back from \(uploader.destination), so its posts can't be moved")
    }
    let path = SourcePath(folder + "/" + object.key.rawValue)
    let staging = staging
    return try await threads.run { () throws(UploadError) in
      let copy = try rethrowing(
        as: { UploadError(.sourceUnreadable, "\(path.text) can't be read: \($0)") }
      ) {
        try PrivateCopy.make(of: try FoundFile.named(path, followLinks: false).open(), in: staging)
      }
      guard let copy, copy.digest == object.digest else { throw damaged }
      return copy.source
    }
  }

  /// Whether the two stores are the same folder under two names.
  private static func areOne(_ one: Store, _ other: Store) -> Bool {
    guard let one = one.folder.flatMap({ SourcePath($0).fileStatus }),
      let other = other.folder.flatMap({ SourcePath($0).fileStatus })
    else { return false }
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino
  }

  /// Undoes the move: the post stays in its store, and the copies are removed.
  func undoMove(of open: OpenChange, to destination: Destination) async throws -> [PostID: Outcome] {
    do throws(FileFailure) {
      try await takeBack(open, from: destination)
    } catch {
      try await blocking { catalog throws(CatalogError) in try catalog.release([open]) }
      return [open.post.id: .failed(error)]
    }
    try await strikeOut(open)
    return [open.post.id: .nothing(open.post)]
  }

  private func takeBack(_ open: OpenChange, from destination: Destination) async throws(FileFailure) {
    try await expectHeld(open)
    let (source, target) = try await asking { () async throws(UploadError) in
      (try await store(open.destination), try await store(destination))
    }
    // Where both stores record posts in one database, the post's record there must name its old store again.
    if let recorder = target.recorder {
      _ = try await asking { () async throws(UploadError) in
        if source.recorder?.feed == recorder.feed {
          try await recorder.update(open.post, from: nil)
        } else {
          try await recorder.withdraw(open.post.id)
        }
      }
    }
    if Self.areOne(source, target) { return }
    try await remove(open.freeNames ?? [], of: open, from: target)
  }

  private func remove(
    _ names: [ObjectKey], of open: OpenChange, from store: Store
  ) async throws(FileFailure) {
    if names.isEmpty { return }
    try await asking { () async throws(UploadError) in try await expectItself(store, for: [open]) }
    for end in await remove(names.map { (open, $0) }, from: store.uploader).values { try end.get() }
  }

  /// Removes what a moved post has left in its old store.
  func clear(_ open: OpenChange, _ post: Post) async throws(FileFailure) {
    guard case .move(let destination, _) = open.kind else { return }
    let (old, new) = try await asking { () async throws(UploadError) in
      (try await store(open.destination), try await store(destination))
    }
    if let recorder = old.recorder, recorder.feed != new.recorder?.feed {
      try await expectHeld(open)
      try await asking { () async throws(UploadError) in try await recorder.withdraw(post.id) }
    }
    try await remove(open.objects.map(\.key), of: open, from: old)
  }

  private func strikeOut(_ open: OpenChange) async throws(CatalogError) {
    try await blocking { catalog throws(CatalogError) in try catalog.strikeOut([open]) }
  }
}

extension OpenChange {
  var sort: ChangeKind {
    switch kind {
    case .removal: .removal
    case .purge: .purge
    case .restoration: .restoration
    case .edit: .edit
    case .move: .move
    }
  }

  fileprivate var removesObjects: Bool {
    switch kind {
    case .removal(let removal): removal.keptUntil == nil
    case .purge: true
    case .restoration, .edit, .move: false
    }
  }

  /// The event of the change once it is true.
  func event(_ post: Post) -> IngestEvent.Body? {
    switch kind {
    case .removal(let removal): .postRemoved(RemovedPost(post: post, removal: removal))
    case .purge: nil
    case .restoration: .postRestored(post)
    case .edit(let keys): .postEdited(PostEdited(post: post, changed: keys))
    case .move(let there, _): .postMoved(PostMoved(post: post, from: destination, to: there))
    }
  }
}

/// Pairs of stores that are known to be different: an object put into one is not visible in the other.
final class TwoStores: Sendable {
  private let pairs = Mutex<Set<[Destination]>>([])

  func areKnown(_ one: Destination, _ other: Destination) -> Bool {
    pairs.withLock { $0.contains([one, other]) }
  }

  func note(_ one: Destination, _ other: Destination) { pairs.withLock { _ = $0.insert([one, other]) } }
}

/// The stores opened so far, each only once.
final class OpenStores: Sendable {
  private struct Key: Hashable {
    let destination: Destination
    let use: PostChanges.Use
  }
  private let opening = Mutex<[Key: Task<Result<PostChanges.Store, UploadError>, Never>]>([:])

  func store(
    _ destination: Destination, for use: PostChanges.Use,
    _ open: @escaping @Sendable (Destination) async throws(UploadError) -> PostChanges.Store
  ) async throws(UploadError) -> PostChanges.Store {
    let key = Key(destination: destination, use: use)
    let task = opening.withLock { opening in
      if let task = opening[key] { return task }
      let task = Task { () async -> Result<PostChanges.Store, UploadError> in
        do throws(UploadError) {
          let store = try await open(destination)
          if let folder = store.folder, use != .new {
            // A folder keeps no records. For any other use, it must exist, because it has held objects.
            if use == .records { return .success(store) }
            guard SourcePath(folder).fileStatus != nil else {
              throw UploadError(
                .storeUnusable,
                "the folder \(folder) is not there: check that it is mounted, or, if it was moved, say so: \(command: "relocate \(destination) NEW")"
              )
            }
          }
          try await store.uploader.prepare()
          try await store.recorder?.prepare()
          return .success(store)
        } catch {
          return .failure(error)
        }
      }
      opening[key] = task
      return task
    }
    return try await task.value.get()
  }
}

extension FileFailure {
  static var changeCancelled: FileFailure {
    FileFailure(code: .cancelled, message: "interrupted before it was changed; try again")
  }

  static var takenOver: FileFailure {
    FileFailure(
      code: .catalog(.leaseLost),
      message: "another process has taken over this change: check the post again")
  }
}
