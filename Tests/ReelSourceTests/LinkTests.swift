import Glibc
import ReelCore
import ReelSource
import ReelTestSupport
import Testing

@Suite("links", .shortTime)
struct LinkTests {
  let folder: TemporaryFolder
  let following = WalkOptions(followLinks: true)

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("in/real.mp4")
    try folder.write("out/other.mp4")
  }

  @Test("links are not followed, whether found in a folder or named, at the end of a path or on the way")
  func refused() throws {
    try folder.link("in/link.mp4", to: "real.mp4")
    try folder.link("in/link", to: "real.mp4")
    try folder.link("in/elsewhere", to: "../out")
    let walked = Walked(["in"], in: folder)
    #expect(walked.candidates == ["in/real.mp4"])
    #expect(walked.failed == ["in/link.mp4": .isLink, "in/elsewhere": .isLink])
    #expect(walked.ignored == ["in/link"])
    for name in ["in/link", "in/elsewhere", "in/elsewhere/", "in/elsewhere/other.mp4", "in/elsewhere/."] {
      #expect(Walked([name], in: folder).failed == [name: .isLink], "\(name)")
      #expect(throws: SourceError.self) { try FoundFile.named(folder.source(name), followLinks: false) }
    }
  }

  @Test("links are followed within the folder, but not out of it")
  func followedBeneath() throws {
    try folder.link("in/link.mp4", to: "real.mp4")
    try folder.link("in/deep.mp4", to: "../in/real.mp4")
    try folder.link("in/out.mp4", to: "../out/other.mp4")
    try folder.link("in/out", to: "../out")
    try folder.link("in/absolute.mp4", to: "/etc/passwd")
    try folder.link("in/dangling.mp4", to: "nowhere.mp4")
    let walked = Walked(["in"], in: folder, following)
    #expect(walked.candidates == ["in/link.mp4", "in/real.mp4"])
    #expect(
      walked.failed == [
        "in/deep.mp4": .outsideRoot, "in/out.mp4": .outsideRoot, "in/out": .outsideRoot,
        "in/absolute.mp4": .outsideRoot, "in/dangling.mp4": .notFound,
      ])
    for file in walked.files { #expect(try file.open().size == Int64(Sample.mp4.count)) }
  }

  @Test("folders behind links are walked once, whatever cycles they form")
  func circles() throws {
    try folder.write("in/a/b/clip.mp4")
    try folder.link("in/a/b/up", to: "..")
    try folder.link("in/a/top", to: "../../in/a")
    try folder.link("in/z", to: "a/b")
    let walked = Walked(["in"], in: folder, following)
    #expect(walked.candidates == ["in/a/b/clip.mp4", "in/real.mp4"])
    #expect(walked.failed == ["in/a/top": .outsideRoot])
  }

  @Test("a walk returns from behind a link to the folder that contains the link")
  func backFromLink() throws {
    try folder.write("in/z/deep/clip.mp4")
    try folder.link("in/a", to: "z/deep")
    try folder.write("in/b.mp4")
    #expect(Walked(["in"], in: folder, following).candidates == ["in/a/clip.mp4", "in/b.mp4", "in/real.mp4"])
  }

  @Test("links that never end are an error")
  func loops() throws {
    try folder.link("in/one.mp4", to: "two.mp4")
    try folder.link("in/two.mp4", to: "one.mp4")
    #expect(Walked(["in"], in: folder).failed == ["in/one.mp4": .isLink, "in/two.mp4": .isLink])
    #expect(
      Walked(["in"], in: folder, following).failed == [
        "in/one.mp4": .outsideRoot, "in/two.mp4": .outsideRoot,
      ])
    #expect(Walked(["in/one.mp4"], in: folder, following).failed == ["in/one.mp4": .outsideRoot])
  }

  @Test("links that the user named are followed anywhere")
  func namedLinks() throws {
    try folder.link("to-file.mp4", to: folder.path + "/out/other.mp4")
    try folder.link("to-folder", to: "out")
    #expect(
      Walked(["to-file.mp4", "to-folder"], in: folder, following).candidates == [
        "to-file.mp4", "to-folder/other.mp4",
      ])
    #expect(try FoundFile.named(folder.source("to-folder/other.mp4"), followLinks: true).open().size > 0)
  }
}
