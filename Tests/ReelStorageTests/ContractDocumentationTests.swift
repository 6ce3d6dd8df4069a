import Foundation
import ReelStorageTesting
import Testing
import ReelTestSupport

/// `docs/adding-an-uploader.md` names every contract test and no others.
@Suite struct ContractDocumentationTests {
  @Test func everyPromiseHasItsRowAndNoOther() throws {
    let project = Checkout.root
    let page = try String(
      contentsOf: project.appending(path: "docs/adding-an-uploader.md"), encoding: .utf8)
    let rows = UploaderContractTest.all.map { "| `\($0.name)` | \($0.sentence) |\n" }.joined()
    let table = "| test | what must hold |\n| --- | --- |\n" + rows
    #expect(page.contains("\n" + table + "\n"), "the table is:\n\(table)")
  }
}
