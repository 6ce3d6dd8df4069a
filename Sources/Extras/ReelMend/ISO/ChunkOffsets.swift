import ReelCore
import ReelProbe

/// The result of adjusting the positions that an index names.
struct ChunkMove {
  /// A position needs more bits than its table has. Then the result cannot be used.
  var needsMore = false
  /// A position has changed.
  var isMoved = false
  /// A position is left out of the file, or was never in it.
  var isLost = false
}

// The positions in the file that an index names (ISO/IEC 14496-12, 8.7.5 and 8.7.9).
extension MovieBox {
  /// For a whole index: changes every position to that in the file to be written.
  mutating func moveChunks(to places: SourcePlaces) -> ChunkMove {
    var move = ChunkMove()
    changeEach("trak") { track in
      track.change(["mdia", "minf", "stbl"]) { table in
        table.changeEach("stco") { $0.move(places, from: 8, width: 4, &move) }
        table.changeEach("co64") { $0.move(places, from: 8, width: 8, &move) }
        table.changeEach("saio") { box in
          let start = box.bytes.bigEndian32(at: 0) & 1 == 0 ? 8 : 16
          box.move(places, from: start, width: box.bytes.first == 0 ? 4 : 8, &move)
        }
      }
    }
    return move
  }

  /// For a whole index: returns it with 64-bit tables.
  /// - Throws: `notMendable` if there is a table that has no such form.
  func withWideChunkOffsets() throws(MendError) -> MovieBox {
    var wide = self
    try wide.changeEach("trak") { track throws(MendError) in
      try track.change(["mdia", "minf", "stbl"]) { table throws(MendError) in
        if table["saio"]?.bytes.first == 0 {
          throw MendError(
            .notMendable,
            "it is encrypted, and its index has no room for the new positions of its encryption data")
        }
        try table.changeEach("stco") { box throws(MendError) in
          let count = box.bytes.entryCount(from: 8, width: 4)
          var bytes = Array(box.bytes.prefix(4))
          bytes.appendBigEndian(UInt32(count))
          for entry in 0..<count { bytes.appendBigEndian(UInt64(box.bytes.bigEndian32(at: 8 + 4 * entry))) }
          box = MovieBox("co64", bytes)
        }
      }
    }
    return wide
  }

  private mutating func move(_ places: SourcePlaces, from start: Int, width: Int, _ move: inout ChunkMove) {
    var bytes = bytes
    self.bytes = []
    defer { self.bytes = bytes }
    for entry in 0..<bytes.entryCount(from: start, width: width) {
      let offset = start + width * entry
      let old = width == 4 ? UInt64(bytes.bigEndian32(at: offset)) : bytes.bigEndian64(at: offset)
      guard let known = Int64(exactly: old), let new = places.place(of: known, orEnd: true) else {
        move.isLost = true
        continue
      }
      guard new != known else { continue }
      move.isMoved = true
      if width == 8 {
        bytes.setBigEndian(UInt64(new), at: offset)
      } else if let new = UInt32(exactly: new) {
        bytes.setBigEndian(new, at: offset)
      } else {
        move.needsMore = true
        return
      }
    }
  }
}
