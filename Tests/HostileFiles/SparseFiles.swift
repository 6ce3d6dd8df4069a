/// Files of many gigabytes that take a few kilobytes of disk.
struct SparseFiles {
  let samples: Samples

  var files: [HostileFile] {
    heads + [
      HostileFile("sparse", "zeros.mp4", .sparse([], size: 64 << 30), Answers.notMedia),
      HostileFile("sparse", "hole-in-the-middle.mp4", wideMovie, Answers.ok, origin: "clips/moov-at-end.mp4"),
      HostileFile(
        "sparse", "all-claimed.mkv",
        .sparse(EBML.header + EBML.element(0x1853_8067, claiming: 32 << 30), size: 32 << 30),
        Answers.slow),
      HostileFile(
        "sparse", "moov-of-zeros.mp4",
        .sparse(
          be32(16) + Array("ftypisom".utf8) + be32(0) + be32(1) + Array("moov".utf8) + be64(32 << 30),
          size: 32 << 30),
        Answers.slow),
    ]
  }

  /// A video's beginning, then nothing but zeros.
  private var heads: [HostileFile] {
    samples.clips.map { clip in
      HostileFile(
        "sparse", "head-of-\(clip.name)", .sparse(clip.bytes, size: 8 << 30), Answers.slow,
        origin: clip.path)
    }
  }

  /// An honest movie of 40 GB: the media lies at its beginning, the index at its end.
  private var wideMovie: HostileFile.Body {
    let boxes = ISOBox.read(samples.bytes("moov-at-end.mp4"))
    let media = boxes.first { $0.type == "mdat" }?.payload ?? []
    let head = boxes.prefix { $0.type != "mdat" && $0.type != "free" }.flatMap(\.bytes)
    let tail = boxes.filter { $0.type == "moov" }.bytes
    let size = 40 << 30
    // The 64-bit size takes the room of the `free` box that stood before the media.
    let wide = be32(1) + Array("mdat".utf8) + be64(size - head.count - tail.count)
    return .sparse(head + wide + media, tail: tail, size: Int64(size))
  }
}
