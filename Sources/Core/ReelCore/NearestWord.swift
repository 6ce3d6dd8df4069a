/// Guesses what was meant by an unknown word.
package enum NearestWord {
  /// The word of `words` closest to `word`, if they differ by at most a third of its length, or by one letter.
  package static func nearest(to word: String, among words: [String]) -> String? {
    let typed = Array(word.lowercased().utf8.prefix(64))
    let ranked = words.map { (distance(typed, Array($0.lowercased().utf8)), $0) }
    guard let best = ranked.min(by: { ($0.0, $0.1) < ($1.0, $1.1) }) else { return nil }
    return best.0 <= max(1, typed.count / 3) ? best.1 : nil
  }

  /// The number of insertions, deletions, substitutions and transpositions (optimal string alignment).
  static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
    var before: [Int] = []
    var last = Array(0...right.count)
    for (row, letter) in left.enumerated() {
      var current = [row + 1]
      for (column, other) in right.enumerated() {
        var cost = min(last[column + 1] + 1, current[column] + 1, last[column] + (letter == other ? 0 : 1))
        if row > 0, column > 0, letter == right[column - 1], left[row - 1] == other {
          cost = min(cost, before[column - 1] + 1)
        }
        current.append(cost)
      }
      (before, last) = (last, current)
    }
    return last[right.count]
  }
}
