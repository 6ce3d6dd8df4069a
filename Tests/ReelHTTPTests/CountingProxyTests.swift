import ReelHTTPFakes
import Testing

@Suite("the proxy that holds back")
struct CountingProxyTests {
  @Test("what comes after held back bytes is held back as well, however small")
  func holdsBack() {
    let meter = Meter(limit: 100)
    var gate = Gate(meter)
    let passed = [60, 50, 10].map { gate.passes($0) }
    #expect(passed == [true, false, false])
    // On another connection there is room for as much.
    var other = Gate(meter)
    let isFree = other.passes(40)
    #expect(isFree)
  }
}
