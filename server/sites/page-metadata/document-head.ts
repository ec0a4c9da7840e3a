import { defaultTreeAdapter, parse, type DefaultTreeAdapterTypes as Tree } from 'parse5'

/** What a parser finds in a document up to its body, or a little further. */
export interface DocumentHead {
  doctype: Tree.DocumentType | undefined
  html: Tree.Element
  head: Tree.Element
  /** All `<title>` and `<meta>` elements, in order. */
  elements: Tree.Element[]
}

/** Browsers search for `<meta charset>` up to here (HTML, 4.2.5.4). */
export const CHARSET_SCAN_BYTES = 1024

/** Visitors wait for the parser. */
export const MAX_HEAD_BYTES = 256 * 1024

/** Far more than any head has. */
const MAX_ELEMENTS = 10_000
const MAX_DEPTH = 100

const STOP_PARSING = Symbol('enough of the document was read')

/** Stops as early as possible: the rest may be long, and hostile to parsers. */
export function parseHead(source: string): DocumentHead {
  const found: Tree.Element[] = []
  const document = defaultTreeAdapter.createDocument()
  let elements = 0
  let depth = 0
  let inBody = false
  const treeAdapter: typeof defaultTreeAdapter = {
    ...defaultTreeAdapter,
    createDocument: () => document,
    onElementCreated(element, { isInTemplate }) {
      if (++elements > MAX_ELEMENTS) throw STOP_PARSING
      if (isInTemplate) return
      if (element.tagName === 'title' || element.tagName === 'meta') found.push(element)
      if (element.tagName === 'body' || element.tagName === 'frameset') inBody = true
    },
    setNodeSourceCodeLocation(node, location) {
      defaultTreeAdapter.setNodeSourceCodeLocation(node, location)
      if (inBody && location && location.startOffset >= CHARSET_SCAN_BYTES) throw STOP_PARSING
    },
    onItemPush() {
      if (++depth > MAX_DEPTH) throw STOP_PARSING
    },
    onItemPop() {
      depth--
    },
  }
  try {
    parse(source, { treeAdapter, sourceCodeLocationInfo: true })
  } catch (error) {
    if (error !== STOP_PARSING) throw error
  }
  const html = findElement(document, 'html')
  const doctype = document.childNodes.find((node) => node.nodeName === '#documentType')
  return {
    doctype: doctype as Tree.DocumentType | undefined,
    html,
    head: findElement(html, 'head'),
    // Without the element at which parsing stopped.
    elements: found.filter((element) => element.parentNode),
  }
}

function findElement(parent: Tree.ParentNode, name: string): Tree.Element {
  return parent.childNodes.find((node) => node.nodeName === name) as Tree.Element
}

export function readAttributes({ attrs }: Tree.Element): Map<string, string> {
  return new Map(attrs.map(({ name, value }) => [name, value]))
}
