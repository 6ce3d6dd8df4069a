import ReelCore
import ReelCrypto

/// What a store that keeps MD5s, and does not encrypt with keys of its own, calls an object of these bytes. (Amazon's tag
/// of an object in parts is the MD5 of their MD5s and how many they are; some stores tell the MD5 of the whole.)
struct SourceTag {
  private let source: UploadSource
  private let plan: PartPlan
  private let queue = BlockingQueue(label: "reel.s3-tag", width: 1)

  init(_ source: UploadSource, _ plan: PartPlan) { (self.source, self.plan) = (source, plan) }

  /// Whether `tag` is theirs. All of them are read where it has the form of one, for MD5 only this store asks.
  /// - Throws: `sourceChanged`, `sourceUnreadable`, `cancelled`.
  func matches(_ tag: String) async throws(UploadError) -> Bool {
    let digits = tag.prefix { $0.isHexDigit }
    let isOfParts = tag.dropFirst(32) == "-\(plan.count)"
    guard digits.count == 32, tag.count == 32 || isOfParts else { return false }
    var whole = Insecure.MD5()
    for number in 1...plan.count {
      let md5 = try await hashed(plan.range(of: number), after: isOfParts ? Insecure.MD5() : whole)
      if isOfParts { whole.update(data: md5.finalize()) } else { whole = md5 }
    }
    return Hexadecimal.text(whole.finalize()) == digits.lowercased()
  }

  private func hashed(
    _ range: Range<Int64>, after start: Insecure.MD5
  ) async throws(UploadError) -> Insecure.MD5 {
    var md5 = start
    var offset = range.lowerBound
    while offset < range.upperBound {
      try PartHashing.checkCancellation()
      let (before, piece) = (md5, offset..<min(offset + (8 << 20), range.upperBound))
      md5 = try await queue.run { [source] () throws(UploadError) in
        var md5 = before
        try source.forEachPiece(of: piece) { md5.update(bufferPointer: $0) }
        return md5
      }
      offset = piece.upperBound
    }
    return md5
  }
}
