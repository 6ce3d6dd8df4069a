extension Int64 {
  /// The sum, or the largest number where there is none: a sparse file may claim 2^63-1 bytes.
  package func addingClamped(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }
}
