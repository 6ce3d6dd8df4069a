import Glibc
import ReelCore

/// Makes and opens a store's folders, takes its lock, and sweeps what dead uploaders left.
struct StorePreparation {
  let root: CanonicalPath
  let temporaries: CanonicalPath?
  let mode: FolderModes
  let failure: FolderFailure
  let lease: Duration

  /// The folder of temporaries within a store that was given none.
  static let hiddenFolder = ".reel-tmp"

  private var hiddenPath: String { (root.text == "/" ? "" : root.text) + "/" + Self.hiddenFolder }

  /// Where temporaries may lie.
  var temporaryPaths: [String] { [temporaries?.text, hiddenPath].compactMap { $0 } }

  func run() throws(UploadError) -> OpenStore {
    let rootFolder = try doing("open or make the folder") { () throws(SystemError) in
      try StoreFolder.make(root.text, mode: mode.folder)
      return try StoreFolder.open(root.text)
    }
    let (path, folder) = try temporaryFolder(beside: rootFolder)
    return try doing("write into the folder") { () throws(SystemError) in
      let lock = try OwnerLock(directory: path, name: TemporaryName.newOwner())
      let store = OpenStore(
        root: rootFolder, path: root.text, temporaries: folder, lock: lock, leftovers: sweep(of: path))
      try store.sweep()
      return store
    }
  }

  /// What dead uploaders left in a folder of temporaries. Into the one within the store others may write from other
  /// machines, whatever file system it is here: a server may give it to them.
  func sweep(of path: String) -> LeftoverSweep {
    let isOfThisMachine = path == temporaries?.text && LocalFileSystem.holds(path)
    return LeftoverSweep(folder: path, foreignLease: isOfThisMachine ? nil : lease)
  }

  private func temporaryFolder(beside rootFolder: Descriptor) throws(UploadError) -> (String, Descriptor) {
    if let temporaries {
      let folder = try openPrivate(temporaries.text)
      let isBeside = try doing("look at the folder") { () throws(SystemError) in
        try StoreFolder.isOneMount(folder, rootFolder)
      }
      if isBeside { return (temporaries.text, folder) }
    }
    return (hiddenPath, try openPrivate(hiddenPath))
  }

  private func openPrivate(_ path: String) throws(UploadError) -> Descriptor {
    let (folder, isPrivate) = try doing("make the folder for temporary files") { () throws(SystemError) in
      try StoreFolder.make(path, mode: 0o700)
      let folder = try StoreFolder.open(path)
      return (folder, try StoreFolder.isPrivate(folder))
    }
    guard isPrivate else {
      throw UploadError(
        .storeUnusable,
        "the folder for temporary files \(path) belongs to another user, or others may write to it: "
          + "remove it, or take that right away (chmod 700)")
    }
    return folder
  }

  private func doing<Value>(
    _ task: String, _ body: () throws(SystemError) -> Value
  ) throws(UploadError) -> Value {
    do throws(SystemError) {
      return try body()
    } catch {
      throw failure(error, task)
    }
  }
}
