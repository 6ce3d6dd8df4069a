import ReelRemoteStorage
import ReelStorage

extension CurlTransport {
  /// A transport for tests that are not about timeouts: on a busy machine everything may take long.
  package static func patient(limiter: RateLimiter? = nil) throws(HTTPFailure) -> CurlTransport {
    try CurlTransport(HTTPRules(timeouts: .patient()), limiter: limiter)
  }
}

extension HTTPTimeouts {
  /// Timeouts far longer than anything takes, except for the one that a test is about.
  package static func patient(
    connect: Duration = .seconds(120), idle: Duration = .seconds(600), answer: Duration = .seconds(600)
  ) -> HTTPTimeouts {
    HTTPTimeouts(connect: connect, idle: idle, answer: answer)
  }
}
