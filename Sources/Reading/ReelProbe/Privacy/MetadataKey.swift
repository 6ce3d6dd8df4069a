/// The names of metadata: Matroska's and Vorbis' tags, QuickTime's keys, FLV's and ASF's attributes, and the names that
/// FFmpeg gives to the tags of other containers.
package enum MetadataKey {
  /// Names that give away nothing, without `com.apple.quicktime.`.
  private static let harmless: Set<String> = [
    "title", "artist", "author", "album", "album_artist", "comment", "copyright", "creationdate",
    "creation_time", "date", "year", "description", "synopsis", "director", "displayname", "genre",
    "information",
    "keywords", "producer", "publisher", "composer", "performer", "language", "lyrics", "track", "disc",
    "encoder",
    "major_brand", "minor_version", "compatible_brands", "rating.user", "collection.user",
  ]
  /// Words each of which makes a name that of a location.
  private static let places: Set<String> = [
    "latitude", "longitude", "altitude", "geolocation", "coordinates", "xyz",
    "iso6709", "geo", "geotag", "lat", "lon", "lng",
  ]
  private static let gps = Array("gps".utf8)
  private static let location = Array("location".utf8)
  private static let initials = Set("acgilx".utf8)

  /// Returns what a name says about its value, which is not examined.
  package static func disclosure(of key: String) -> Disclosure {
    if namesPlace(key) { return .location }
    let key = key.lowercased()
    let apple = "com.apple.quicktime."
    return harmless.contains(key.hasPrefix(apple) ? String(key.dropFirst(apple.count)) : key)
      ? .nothing : .identity
  }

  /// Returns whether one of the words in the name says that the value is a location.
  package static func namesPlace(_ key: String) -> Bool {
    // This is called for each tag of each file, and the first letter rules out most words.
    var word: [UInt8] = []
    for byte in key.utf8 {
      let lower = (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
      if (0x61...0x7A).contains(lower) || (0x30...0x39).contains(lower) {
        word.append(lower)
        continue
      }
      if isPlace(word) { return true }
      word.removeAll(keepingCapacity: true)
    }
    return isPlace(word)
  }

  private static func isPlace(_ word: [UInt8]) -> Bool {
    guard let first = word.first, initials.contains(first), (3...16).contains(word.count) else {
      return false
    }
    return places.contains(String(decoding: word, as: UTF8.self)) || word.starts(with: gps)
      || word.starts(with: location)
  }
}
