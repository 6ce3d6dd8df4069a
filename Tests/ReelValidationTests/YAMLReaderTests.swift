import ReelTestSupport
import ReelValidation
import Testing

@Suite("YAML") struct YAMLReaderTests {
  /// `text` as one line: each value with its position, and texts that were quoted in quotes.
  private func shape(_ node: YAMLNode) -> String {
    let shown =
      switch node.content {
      case .scalar(let text): node.isText ? "'\(text)'" : text
      case .sequence(let items): "[" + items.map(shape).joined(separator: " ") + "]"
      case .mapping(let pairs):
        "{" + pairs.map { shape($0.key) + "=" + shape($0.value) }.joined(separator: " ") + "}"
      }
    return "\(shown)@\(node.mark.line):\(node.mark.column)"
  }

  private func read(_ text: String) throws -> String? {
    try YAMLReader.document(in: text).map(shape)
  }

  @Test(
    "a text is parsed into a tree with positions",
    arguments: [
      ("", nil), ("\n", nil), ("# nothing\n", nil), ("---\n", "@2:1"), ("a", "a@1:1"),
      ("a: 1\nb:\n  - x\n  - {c: }\n", "{a@1:1=1@1:4 b@2:1=[x@3:5 {c@4:6=@4:9}@4:5]@3:3}@1:1"),
      ("[a, [b], ~]", "[a@1:2 [b@1:6]@1:5 ~@1:10]@1:1"),
      ("'1': \"true\"", "{'1'@1:1='true'@1:6}@1:1"), ("a: !!str 12", "{a@1:1='12'@1:4}@1:1"),
      ("a: ! 'true'", "{a@1:1=true@1:4}@1:1"), ("a: !!int 1_0", "{a@1:1=1_0@1:4}@1:1"),
      ("a: |\n  b\n  c\n", "{a@1:1='b\nc\n'@1:4}@1:1"), ("a: >\n  b\n  c", "{a@1:1='b c'@1:4}@1:1"),
      ("\"\\x41\\0\\u00e9\"", "'A\0é'@1:1"), ("%YAML 1.1\n---\na\n...\n", "a@3:1"),
      ("é: ü", "{é@1:1=ü@1:4}@1:1"), ("a: 1\r\nb: 2\r\n", "{a@1:1=1@1:4 b@2:1=2@2:4}@1:1"),
      ("\u{FEFF}a: 1", "{a@1:2=1@1:5}@1:2"), ("- \u{FEFF}a", "[a@1:3]@1:1"),
      ("? [a]\n: b", "{[a@1:4]@1:3=b@2:3}@1:1"),
      ("a: &x [1]\nb: *x\n", "{a@1:1=[1@1:8]@1:4 b@2:1=[1@1:8]@1:4}@1:1"),
    ] as [(String, String?)])
  func trees(text: String, expected: String?) throws {
    let shape = try read(text)
    #expect(shape == expected, "\(shape ?? "nothing")")
  }

  @Test(
    "invalid YAML is reported with its position",
    arguments: [
      ("author: [unclosed\n", "2:1: it is not YAML: did not find expected ',' or ']'"),
      ("a: b: c", "1:5: it is not YAML: mapping values are not allowed in this context"),
      (
        "a: 1\n---\nb",
        "2:1: it is not YAML: expected a single document in the stream but found another document"
      ),
      (
        "a: *x",
        "1:4: it is not YAML: found undefined alias; a pattern that begins with * stands in quotes: \"*.mov\""
      ),
      ("ok: 1\nauthor: é😀\u{7}b\n", "2:11: it is not text: control characters are not allowed"),
      ("b: 1\na: 2\nb: 3\na: 4", "2:1: this key appears twice: a, b; keep one"),
    ])
  func mistakes(text: String, told: String) {
    #expect(problem(text) == told)
  }

  @Test(
    "anchors can be refused; quoted text contains none",
    arguments: [("a: &b c", "1:4"), ("- &a\n- *a", "1:3"), ("&k a: 1", "1:1"), ("a: '&b c'\nd: e & f", nil)])
  func anchors(text: String, place: String?) {
    do throws(YAMLError) {
      _ = try YAMLReader.document(in: text, allowsAnchors: false)
      #expect(place == nil)
    } catch {
      #expect(error.description.hasPrefix("\(place ?? "nothing"): anchors (&name) "), "\(error)")
    }
  }

  @Test("a key is the same however it is quoted; another value is another key")
  func keys() throws {
    #expect(problem("a: 1\n\"a\": 2") == "1:1: this key appears twice: a; keep one")
    #expect(
      problem("? [a]\n: 1\n? [a]\n: 2") == "1:3: this key appears twice: a list or more keys; keep one")
    #expect(try YAMLReader.document(in: "? [a]\n: 1\n? [b]\n: 2\n? a\n: 3")?.mapping?.count == 3)
  }

  @Test("64 levels are read, and one more is an error", arguments: ["[", "{a: ", "- ", "? "])
  func depth(opening: String) throws {
    func nest(_ levels: Int) -> String {
      let closing = ["[": "]", "{a: ": "}"][opening] ?? ""
      return String(repeating: opening, count: levels) + "x" + String(repeating: closing, count: levels)
    }
    #expect(try YAMLReader.document(in: nest(YAMLReader.deepest - 1)) != nil)
    #expect(problem(nest(YAMLReader.deepest))?.contains("nested more than 64 levels deep") == true)
    let bomb = problem(nest(100_000))
    #expect(bomb?.contains("nested more than 64 levels deep") == true, "\(bomb?.prefix(200) ?? "")")
  }

  @Test("any text is a tree or an error with a message", arguments: 0..<20)
  func anyText(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let words = [
      "a", ":", "\n", "  ", "- ", "[", "]", "{", "}", "b: ", "*a", "&a ", "!!str ", "\"", "'", "|", ">", "#",
      "? ", "---", "...", "%YAML 1.1", "\u{2028}", "\0", "\t", "~", "<<", "é", ",", "\r", "\u{FEFF}", "\\",
    ]
    for _ in 0..<200 {
      let text = (0..<random.next() % 40).map { _ in words[Int(random.next() % UInt64(words.count))] }
        .joined()
      _ = problem(text)
    }
  }

  private func problem(_ text: String) -> String? {
    do throws(YAMLError) {
      _ = try YAMLReader.document(in: text)
      return nil
    } catch {
      return error.description
    }
  }
}
