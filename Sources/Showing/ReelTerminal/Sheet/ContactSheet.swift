import ReelCore

/// Pictures in a grid, each with a label on it.
package struct ContactSheet {
  /// One of the pictures.
  package struct Tile: Sendable {
    let picture: RawPicture
    let label: String

    /// - Parameters:
    ///   - picture: at most as large as a tile of the sheet.
    ///   - label: drawn in its lower left corner, cut at its width; nothing for an empty one.
    package init(picture: RawPicture, label: String) {
      self.picture = picture
      self.label = label
    }
  }

  /// The most pixels of a sheet.
  package static let mostPixels = 40_000_000

  /// Pixels between tiles, and around them.
  private static let gap = 6
  private static let ground: UInt8 = 24

  /// The sheet: as many columns as asked for, or as there are tiles, and as many rows as that takes.
  ///
  /// Nil without tiles, and where it would be larger than a picture may be.
  package static func picture(of tiles: [Tile], columns: Int) -> RawPicture? {
    let columns = max(1, min(columns, tiles.count))
    let rows = (tiles.count + columns - 1) / columns
    guard let across = tiles.map(\.picture.width).max(), let down = tiles.map(\.picture.height).max() else {
      return nil
    }
    let width = columns * (across + gap) + gap
    let height = rows * (down + gap) + gap
    guard width <= RawPicture.longestSide, height <= RawPicture.longestSide, width * height <= mostPixels
    else { return nil }
    var sheet = RawPicture(width: width, height: height, grey: ground)
    for (index, tile) in tiles.enumerated() {
      let left = gap + index % columns * (across + gap) + (across - tile.picture.width) / 2
      let top = gap + index / columns * (down + gap) + (down - tile.picture.height) / 2
      sheet.draw(tile.picture, left: left, top: top)
      sheet.write(tile.label, on: tile.picture, left: left, top: top)
    }
    return sheet
  }

  /// A time as it stands on a sheet: `0:07`, `1:02:03`; empty where it is unknown.
  package static func label(seconds: Double?) -> String {
    guard let seconds, seconds.isFinite, seconds >= 0, seconds < 1e9 else { return "" }
    return HumanNumber.clock(seconds)
  }
}

extension RawPicture {
  /// Copies `picture`, which fits.
  fileprivate mutating func draw(_ picture: RawPicture, left: Int, top: Int) {
    for y in 0..<picture.height {
      let (from, to) = (3 * y * picture.width, 3 * ((top + y) * width + left))
      bytes.replaceSubrange(to..<to + 3 * picture.width, with: picture.bytes[from..<from + 3 * picture.width])
    }
  }

  /// Writes white on a darkened strip.
  fileprivate mutating func write(_ text: String, on tile: RawPicture, left: Int, top: Int) {
    // Twice as large where there is room for it.
    let scale = tile.width >= 200 ? 2 : 1
    let margin = 2 * scale
    let room = (tile.width - 2 * margin) / (PixelFont.advance * scale)
    let text = Array(text.prefix(max(0, room)))
    let height = PixelFont.height * scale + 2 * margin
    guard !text.isEmpty, height <= tile.height else { return }
    let width = text.count * PixelFont.advance * scale - scale + 2 * margin
    let bottom = top + tile.height - height
    darken(left: left, top: bottom, width: width, height: height)
    for (index, character) in text.enumerated() {
      let x = left + margin + index * PixelFont.advance * scale
      write(character, left: x, top: bottom + margin, scale: scale)
    }
  }

  private mutating func darken(left: Int, top: Int, width: Int, height: Int) {
    for y in top..<top + height {
      for place in 3 * (y * self.width + left)..<3 * (y * self.width + left + width) { bytes[place] /= 4 }
    }
  }

  private mutating func write(_ character: Character, left: Int, top: Int, scale: Int) {
    for y in 0..<PixelFont.height * scale {
      for x in 0..<PixelFont.width * scale
      where PixelFont.isSet(character, x: x / scale, y: y / scale) {
        let place = 3 * ((top + y) * width + left + x)
        for channel in 0..<3 { bytes[place + channel] = 255 }
      }
    }
  }
}
