import ReelCore
import ReelSource

/// Where mended files are written.
package struct MendTarget: Sendable {
  /// Nil for a single file, and for the working folder.
  let folder: SourcePath?
  /// Whether existing files are replaced.
  let replaces: Bool
  package let file: SourcePath?

  /// - Parameters:
  ///   - file: the target of a single file; otherwise files go into `folder`, or the working folder.
  ///   - replaces: whether existing files are replaced.
  package init(file: SourcePath?, folder: SourcePath?, replaces: Bool) {
    (self.file, self.folder, self.replaces) = (file, folder, replaces)
  }

  /// Checks the named file against the container, which mending keeps.
  /// - Throws: `nameRefused` if the file was named, and its extension is another container's.
  func check(_ container: MediaContainer) throws(MendError) {
    guard let file, let claimed = file.claimedExtension, MediaContainer.claimableExtensions.contains(claimed),
      container.contradicts(claimedExtension: claimed)
    else { return }
    let stem = SourcePath(bytes: file.bytes.dropLast(claimed.utf8.count)).text
    throw MendError(
      .nameRefused,
      "mending keeps the container, \(container.rawValue), and the name \(file.text) has the extension of another one; use \(stem + container.fileExtension)"
    )
  }

  /// Returns where the mended `source` goes.
  /// - Parameter container: the one that its extension in a folder must state; nil to leave it as it is.
  func path(
    for source: SourcePath, below inputs: [SourceInput], extension container: MediaContainer?
  ) -> SourcePath {
    if let file { return file }
    let place = inputs.place(of: source)
    // A path that leads out of the folder contributes only its last component.
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
