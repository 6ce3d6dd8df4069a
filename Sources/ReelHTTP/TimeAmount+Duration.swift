#if HTTP
  import NIOCore

  extension TimeAmount {
    /// The same time, in nanoseconds; what they can't count is the longest that they can.
    init(_ duration: Duration) {
      let (seconds, attoseconds) = duration.components
      let (nanoseconds, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
      self = .nanoseconds(overflow ? .max : nanoseconds &+ attoseconds / 1_000_000_000)
    }
  }
#endif
