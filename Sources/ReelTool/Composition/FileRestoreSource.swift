import FoundationEssentials
import ReelCore
import ReelLibrary
import ReelSource

/// Looks for the bytes of lost objects in files and folders.
struct FileRestoreSource: RestoreSource {
  let inputs: [SourceInput]
  private let disk = BlockingQueue(label: "reel.supply", width: 1)

  init(inputs: [SourceInput]) {
    self.inputs = inputs
  }

  /// Reads only files that have the length of something that is wanted.
  func supply(
    _ wanted: [ExaminedObject], _ take: (ExaminedObject, UploadSource) async -> Void
  ) async -> [RepairFailure] {
    let walk = SourceWalk(inputs: inputs)
    var failures: [RepairFailure] = []
    var wanted = Dictionary(grouping: wanted, by: \.size)
    while !wanted.isEmpty, !Task.isCancelled {
      let items = await disk.run { walk.next(upTo: 64) }
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
    try await disk.run { () throws(SourceError) in
      let file = try found.open()
      return (file, try SourceDigest.sha256(of: file))
    }
  }

  private func source(_ file: SourceFile, _ object: ExaminedObject) -> UploadSource {
    let container = MediaContainer.allCases.first { object.key.rawValue.hasSuffix("." + $0.fileExtension) }
    return UploadSource(
      size: object.size, digest: object.digest,
      contentType: container?.contentType ?? "application/octet-stream",
      bytes: SourceFileBytes(file))
  }
}

extension RepairFailure {
  fileprivate init(_ path: SourcePath, _ error: SourceError) {
    self.init(subject: path.text, code: error.code.rawValue, message: error.message)
  }
}
