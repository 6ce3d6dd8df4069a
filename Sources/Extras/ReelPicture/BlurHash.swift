import Glibc
import ReelCore

/// A blurred picture as a short text, by the published algorithm (<https://github.com/woltapp/blurhash>).
enum BlurHash {
  private typealias Light = SIMD3<Float>

  /// Returns the text with 4×3 components, or 3×4 for a picture that is taller than wide: 28 characters.
  static func text(of picture: RawPicture) -> String {
    let isHigh = picture.height > picture.width
    return text(of: picture, across: isHigh ? 3 : 4, down: isHigh ? 4 : 3)
  }

  /// - Parameters:
  ///   - across: the number of components across, from 1 to 9.
  ///   - down: the number of components down, from 1 to 9.
  ///   - block: the side of the blocks of pixels that are added up, 1 or 4; nil to choose by the size.
  static func text(of picture: RawPicture, across: Int, down: Int, block: Int? = nil) -> String {
    // In a picture that is not small, the waves are far longer than four pixels.
    let block = block ?? (min(picture.width, picture.height) >= 128 ? 4 : 1)
    let components = components(of: picture, across: across, down: down, block)
    var text: [UInt8] = []
    append(across - 1 + (down - 1) * 9, digits: 1, to: &text)
    let largest = components.dropFirst().map { max(abs($0.x), abs($0.y), abs($0.z)) }.max() ?? 0
    let step = components.count > 1 ? min(82, max(0, Int((largest * 166 - 0.5).rounded(.down)))) : 0
    append(step, digits: 1, to: &text)
    append(average(components[0]), digits: 4, to: &text)
    for component in components.dropFirst() {
      append(detail(component / (Float(step + 1) / 166)), digits: 2, to: &text)
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Returns how much of each cosine wave is in the picture, row by row, with the average first.
  private static func components(
    of picture: RawPicture, across: Int, down: Int, _ block: Int
  ) -> [Light] {
    let (width, height) = (picture.width, picture.height)
    let (columns, rows) = (waves(across, width, block), waves(down, height, block))
    var components = [Light](repeating: .zero, count: across * down)
    var row = [Light](repeating: .zero, count: across)
    for (place, top) in stride(from: 0, to: height, by: block).enumerated() {
      for i in 0..<across { row[i] = .zero }
      let lights = blocks(of: picture, top..<min(height, top + block), block)
      for (x, light) in lights.enumerated() {
        for i in 0..<across { row[i] += light * columns[i][x] }
      }
      for j in 0..<down {
        for i in 0..<across { components[j * across + i] += row[i] * rows[j][place] }
      }
    }
    let scale = 1 / Float(width * height)
    return components.enumerated().map { $1 * ($0 == 0 ? scale : 2 * scale) }
  }

  /// Returns the sum of the light in each block of some rows.
  private static func blocks(of picture: RawPicture, _ rows: Range<Int>, _ block: Int) -> [Light] {
    var sums = [Light](repeating: .zero, count: (picture.width + block - 1) / block)
    let shift = block == 4 ? 2 : 0
    picture.bytes.withUnsafeBufferPointer { bytes in
      SRGB.lights.withUnsafeBufferPointer { lights in
        sums.withUnsafeMutableBufferPointer { sums in
          for y in rows {
            var place = 3 * y * picture.width
            for x in 0..<picture.width {
              sums[x >> shift] += Light(
                lights[Int(bytes[place])], lights[Int(bytes[place + 1])], lights[Int(bytes[place + 2])])
              place += 3
            }
          }
        }
      }
    }
    return sums
  }

  /// Returns the value of each wave in the middle of each block.
  private static func waves(_ count: Int, _ length: Int, _ block: Int) -> [[Float]] {
    (0..<count).map { number in
      stride(from: 0, to: length, by: block).map { start in
        let middle = Double(start) + Double(min(block, length - start) - 1) / 2
        return Float(cos(Double.pi * Double(number) * middle / Double(length)))
      }
    }
  }

  private static func average(_ light: Light) -> Int {
    let byte = { (light: Float) in Int(SRGB.signal(Double(min(1, max(0, light)))) * 255 + 0.5) }
    return byte(light.x) << 16 | byte(light.y) << 8 | byte(light.z)
  }

  private static func detail(_ light: Light) -> Int {
    let level = { (light: Float) -> Int in
      let root = light < 0 ? -(-light).squareRoot() : light.squareRoot()
      return min(18, max(0, Int((root * 9 + 9.5).rounded(.down))))
    }
    return (level(light.x) * 19 + level(light.y)) * 19 + level(light.z)
  }

  private static func append(_ value: Int, digits: Int, to text: inout [UInt8]) {
    var divisor = 1
    for _ in 1..<digits { divisor *= 83 }
    for _ in 0..<digits {
      text.append(Poster.blurHashDigits[value / divisor % 83])
      divisor /= 83
    }
  }
}
