import ReelHTTPFakes
import Testing

@Suite("the proxy that withholds bytes")
struct CountingProxyTests {
  @Test("once a chunk is withheld, later ones are withheld, too, however small")
  func holdsBack() {
    let meter = Meter(limit: 100)
    var gate = Gate(meter)
    let passed = [60, 50, 10].map { gate.passes($0) }
    #expect(passed == [true, false, false])
    // Another connection may use the remaining bytes.
    var other = Gate(meter)
    let isFree = other.passes(40)
    #expect(isFree)
  }
}
