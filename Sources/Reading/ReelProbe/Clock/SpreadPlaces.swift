/// Places in a file that are spread about evenly in time. Bytes do not pass evenly: half of a file may be one scene.
enum SpreadPlaces {
  /// The presentation time of something, and its position.
  struct Mark {
    let time: Int64
    let place: Int64
  }

  /// - Parameters:
  ///   - count: the number of places between the two ends if bytes pass evenly; otherwise there are up to twice as
  ///     many.
  ///   - find: returns what comes first from a place on.
  static func between(_ start: Mark, _ end: Mark, count: Int, _ find: (Int64) -> Mark?) -> [Int64] {
    var marks = [start, end]
    var exhausted: Set<Int64> = []
    let longestWanted = (Double(end.time) - Double(start.time)) / Double(count)
    for _ in 0..<(4 * count) where marks.count < 2 * count + 2 {
      let gaps = marks.indices.dropLast().filter { !exhausted.contains(marks[$0].place) }
      // The gap in which most time passes.
      let longest = gaps.max { span(marks, $0) < span(marks, $1) }
      guard let longest, span(marks, longest) > max(0, longestWanted) else { break }
      let (left, right) = (marks[longest], marks[longest + 1])
      let found = find(left.place + (right.place - left.place) / 2)
      if let found, left.place < found.place, found.place < right.place {
        marks.insert(found, at: longest + 1)
      } else {
        exhausted.insert(left.place)
      }
    }
    return marks.dropFirst().dropLast().map(\.place)
  }

  private static func span(_ marks: [Mark], _ at: Int) -> Double {
    Double(marks[at + 1].time) - Double(marks[at].time)
  }
}
