import ReelCore

/// A grid of labeled pictures.
package struct ContactSheet {
  /// A picture with its label.
  package struct Tile: Sendable {
    let picture: RawPicture
    let label: String

    /// - Parameters:
    ///   - picture: at most as large as a tile of the sheet.
    ///   - label: drawn in the lower left corner, and cut at the tile's width; nothing is drawn for an empty one.
    package init(picture: RawPicture, label: String) {
      self.picture = picture
      self.label = label
    }
  }

  /// The largest number of pixels of a sheet.
  package static let mostPixels = 40_000_000

  /// The number of pixels between tiles, and around them.
  private static let gap = 6
  private static let ground: UInt8 = 24

  /// Draws the sheet, with as many columns as requested, or as there are tiles, and as many rows as needed.
  ///
  /// Returns nil without tiles, and if the sheet would be larger than a picture may be.
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

  /// The text of a time on a sheet: `0:07`, `1:02:03`; empty if unknown.
  package static func label(seconds: Double?) -> String {
    guard let seconds, seconds.isFinite, seconds >= 0, seconds < 1e9 else { return "" }
    return HumanNumber.clock(seconds)
  }
}

extension RawPicture {
  /// Copies `picture`, which must fit.
  fileprivate mutating func draw(_ picture: RawPicture, left: Int, top: Int) {
    for y in 0..<picture.height {
      let (from, to) = (3 * y * picture.width, 3 * ((top + y) * width + left))
      bytes.replaceSubrange(to..<to + 3 * picture.width, with: picture.bytes[from..<from + 3 * picture.width])
    }
  }

  /// Writes the text in white on a darkened strip.
  fileprivate mutating func write(_ text: String, on tile: RawPicture, left: Int, top: Int) {
    // Twice as large if there is room.
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
