import Glibc

/// The failure of a system call.
package struct SystemError: Error, Hashable, Sendable {
  /// The value of `errno`.
  package let code: Int32
  /// The call's name, such as `openat`.
  package let call: String

  /// - Parameters: The value of `errno`, and the name of the call that set it.
  package init(code: Int32, call: String) {
    self.code = code
    self.call = call
  }

  /// The current `errno`, to be read right after a call that failed.
  package static func last(_ call: String) -> SystemError {
    SystemError(code: errno, call: call)
  }

  /// The system's description of the code, such as "No space left on device".
  package var reason: String {
    var buffer = [CChar](repeating: 0, count: 256)
    guard strerror_r(code, &buffer, buffer.count) == 0, let end = buffer.firstIndex(of: 0) else {
      return "system error \(code)"
    }
    return String(decoding: buffer[..<end].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

extension SystemError: CustomStringConvertible {
  package var description: String { "\(call): \(reason)" }
}

/// Repeats `body` while it is interrupted by signals. Throws the value of `errno` if it returns -1.
package func retryingInterrupts<Number: FixedWidthInteger>(
  _ call: String, _ body: () -> Number
) throws(SystemError) -> Number {
  while true {
    let result = body()
    if result != -1 { return result }
    if errno != EINTR { throw SystemError.last(call) }
  }
}
