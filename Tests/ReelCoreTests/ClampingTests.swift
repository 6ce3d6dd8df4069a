import FoundationEssentials
import ReelCore
import ReelTestSupport
import Testing

@Suite("arithmetic on numbers from outside")
struct ClampingTests {
  @Test(
    "a sum out of range is the largest number",
    arguments: [
      (1, 2, 3), (.max, 0, .max), (.max, 1, .max), (.max, .max, .max), (.min, -1, .min), (-5, 5, 0),
    ] as [(Int64, Int64, Int64)])
  func clamped(first: Int64, second: Int64, sum: Int64) {
    #expect(first.addingClamped(second) == sum)
  }

  @Test("sums and products are the nearest numbers to the true ones")
  func nearest() {
    for one in Extremes.integers {
      for other in Extremes.integers {
        let (sum, product) = (Int128(one) + Int128(other), Int128(one) * Int128(other))
        let clamp = { (value: Int128) in Int64(min(max(value, Int128(Int64.min)), Int128(Int64.max))) }
        #expect(one.addingClamped(other) == clamp(sum))
        #expect(one.multipliedClamped(by: other) == clamp(product), "\(one) × \(other)")
      }
    }
  }

  @Test("any floating-point number can be converted to an integer, a duration, a date and an ID")
  func doubles() throws {
    for value in Extremes.doubles {
      let whole = Int64(clamping: value)
      #expect(
        Int64(exactly: value.rounded(.towardZero)).map { $0 == whole } ?? [.min, .max, 0].contains(whole))
      let duration = Duration.seconds(clamping: value)
      _ = (duration / .milliseconds(1), Int64(duration / .milliseconds(1)), ContinuousClock.now + duration)
      let date = Date(timeIntervalSince1970: value)
      #expect(Date(milliseconds: date.milliseconds).timeIntervalSince1970.isFinite)
      _ = (date.wholeMilliseconds, PostID(at: date, random: SystemRandomness()))
      for precision in [ISOTime.Precision.milliseconds, .secondsOrMilliseconds] {
        _ = ISOTime.text(date, precision)
      }
      _ = (ISOTime.minute(date), ISOTime.second(date), Decimals.text(value), Decimals.text(value, places: 6))
      for nanoseconds in Extremes.integers {
        let file = FileIdentity(
          device: 1, inode: 2, size: nanoseconds, modifiedAt: nanoseconds, changedAt: nanoseconds)
        _ = file.isSettled(at: date)
      }
    }
    for number in Extremes.integers {
      _ = (Decimals.bytes(number), Decimals.bitRate(number), Date(milliseconds: number).milliseconds)
    }
  }

  @Test("every document of a post decodes or has an error, whatever its numbers and times")
  func documents() throws {
    let json = String(decoding: try JSONEncoder().encode(PostTests.sample()), as: UTF8.self)
    let times = Extremes.times.map { json.replacing("1970-01-01T00:16:40.000Z", with: $0) }
    let numbers = Extremes.jsonNumbers.map { json.replacing("\"1970-01-01T00:16:40.000Z\"", with: $0) }
    #expect(times.allSatisfy { $0 != json } && numbers.allSatisfy { $0 != json })
    for text in Extremes.variants(ofJSON: json) + times + numbers {
      guard let post = try? JSONDecoder().decode(Post.self, from: Data(text.utf8)) else { continue }
      _ = (post.createdAt?.milliseconds, post.createdAt.map { ISOTime.text($0, .milliseconds) })
      // What was read can be written and read again.
      let again = try JSONDecoder().decode(Post.self, from: JSONEncoder().encode(post))
      #expect(again.createdAt.map(\.milliseconds) == post.createdAt.map(\.milliseconds), "\(text)")
    }
    for text in Extremes.texts { _ = (FeedCursor(text), PostID(text), ObjectKey(text)) }
  }
}
