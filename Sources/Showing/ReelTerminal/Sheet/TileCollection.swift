import ReelCore

/// Collects the pictures of a sheet as they are made.
package struct TileCollection {
  package private(set) var tiles: [ContactSheet.Tile] = []
  private let isOfOneFile: Bool
  private var pixels = 0

  /// The largest number of pictures on a sheet.
  package static let most = 400

  /// The pictures do not fit on one sheet.
  package struct TooLarge: ReelError {
    package let message =
      "the sheet would be larger than a picture may be; name fewer videos, ask for fewer --pictures, or use a smaller --size"

    package init() {}
  }

  package init(ofOneFile: Bool) {
    isOfOneFile = ofOneFile
  }

  /// - Throws: ``TooLarge`` if there are more than a sheet holds.
  package mutating func add(_ frames: [(picture: RawPicture, time: Double?)], of path: SourcePath) throws {
    pixels += frames.reduce(0) { $0 + $1.picture.width * $1.picture.height }
    guard pixels <= ContactSheet.mostPixels, tiles.count + frames.count <= Self.most else {
      throw TooLarge()
    }
    tiles += frames.map { frame in
      ContactSheet.Tile(
        picture: frame.picture,
        label: isOfOneFile ? ContactSheet.label(seconds: frame.time) : path.lastComponent.text)
    }
  }
}
