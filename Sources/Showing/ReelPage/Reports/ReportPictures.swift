import FoundationEssentials
import ReelCore

/// Small pictures of the files that a report lists.
package struct ReportPictures: Sendable {
  /// Pixels on the longer side: twice as many as are shown, for fine screens.
  package static let side = 240
  /// Files of which there are pictures, in the order of the report.
  package static let most = 1000

  /// A JPEG.
  struct Picture: Hashable, Sendable {
    let jpeg: [UInt8]
    let width: Int
    let height: Int
  }
  private var pictures: [SourcePath: Picture] = [:]

  /// None.
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
  /// As the report names it.
  package let path: SourcePath
  /// Until when the report tells of the file; it may be another one since.
  private let moment: Date

  package init(path: SourcePath, at moment: Date) {
    (self.path, self.moment) = (path, moment)
  }

  /// Whether the file has not changed since the report was true of it, as far as the clocks of its disk and of this
  /// machine agree.
  package func isUnchanged(_ identity: FileIdentity) -> Bool {
    Double(identity.changedAt) / 1e9 <= moment.timeIntervalSince1970
  }
}
