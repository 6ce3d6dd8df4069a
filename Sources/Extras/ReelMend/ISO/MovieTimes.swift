import ReelCore
import ReelProbe

// The durations that an index states (ISO/IEC 14496-12, 8.2.2, 8.3.2, 8.4.2 and 8.6.6).
extension MovieBox {
  /// For a movie or media header: ticks per second.
  private var headerTimescale: UInt32 {
    bytes.bigEndian32(at: bytes.first == 1 ? 20 : 12)
  }

  /// For an index: ticks per second.
  var movieTimescale: UInt32 { self["mvhd"]?.headerTimescale ?? 0 }

  /// For a track: ticks per second of its media.
  var mediaTimescale: UInt32 { self[["mdia", "mdhd"]]?.headerTimescale ?? 0 }

  /// For a header: writes a duration, at `start` in a box of version 0 and at `wide` in one of version 1.
  private mutating func setDuration(_ ticks: UInt64, start: Int, wide: Int) throws(MendError) {
    if bytes.first == 1 {
      bytes.setBigEndian(ticks, at: wide)
    } else if let narrow = UInt32(exactly: ticks), narrow < .max {
      bytes.setBigEndian(narrow, at: start)
    } else {
      throw MendError(.notMendable, "its duration is too long for its headers")
    }
  }

  /// For an index: sets the durations in all headers to those of the samples.
  /// - Parameter durations: the duration of each track's media, in its ticks, in the order of the tracks.
  mutating func setDurations(_ durations: [UInt64]) throws(MendError) {
    let timescale = movieTimescale
    guard timescale > 0 else {
      throw MendError(.corrupt, "its index states no timescale; get a complete copy")
    }
    var (number, longest): (Int, UInt64) = (0, 0)
    try changeEach("trak") { track throws(MendError) in
      defer { number += 1 }
      let ticks = durations[number]
      let media = track.mediaTimescale
      guard media > 0 else {
        throw MendError(.corrupt, "one of its tracks states no timescale; get a complete copy")
      }
      try track.change(["mdia", "mdhd"]) { header throws(MendError) in
        try header.setDuration(ticks, start: 16, wide: 24)
      }
      let whole = Self.rescaled(ticks, media, timescale)
      var shown = whole
      try track.change(["edts", "elst"]) { list throws(MendError) in
        shown = try list.fitEdits(mediaDuration: ticks, media, timescale) ?? whole
      }
      longest = max(longest, shown)
      try track.change(["tkhd"]) { header throws(MendError) in
        try header.setDuration(shown, start: 20, wide: 28)
      }
    }
    try change(["mvhd"]) { header throws(MendError) in
      try header.setDuration(longest, start: 16, wide: 24)
    }
  }

  private static func rescaled(_ ticks: UInt64, _ from: UInt32, _ to: UInt32) -> UInt64 {
    let product = ticks.multipliedFullWidth(by: UInt64(to))
    guard product.high < UInt64(from) else { return .max }
    let (quotient, remainder) = UInt64(from).dividingFullWidth(product)
    return quotient + (remainder * 2 >= UInt64(from) ? 1 : 0)
  }

  /// For an edit list: makes its edits end where the media does. An edit of no length lasts until then.
  /// - Returns: the duration of all edits together, in ticks of the movie; nil for an empty list.
  private mutating func fitEdits(
    mediaDuration: UInt64, _ media: UInt32, _ movie: UInt32
  ) throws(MendError) -> UInt64? {
    let isWide = bytes.first == 1
    let width = isWide ? 20 : 12
    let count = min(Int(bytes.bigEndian32(at: 4)), max(0, bytes.count - 8) / width)
    guard count > 0 else { return nil }
    var sum: UInt64 = 0
    for entry in 0..<count {
      let place = 8 + width * entry
      let duration = isWide ? bytes.bigEndian64(at: place) : UInt64(bytes.bigEndian32(at: place))
      let time =
        isWide
        ? Int64(bitPattern: bytes.bigEndian64(at: place + 8))
        : Int64(Int32(bitPattern: bytes.bigEndian32(at: place + 4)))
      var fitted = duration
      if time >= 0 {
        let left = mediaDuration > UInt64(time) ? mediaDuration - UInt64(time) : 0
        let most = Self.rescaled(left, media, movie)
        fitted = duration == 0 ? most : min(duration, most)
      }
      if isWide {
        bytes.setBigEndian(fitted, at: place)
      } else if let narrow = UInt32(exactly: fitted) {
        bytes.setBigEndian(narrow, at: place)
      } else {
        throw MendError(.notMendable, "its duration is too long for its edit list")
      }
      sum = sum.addingReportingOverflow(fitted).partialValue
    }
    return sum
  }

  /// For a track: makes it wait for `ticks` before its first sample.
  /// - Throws: `notMendable` if that is no whole number of the movie's ticks, or if the track has edits already.
  mutating func setDelay(_ ticks: UInt64, movieTimescale: UInt32) throws(MendError) {
    let media = mediaTimescale
    let (product, overflow) = ticks.multipliedReportingOverflow(by: UInt64(movieTimescale))
    guard media > 0, !overflow, product % UInt64(media) == 0, self["edts"] == nil,
      let wait = UInt32(exactly: product / UInt64(media))
    else {
      throw MendError(.notMendable, "its fragments begin at a time that a single index can't express")
    }
    var bytes: [UInt8] = [0, 0, 0, 0]
    for number in [2, wait, .max, 1 << 16, 0, 0, 1 << 16] as [UInt32] { bytes.appendBigEndian(number) }
    let edits = MovieBox("edts", .boxes(head: [], [MovieBox("elst", bytes)], tail: []))
    let place = boxes.firstIndex { $0.type == "mdia" } ?? boxes.count
    boxes.insert(edits, at: place)
  }
}
