import ReelCore
import ReelSource

/// Where mended files go.
package struct MendTarget: Sendable {
  /// Nil for a single file.
  let folder: SourcePath?
  /// Whether files that are there are replaced.
  let replaces: Bool
  package let file: SourcePath?

  /// - Parameters:
  ///   - file: for a single file; else they go into `folder`, or the working folder.
  ///   - replaces: whether files that are there are replaced.
  package init(file: SourcePath?, folder: SourcePath?, replaces: Bool) {
    (self.file, self.folder, self.replaces) = (file, folder, replaces)
  }

  /// Mending keeps the container.
  /// - Throws: `nameRefused` where the file was named, and its name says that it is another one.
  func check(_ container: MediaContainer) throws(MendError) {
    guard let file, let claimed = file.claimedExtension, MediaContainer.claimableExtensions.contains(claimed),
      container.contradicts(claimedExtension: claimed)
    else { return }
    let stem = SourcePath(bytes: file.bytes.dropLast(claimed.utf8.count)).text
    throw MendError(
      .nameRefused,
      "it is \(container.rawValue) and stays so, and the name \(file.text) says something else; name \(stem + container.fileExtension)"
    )
  }

  /// Where the mended `source` goes.
  /// - Parameter container: what its extension is to say in a folder; nil to leave it as it is.
  func path(
    for source: SourcePath, below inputs: [SourceInput], extension container: MediaContainer?
  ) -> SourcePath {
    if let file { return file }
    let place = inputs.place(of: source)
    // What leads out of the folder is only a name in it.
    let parts = place.bytes.split(separator: UInt8(ascii: "/"))
    let isInside = !parts.contains { $0.elementsEqual("..".utf8) || $0.elementsEqual(".".utf8) }
    var path = (folder ?? SourcePath(".")).appending(isInside ? place.bytes : place.lastComponent.bytes)
    if let container {
      let claimed = path.claimedExtension.map { $0.utf8.count } ?? -1
      path = SourcePath(bytes: path.bytes.dropLast(claimed + 1) + Array(".\(container.fileExtension)".utf8))
    }
    return path
  }
}
