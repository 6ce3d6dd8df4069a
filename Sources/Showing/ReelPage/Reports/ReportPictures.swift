import FoundationEssentials
import ReelCore

/// Small pictures of the files that a report lists.
package struct ReportPictures: Sendable {
  /// The longer side in pixels: twice the displayed size, for high-resolution screens.
  package static let side = 240
  /// The largest number of files with pictures, in the order of the report.
  package static let most = 1000

  /// A JPEG.
  struct Picture: Hashable, Sendable {
    let jpeg: [UInt8]
    let width: Int
    let height: Int
  }
  private var pictures: [SourcePath: Picture] = [:]

  /// Creates a collection without pictures.
  package init() {}

  /// The picture of the file at `path`, if there is one.
  subscript(path: SourcePath) -> Picture? { pictures[path] }

  /// Adds the picture of the file at `path`.
  package mutating func add(_ poster: Poster, of path: SourcePath) {
    pictures[path] = Picture(jpeg: poster.jpeg, width: poster.width, height: poster.height)
  }
}

/// A file that a report lists.
package struct ListedFile: Hashable, Sendable {
  /// The path as given in the report.
  package let path: SourcePath
  /// The time of the report's statement about the file, which may have changed since.
  private let moment: Date

  package init(path: SourcePath, at moment: Date) {
    (self.path, self.moment) = (path, moment)
  }

  /// Whether the file has not changed since the report's statement about it, as far as the clocks of its disk and of
  /// this machine agree.
  package func isUnchanged(_ identity: FileIdentity) -> Bool {
    Double(identity.changedAt) / 1e9 <= moment.timeIntervalSince1970
  }
}
