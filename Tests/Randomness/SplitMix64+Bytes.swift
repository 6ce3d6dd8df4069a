extension SplitMix64 {
  /// So many bytes, drawn eight at a time.
  ///
  /// Tests are built without optimization, where a closure called for each byte takes seconds for a large object, and
  /// this milliseconds.
  package mutating func bytes(_ count: Int) -> [UInt8] {
    let words = (count + 7) / 8
    let drawn = [UInt64](unsafeUninitializedCapacity: words) { buffer, made in
      while made < words {
        buffer[made] = next()
        made += 1
      }
    }
    return drawn.withUnsafeBytes { Array($0.prefix(count)) }
  }
}
