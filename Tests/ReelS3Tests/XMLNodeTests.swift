import ReelTestSupport
import Testing

@testable import ReelRemoteStorage

@Suite struct XMLNodeTests {
  private func node(_ text: String) -> XMLNode? { XMLNode(parsing: Array(text.utf8)) }

  @Test("names lose prefixes, text loses surrounding white space, and children keep their order")
  func reads() throws {
    let root = try #require(
      node("<?xml version=\"1.0\"?><a:R xmlns:a=\"x\"><K> 1 &amp; 2\n</K><P>x</P><P>y</P><E/></a:R>"))
    #expect(root.name == "R")
    #expect(root["K"] == "1 & 2")
    #expect(root.all("P").map(\.text) == ["x", "y"])
    #expect(root["E"] == "" && root["none"] == nil)
  }

  @Test(
    "what is not a store's reply is rejected",
    arguments: [
      "", "x", "<a>", "<a></b>", "<a/><b/>", "<a>&unknown;</a>",
      "<!DOCTYPE a [<!ENTITY e \"x\">]><a>&e;</a>", "<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>",
      String(repeating: "<a>", count: 40) + String(repeating: "</a>", count: 40),
    ])
  func refuses(_ text: String) { #expect(node(text) == nil) }

  @Test(
    "nothing behind a DOCTYPE is parsed, nor anything nested too deeply",
    arguments: [
      ("<!DOCTYPE a [<!ENTITY e \"x\">]><a>&e;</a>", .doctype),
      // The rest is invalid XML: a parser that read it would report another error.
      ("<!DOCTYPE a><a></b>\u{1}<<<", .doctype), ("<!DOCTYPE a [ <!ENTITY \u{1} ]>", .doctype),
      (String(repeating: "<a>", count: 40) + "</b><<<", .tooDeep), ("<a></b>", .malformed), ("", .malformed),
    ] as [(String, XMLNode.Refusal)])
  func stops(_ text: String, _ refusal: XMLNode.Refusal) {
    #expect(XMLNode.parse(Array(text.utf8)) == .failure(refusal))
  }

  @Test("no number in a store's reply traps or becomes a negative length")
  func extremes() {
    for text in Extremes.texts + Extremes.times {
      let text = xmlEscaped(text)
      let part =
        "<Part><PartNumber>\(text)</PartNumber><ETag>e</ETag><Size>\(text)</Size></Part>"
        + "<Part><PartNumber>1</PartNumber><ETag>e</ETag><Size>\(text)</Size></Part>"
      let parts = S3Documents.parts(
        Array(
          "<ListPartsResult><NextPartNumberMarker>\(text)</NextPartNumberMarker>\(part)</ListPartsResult>"
            .utf8))
      for part in parts?.parts ?? [] { #expect(part.size >= 0 && part.number >= 0, "\(text)") }
      let list = "<ListBucketResult><Contents><Key>a</Key><Size>\(text)</Size></Contents></ListBucketResult>"
      for object in S3Documents.page(Array(list.utf8))?.objects ?? [] {
        #expect(object.size >= 0, "\(text)")
      }
    }
  }

  @Test func bytesThatAreNoText() {
    #expect(XMLNode(parsing: [0x3C, 0x61, 0x3E, 0xFF, 0xFE, 0x3C, 0x2F, 0x61, 0x3E]) == nil)
  }

  @Test("white space before the declaration is harmless", arguments: ["", "\n", "  \n \n", "\r\n\t"])
  func whiteSpace(_ space: String) {
    let text = space + "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>QuotaExceeded</Code></Error>"
    #expect(XMLNode(parsing: Array(text.utf8))?["Code"] == "QuotaExceeded")
  }

  @Test("only uploads of exactly that name are found")
  func uploads() {
    let upload = { (key: String, id: String, at: String) in
      "<Upload><Key>\(key)</Key><UploadId>\(id)</UploadId><Initiated>\(at)</Initiated></Upload>"
    }
    let body =
      "<ListMultipartUploadsResult>" + upload("p/a", "1", "2026-01-01T00:00:00Z")
      + upload("p/ab", "2", "2026-01-03T00:00:00Z") + upload("p/a", "3", "2026-01-02T00:00:00Z")
      + "</ListMultipartUploadsResult>"
    let page = S3Documents.uploads(of: "p/a", in: Array(body.utf8))
    #expect(page?.uploads.map(\.id) == ["1", "3"] && page?.next == nil)
    #expect(S3Documents.uploads(of: "p/a", in: Array("<Error/>".utf8)) == nil)
  }

  @Test("parts are found, and the marker of the next page")
  func parts() throws {
    let body = """
      <ListPartsResult><IsTruncated>true</IsTruncated><NextPartNumberMarker>2</NextPartNumberMarker>
      <Part><PartNumber>1</PartNumber><ETag>"e"</ETag><Size>5</Size><ChecksumSHA256>c</ChecksumSHA256></Part>
      <Part><PartNumber>2</PartNumber><ETag>"f"</ETag><Size>6</Size></Part><Part><Size>7</Size></Part></ListPartsResult>
      """
    let page = try #require(S3Documents.parts(Array(body.utf8)))
    #expect(
      page.parts == [
        StoredPart(number: 1, etag: "\"e\"", size: 5, checksum: "c"),
        StoredPart(number: 2, etag: "\"f\"", size: 6, checksum: nil),
      ])
    #expect(page.next == 2)
    let without = body.replacing("<NextPartNumberMarker>2</NextPartNumberMarker>", with: "")
      .replacing(">true<", with: ">True<")
    #expect(S3Documents.parts(Array(without.utf8))?.next == 2)
    #expect(S3Documents.parts(Array(without.replacing(">True<", with: ">false<").utf8))?.next == nil)
  }
}

@Suite struct PartPlanTests {
  @Test(
    "parts cover the whole file within Amazon's limits",
    arguments: [1, 5 << 20, 5 << 20 + 1, 16 << 20, 17 << 20 + 3, 1 << 30, 100 << 30, 5 << 40, 48 << 40]
      as [Int64])
  func covers(_ size: Int64) {
    for wanted in [0, 5 << 20, 8 << 20, 64 << 20] as [Int64] {
      let plan = PartPlan(size: size, wanted: wanted)
      #expect((1...10_000).contains(plan.count))
      if size <= 4 << 40 { #expect(plan.count <= 1_000, "\(size)") }
      #expect(plan.partSize >= 5 << 20 && plan.partSize <= 5 << 30)
      var end: Int64 = 0
      for number in 1...plan.count {
        let range = plan.range(of: number)
        guard range.lowerBound == end, number == plan.count || range.count == plan.partSize else {
          Issue.record("part \(number) of \(size) is \(range)")
          return
        }
        end = range.upperBound
      }
      #expect(end == size)
    }
  }

  /// `COMPLETE_MULTIPART_MAX_LEN` of Ceph's gateway.
  @Test(
    "the body that completes an upload does not exceed Ceph's limit",
    arguments: [40 << 30, 100 << 30, 5 << 40] as [Int64])
  func completion(_ size: Int64) {
    let plan = PartPlan(size: size, wanted: 8 << 20)
    let parts = (1...plan.count).map { number in
      SentPart(
        number: number, etag: "\"\(String(repeating: "0", count: 32))\"",
        sha256: [UInt8](repeating: 0, count: 32))
    }
    let body = S3Documents.completion(parts)
    #expect(body.count < 1 << 20, "\(body.count)")
    #expect(XMLNode(parsing: body)?.all("Part").last?["ETag"] == parts.last?.etag)
  }
}
