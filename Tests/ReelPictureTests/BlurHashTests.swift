import ReelCore
import Testing

@testable import ReelPicture

@Suite struct BlurHashTests {
}
