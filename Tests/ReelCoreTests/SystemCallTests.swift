import Glibc
import ReelCore
import Testing

@Suite struct DescriptorTests {
  @Test func closesItselfAndNothingElse() throws {
    var raw: Int32 = -1
    do {
      let descriptor = Descriptor(adopting: open("/dev/null", O_RDONLY | O_CLOEXEC))
      raw = descriptor.rawValue
      #expect(fcntl(raw, F_GETFD) >= 0)
      withExtendedLifetime(descriptor) {}
    }
    // Another test may have been given the same number by now, so its state is not queried. A weak check of the close
    // itself is that a thousand descriptors do not use up a thousand numbers.
    let numbers = Set(
      (0..<1000).map { _ in Descriptor(adopting: open("/dev/null", O_RDONLY | O_CLOEXEC)).rawValue })
    #expect(raw >= 0)
    #expect(numbers.count < 500)
  }
}

@Suite struct SystemErrorTests {
  @Test(
    "errors have the system's words",
    arguments: [
      (ENOSPC, "No space left on device"), (EACCES, "Permission denied"), (EIO, "Input/output error"),
    ])
  func words(_ code: Int32, _ words: String) {
    let error = SystemError(code: code, call: "write")
    #expect(error.reason == words)
    #expect(error.description == "write: " + words)
  }

  @Test func unknownNumbersHaveWordsToo() {
    #expect(!SystemError(code: 99_999, call: "write").reason.isEmpty)
  }

  @Test func interruptedCallsAreMadeAgain() throws {
    var calls = 0
    let result = try retryingInterrupts("read") { () -> Int in
      calls += 1
      errno = EINTR
      return calls < 4 ? -1 : 7
    }
    #expect(result == 7)
    #expect(calls == 4)
  }

  @Test func otherFailuresAreNot() {
    var calls = 0
    #expect(throws: SystemError(code: EIO, call: "read")) {
      try retryingInterrupts("read") { () -> Int32 in
        calls += 1
        errno = EIO
        return -1
      }
    }
    #expect(calls == 1)
  }
}
