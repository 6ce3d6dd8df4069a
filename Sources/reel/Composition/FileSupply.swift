import Foundation
import ReelDoctor
import ReelModel
import ReelSource
import ReelSystem

/// Looks for the bytes of lost objects in files and folders.
struct FileSupply: ObjectSupply {
  let inputs: [SourceInput]
  private let disk = BlockingQueue(label: "reel.supply", width: 1)

  init(inputs: [SourceInput]) {
    self.inputs = inputs
  }

  /// Reads only files that have the length of something that is wanted.
  func supply(_ wanted: [ExaminedObject], _ take: (ExaminedObject, UploadSource) async -> Void) async {
    let walk = SourceWalk(inputs: inputs)
    var wanted = Dictionary(grouping: wanted, by: \.size)
    while !wanted.isEmpty, !Task.isCancelled {
      let items = await disk.run { walk.next(upTo: 64) }
      if items.isEmpty { return }
      for case .candidate(let found) in items {
        guard let alike = wanted[found.identity.size], let (file, digest, moment) = await hashed(found) else {
          continue
        }
        for object in alike where object.digest == digest {
          await take(object, source(file, object, hashedFrom: moment))
        }
        let rest = alike.filter { $0.digest != digest }
        wanted[found.identity.size] = rest.isEmpty ? nil : rest
      }
    }
  }

  /// Nil for a file that can't be read now: another may have the same bytes.
  private func hashed(_ found: FoundFile) async -> (SourceFile, ContentDigest, Date)? {
    await disk.run {
      let moment = Date()
      guard let file = try? found.open(), let digest = try? SourceDigest.sha256(of: file) else { return nil }
      return (file, digest, moment)
    }
  }

  private func source(_ file: SourceFile, _ object: ExaminedObject, hashedFrom moment: Date) -> UploadSource {
    let container = MediaContainer.allCases.first { object.key.rawValue.hasSuffix("." + $0.fileExtension) }
    return UploadSource(
      size: object.size, digest: object.digest,
      contentType: container?.contentType ?? "application/octet-stream",
      bytes: SourceFileBytes(file, hashedFrom: moment))
  }
}
