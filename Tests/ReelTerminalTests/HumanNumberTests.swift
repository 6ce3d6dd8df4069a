import ReelTerminal
import Testing

@Suite struct HumanNumberTests {
  @Test(arguments: [
    (0 as Int64, "0 B"), (1, "1 B"), (999, "999 B"), (1000, "1.0 kB"), (1234, "1.2 kB"), (99_949, "99.9 kB"),
    (99_950, "100 kB"), (999_499, "999 kB"), (999_500, "1.0 MB"), (345_200_000, "345 MB"),
    (5_600_000_000, "5.6 GB"),
    (.max, "9223 PB"), (-1, "unknown"),
  ])
  func bytes(count: Int64, text: String) {
    #expect(HumanNumber.bytes(count) == text)
  }

  @Test(arguments: [
    (0.0, "0.0 s"), (0.0001, "1 ms"), (0.006, "6 ms"), (0.0499, "50 ms"), (0.05, "0.1 s"), (12.512, "12.5 s"),
    (59.94, "59.9 s"), (59.96, "1:00.0"), (62.34, "1:02.3"),
    (3723.4, "1:02:03.4"),
    (3599.97, "1:00:00.0"), (-1, "unknown"), (.nan, "unknown"), (.infinity, "unknown"), (1e300, "unknown"),
  ])
  func duration(seconds: Double, text: String) {
    #expect(HumanNumber.duration(seconds) == text)
  }

  @Test(arguments: [(0.0, "0:00"), (52.9, "0:52"), (600, "10:00"), (3723.4, "1:02:03"), (.nan, "unknown")])
  func clock(seconds: Double, text: String) {
    #expect(HumanNumber.clock(seconds) == text)
  }

  @Test(arguments: [
    (0 as Int64, 100 as Int64, "0%" as String?), (45, 100, "45%"), (999, 1000, "99%"), (7, 7, "100%"),
    (9, 7, "100%"),
    (-1, 7, "0%"), (1, 0, nil), (.max, .max, "100%"),
  ])
  func percent(part: Int64, total: Int64, text: String?) {
    #expect(HumanNumber.percent(part, of: total) == text)
  }

  @Test func ratesAndCounts() {
    #expect(HumanNumber.rate(84_200_000) == "84.2 MB/s")
    #expect(HumanNumber.rate(.nan) == "unknown")
    #expect(HumanNumber.rate(.infinity) == "unknown")
    #expect(HumanNumber.bitRate(4_500_000) == "4.5 Mb/s")
    #expect(HumanNumber.count(1, "file", "files") == "1 file")
    #expect(HumanNumber.count(0, "file", "files") == "0 files")
  }
}
