import ReelCore
import ReelTerminal
import Testing

@Suite struct ContactSheetTests {
  private static func tile(_ width: Int, _ height: Int, _ grey: UInt8, _ label: String = "")
    -> ContactSheet.Tile
  {
    ContactSheet.Tile(picture: RawPicture(width: width, height: height, grey: grey), label: label)
  }

  private static func grey(_ picture: RawPicture, _ x: Int, _ y: Int) -> UInt8 {
    picture.bytes[3 * (y * picture.width + x)]
  }

  @Test(arguments: [
    (nil as Double?, ""), (0, "0:00"), (7.9, "0:07"), (61, "1:01"), (3599.99, "59:59"), (3600, "1:00:00"),
    (36_061, "10:01:01"), (-1, ""), (.nan, ""), (.infinity, ""),
  ])
  func timesAreWritten(_ seconds: Double?, _ text: String) {
    #expect(ContactSheet.label(seconds: seconds) == text)
  }

  @Test func tilesStandInRows() throws {
    let tiles = (1...5).map { Self.tile(40, 30, UInt8($0 * 40)) }
    let sheet = try #require(ContactSheet.picture(of: tiles, columns: 3))
    #expect(sheet.width == 3 * 46 + 6 && sheet.height == 2 * 36 + 6)
    #expect(Self.grey(sheet, 6 + 20, 6 + 15) == 40)
    #expect(Self.grey(sheet, 52 + 20, 6 + 15) == 80)
    #expect(Self.grey(sheet, 6 + 20, 42 + 15) == 160)
    #expect(Self.grey(sheet, 98 + 20, 42 + 15) == 24)
    #expect(Self.grey(sheet, 2, 2) == 24)
  }

  @Test func fewerTilesThanColumnsMakeOneRow() throws {
    let sheet = try #require(ContactSheet.picture(of: [Self.tile(40, 30, 100)], columns: 4))
    #expect(sheet.width == 52 && sheet.height == 42)
  }

  @Test func aSmallTileStandsInTheMiddle() throws {
    let sheet = try #require(
      ContactSheet.picture(of: [Self.tile(40, 30, 100), Self.tile(10, 10, 200)], columns: 2))
    #expect(Self.grey(sheet, 52 + 20, 6 + 15) == 200)
    #expect(Self.grey(sheet, 52 + 2, 6 + 15) == 24)
  }

  @Test func aLabelIsWhiteOnADarkenedStrip() throws {
    let sheet = try #require(ContactSheet.picture(of: [Self.tile(100, 40, 100, "0:07")], columns: 1))
    #expect(Self.grey(sheet, 6, 6 + 39) == 25)
    #expect(Self.grey(sheet, 6 + 90, 6 + 39) == 100)
    // The stem of the 1 is at its place.
    let one = try #require(ContactSheet.picture(of: [Self.tile(100, 40, 100, "1")], columns: 1))
    #expect((31..<38).allSatisfy { Self.grey(one, 6 + 2 + 2, 6 + $0) == 255 })
  }

  @Test(arguments: [
    "a very long name of a file that has no room at all on its tile", "日本語の名前", "\u{202E}\n\t",
  ])
  func anyLabelFits(_ label: String) throws {
    for (width, height) in [(1, 1), (8, 8), (20, 12), (320, 180)] {
      let sheet = try #require(ContactSheet.picture(of: [Self.tile(width, height, 100, label)], columns: 1))
      #expect(sheet.width == width + 12 && sheet.height == height + 12)
      // Nothing is drawn beside the tile.
      for y in 0..<sheet.height {
        #expect(Self.grey(sheet, 0, y) == 24 && Self.grey(sheet, sheet.width - 1, y) == 24)
      }
    }
  }

  @Test func thereIsNoSheetOfNothingOrOfTooMuch() {
    #expect(ContactSheet.picture(of: [], columns: 4) == nil)
    #expect(ContactSheet.picture(of: (0..<50).map { _ in Self.tile(1024, 1024, 9) }, columns: 7) == nil)
  }
}
