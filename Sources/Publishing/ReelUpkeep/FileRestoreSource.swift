import ReelCore
import ReelLibrary
import ReelSource

/// Looks for the bytes of lost objects in files and folders.
package struct FileRestoreSource: RestoreSource {
  private let inputs: [SourceInput]
  private let disk = BlockingQueue(label: "reel.supply", width: 1)

  package init(inputs: [SourceInput]) {
    self.inputs = inputs
  }

  /// Reads only files whose length is that of a wanted object.
  package func supply(
    _ wanted: [ExaminedObject], _ take: (ExaminedObject, UploadSource) async -> Void
  ) async -> [RepairFailure] {
    var options = WalkOptions()
    // A file in the trash may be the only copy.
    options.includesTrash = true
    // The extension of posters.
    options.otherExtensions = ["jpg"]
    let walk = SourceWalk(inputs: inputs, options: options)
    var failures: [RepairFailure] = []
    var wanted = Dictionary(grouping: wanted, by: \.size)
    while !wanted.isEmpty, !Task.isCancelled {
      let items = await withTaskCancellationHandler {
        await disk.run { walk.next(upTo: 64) }
      } onCancel: {
        walk.cancellation.set()
      }
      if items.isEmpty { break }
      for item in items {
        if case .failed(let path, let error) = item { failures.append(RepairFailure(path, error)) }
        guard case .candidate(let found) = item, let alike = wanted[found.identity.size] else { continue }
        let (file, digest): (SourceFile, ContentDigest?)
        do throws(SourceError) {
          (file, digest) = try await hashed(found)
        } catch {
          failures.append(RepairFailure(found.path, error))
          continue
        }
        for object in alike where object.digest == digest {
          await take(object, source(file, object))
        }
        let rest = alike.filter { $0.digest != digest }
        wanted[found.identity.size] = rest.isEmpty ? nil : rest
      }
    }
    return failures
  }

  private func hashed(_ found: FoundFile) async throws(SourceError) -> (SourceFile, ContentDigest?) {
    try await disk.runCancellable { flag throws(SourceError) in
      let file = try found.open(flag)
      return (file, try SourceDigest.sha256(of: file) { flag.isSet })
    }
  }

  private func source(_ file: SourceFile, _ object: ExaminedObject) -> UploadSource {
    UploadSource(
      size: object.size, digest: object.digest, contentType: object.key.contentType,
      bytes: SourceFileBytes(file))
  }
}

extension RepairFailure {
  fileprivate init(_ path: SourcePath, _ error: SourceError) {
    self.init(subject: path.text, code: error.code.rawValue, message: error.text)
  }
}
