/// What a packet of Motion JPEG states about itself (ITU-T T.81, B.1 and B.2).
enum MotionJPEG {
  /// Returns whether the packet holds both fields of an interlaced picture, or one of them: two JPEGs, or one that its
  /// "AVI1" segment marks as a field (OpenDML AVI File Format Extensions, 1996).
  static func isOfFields(_ packet: some RandomAccessCollection<UInt8>) -> Bool {
    let bytes = Array(packet)
    // SOI, APP0, its length, "AVI1", the field: 1 or 2; 0 for a whole picture.
    if bytes.count > 10, bytes[2..<4].elementsEqual([0xFF, 0xE0]), bytes[6..<10].elementsEqual("AVI1".utf8),
      bytes[10] == 1 || bytes[10] == 2
    {
      return true
    }
    guard let end = bytes.indices.dropLast().first(where: { bytes[$0] == 0xFF && bytes[$0 + 1] == 0xD9 })
    else {
      return false
    }
    // Fields may be padded. If this is the end of a thumbnail within the first JPEG, no other JPEG follows it.
    return bytes[end...].dropFirst(2).drop { $0 == 0 || $0 == 0xFF }.first == 0xD8
  }

  /// Returns the size of the packet's first frame; nil if no frame header is found, or if it does not state its height.
  static func size(of packet: some RandomAccessCollection<UInt8>) -> (width: Int, height: Int)? {
    let bytes = Array(packet)
    var place = 2
    while place + 9 < bytes.count, bytes[place] == 0xFF {
      let marker = bytes[place + 1]
      if marker == 0xFF {
        place += 1
        continue
      }
      // SOF0 to SOF15, without DHT, JPG and DAC.
      if (0xC0...0xCF).contains(marker), ![0xC4, 0xC8, 0xCC].contains(marker) {
        let height = Int(bytes[place + 5]) << 8 | Int(bytes[place + 6])
        let width = Int(bytes[place + 7]) << 8 | Int(bytes[place + 8])
        return width > 0 && height > 0 ? (width, height) : nil
      }
      place += 2 + (Int(bytes[place + 2]) << 8 | Int(bytes[place + 3]))
    }
    return nil
  }

  /// Returns what precedes the first scan, as far as it is there; nil for anything but a JPEG.
  static func head(of packet: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    guard packet.starts(with: [0xFF, 0xD8, 0xFF]) else { return nil }
    var place = packet.startIndex + 2
    while place + 4 <= packet.endIndex, packet[place] == 0xFF, packet[place + 1] != 0xDA {
      place += 2 + max(2, Int(packet[place + 2]) << 8 | Int(packet[place + 3]))
    }
    return packet[..<min(place, packet.endIndex)]
  }

  /// Returns the first directory of the Exif in a JPEG's head.
  static func exif(in head: ArraySlice<UInt8>) -> ExifDirectory? {
    let name = Array("Exif\0\0".utf8)
    return PlaceSearch.index(of: name, in: head).flatMap { ExifDirectory(head[($0 + name.count)...]) }
  }

  /// Returns the orientation that Exif gives the picture: 1 if it is upright, otherwise 2 to 8; nil if there is none.
  static func orientation(of packet: [UInt8]) -> Int? {
    head(of: packet[...]).flatMap { exif(in: $0)?[0x0112]?.value }.flatMap { (1...8).contains($0) ? $0 : nil }
  }
}
