/// Big-endian numbers, as most containers have them.
func be32(_ value: Int) -> [UInt8] { be(value, 4) }
func be16(_ value: Int) -> [UInt8] { be(value, 2) }
func be64(_ value: Int) -> [UInt8] { be(value, 8) }

private func be(_ value: Int, _ count: Int) -> [UInt8] {
  withUnsafeBytes(of: value.bigEndian) { Array($0[(8 - count)...]) }
}

/// `bytes` this many times, by doubling: a test build copies single bytes slowly.
func repeated(_ bytes: [UInt8], _ count: Int) -> [UInt8] {
  guard count > 1 else { return count == 1 ? bytes : [] }
  let half = repeated(bytes, count / 2)
  return half + half + (count % 2 == 1 ? bytes : [])
}
