/// Arithmetic on ranges of bytes.
package enum SourceRanges {
  /// Returns what is in `ranges` and not in `others`, in order.
  package static func merged(_ ranges: [Range<Int64>], without others: [Range<Int64>]) -> [Range<Int64>] {
    let others = union(others)
    var (found, next): ([Range<Int64>], Int) = ([], 0)
    for range in union(ranges) {
      var start = range.lowerBound
      while next < others.count, others[next].upperBound <= start { next += 1 }
      var place = next
      while place < others.count, others[place].lowerBound < range.upperBound {
        if others[place].lowerBound > start { found.append(start..<others[place].lowerBound) }
        start = max(start, others[place].upperBound)
        place += 1
      }
      if start < range.upperBound { found.append(start..<range.upperBound) }
    }
    return found
  }

  private static func union(_ ranges: [Range<Int64>]) -> [Range<Int64>] {
    var found: [Range<Int64>] = []
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = found.last, range.lowerBound <= last.upperBound {
        found[found.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        found.append(range)
      }
    }
    return found
  }
}
