import Glibc
import ReelCore

extension FolderUploader: StoreExamination {
  /// Needs no ``prepare()``, and makes nothing.
  public func names() async throws(UploadError) -> [String] {
    try await listing("list the folder") { root, _ throws(SystemError) in
      try FolderListing.names(in: root).filter { $0 != StorePreparation.hiddenFolder }
    }
  }

  /// In the folders of temporaries that are there: the one that was named, and the hidden one.
  public func leftovers() async throws(UploadError) -> [String] {
    try await listing("list the temporary files") { _, sweeps throws(SystemError) in
      var found: [String] = []
      for sweep in sweeps { found += try sweep.dead().map { sweep.folder + "/" + $0 } }
      return found
    }
  }

  /// As ``prepare()`` does, but makes nothing.
  public func removeLeftovers() async throws(UploadError) {
    try await listing("remove temporary files") { _, sweeps throws(SystemError) in
      for sweep in sweeps { try sweep.run() }
    }
  }

  private func listing<Value: Sendable>(
    _ task: String,
    _ body: @escaping @Sendable (_ root: String, _ temporaries: [LeftoverSweep]) throws(SystemError) -> Value
  ) async throws(UploadError) -> Value {
    try checkPaths()
    let (root, preparation) = (rootPath, preparation)
    let result = await BlockingQueue(label: "reel.folder-listing", width: 1).run {
      () throws(Never) -> Result<Value, SystemError> in
      Result { () throws(SystemError) in
        // Without the folder itself nothing that is in it can be judged.
        _ = try StoreFolder.open(root)
        let folders = preparation.temporaryPaths.filter { (try? StoreFolder.open($0)) != nil }
        return try body(root, folders.map(preparation.sweep))
      }
    }
    do throws(SystemError) {
      return try result.get()
    } catch {
      throw FolderFailure(store: root)(error, task)
    }
  }
}
