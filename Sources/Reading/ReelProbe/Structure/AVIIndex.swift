import CFFmpeg

/// The chunks of a stream of an AVI, by the index that FFmpeg has read.
struct AVIIndex {
  let count: Int32
  private let stream: StreamChoice.Stream
  private let header: AVIHeaders.Stream

  init?(_ stream: StreamChoice.Stream, _ header: AVIHeaders.Stream) {
    count = avformat_index_get_entries_count(stream)
    guard count > 0, header.scale > 0, header.rate > 0 else { return nil }
    (self.stream, self.header) = (stream, header)
  }

  /// The position of the last chunk.
  var last: Int64 { position(count - 1) }

  func position(_ entry: Int32) -> Int64 { reel_index_entry(stream, entry).position }

  /// Returns when a chunk begins, in seconds.
  func start(_ entry: Int32) -> Double { seconds(Double(reel_index_entry(stream, entry).time)) }

  /// When the last chunk ends, in seconds.
  var end: Double {
    let last = reel_index_entry(stream, count - 1)
    return seconds(Double(last.time) + (header.sampleSize > 0 ? Double(last.size) : 1))
  }

  /// Whether its last chunk ends at `seconds`. The empty chunks with which a stream that begins late is filled up have
  /// no entries, and do not count in all codecs; `other` is how far the file is when the first chunk with content comes.
  func ends(at seconds: Double, within slack: Double, beside other: AVIIndex) -> Bool {
    let before = other.count(before: position(0))
    let late = before > 0 ? other.start(before - 1) : 0
    return [end, end + late].contains { abs($0 - seconds) <= slack }
  }

  /// - Parameter count: of bytes if sound has a constant rate, otherwise of frames.
  private func seconds(_ count: Double) -> Double {
    count * Double(header.scale) / (Double(header.rate) * Double(max(1, header.sampleSize)))
  }

  /// Returns the number of chunks before `position`.
  func count(before position: Int64) -> Int32 {
    var (low, high) = (Int32(0), count)
    while low < high {
      let middle = low + (high - low) / 2
      if self.position(middle) < position { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
