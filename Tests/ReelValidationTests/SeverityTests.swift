import ReelValidation
import Testing

@Suite struct SeverityTests {
  @Test func inOrder() {
    #expect([Severity.error, .off, .warn].sorted() == [.off, .warn, .error])
  }
}
