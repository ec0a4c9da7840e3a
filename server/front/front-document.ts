import { defaultTreeAdapter, parse, type DefaultTreeAdapterTypes as Tree } from 'parse5'
import { escapeHtml } from '../html.ts'
import { charsetOfDocument, charsetOfMeta, isOverAscii } from './document-charset.ts'

/** What is to stand in the head of a document; null leaves what it has. */
export interface HeadWish {
  title: string | null
  description: string | null
  /** A full address. */
  image: string | null
}

/** What a parser finds in a document up to its body, or a little further. */
interface Opening {
  doctype: Tree.DocumentType | undefined
  html: Tree.Element
  head: Tree.Element
  /** Every `<title>` and `<meta>`, in their order. */
  found: Tree.Element[]
}

/** How far a browser looks for `<meta charset>`, in bytes (HTML, 4.2.5.4). */
const CHARSET_WITHIN = 1024

/** How far a head is looked for, in bytes: visitors wait while a parser reads. */
const HEAD_WITHIN = 256 * 1024

/** Elements that are read, and how many of them inside one another: far more than any head has. */
const MOST_ELEMENTS = 10_000
const MOST_DEPTH = 100

const ENOUGH = Symbol('enough of the document was read')

/**
 * The document with these in its head, in place of what it has of them, and with every other byte as it was; undefined
 * when its encoding has no room for ASCII. Only the head is looked at: what stands in the body, a template, a comment
 * or a script is not said of the document.
 */
export function frontOf(bytes: Buffer, wish: HeadWish, contentType: string): Buffer | undefined {
  const mark = bytes.subarray(0, 3).equals(Buffer.from('\uFEFF')) ? 3 : 0
  // A character for each byte, so that the parser's places are those of the bytes.
  const opening = openingOf(bytes.toString('latin1', mark, mark + HEAD_WITHIN))
  const declaration = opening.found.find((element) => charsetOfMeta(attributesOf(element)))
  const declared = declaration && charsetOfMeta(attributesOf(declaration))
  const charset = charsetOfDocument(bytes, contentType, declared)
  if (!isOverAscii(charset)) return undefined
  const inHead = opening.found.filter((element) => element.parentNode === opening.head)
  const { true: replaced = [], false: kept = [] } = Object.groupBy(
    inHead,
    (element) => `${isReplaced(element, wish)}`,
  )
  // What is put in comes after the declaration, or begins with it: a browser looks for it at the very start only.
  const first = kept.find((element) => element === declaration)
  const tags = [...(declared && !first ? [`<meta charset="${declared}">`] : []), ...tagsFor(wish, kept)]
  const text = tags.map((tag) => `\n${tag}`).join('')
  return spliced(bytes, mark, {
    at: first ? endOf(first) : startOfHead(opening),
    text: Buffer.from(charset === 'utf-8' ? text : inAscii(text)),
    without: replaced.map((element) => element.sourceCodeLocation!),
  })
}

/** Reads no further than it must: what follows may be long, and a trap for parsers. */
function openingOf(source: string): Opening {
  const found: Tree.Element[] = []
  const document = defaultTreeAdapter.createDocument()
  let elements = 0
  let depth = 0
  let inBody = false
  const treeAdapter: typeof defaultTreeAdapter = {
    ...defaultTreeAdapter,
    createDocument: () => document,
    onElementCreated(element, { isInTemplate }) {
      if (++elements > MOST_ELEMENTS) throw ENOUGH
      if (isInTemplate) return
      if (element.tagName === 'title' || element.tagName === 'meta') found.push(element)
      if (element.tagName === 'body' || element.tagName === 'frameset') inBody = true
    },
    setNodeSourceCodeLocation(node, location) {
      defaultTreeAdapter.setNodeSourceCodeLocation(node, location)
      if (inBody && location && location.startOffset >= CHARSET_WITHIN) throw ENOUGH
    },
    onItemPush() {
      if (++depth > MOST_DEPTH) throw ENOUGH
    },
    onItemPop() {
      depth--
    },
  }
  try {
    parse(source, { treeAdapter, sourceCodeLocationInfo: true })
  } catch (error) {
    if (error !== ENOUGH) throw error
  }
  const html = elementIn(document, 'html')
  const doctype = document.childNodes.find((node) => node.nodeName === '#documentType')
  return {
    doctype: doctype as Tree.DocumentType | undefined,
    html,
    head: elementIn(html, 'head'),
    // Without the one at which reading ended.
    found: found.filter((element) => element.parentNode),
  }
}

function elementIn(parent: Tree.ParentNode, name: string): Tree.Element {
  return parent.childNodes.find((node) => node.nodeName === name) as Tree.Element
}

function attributesOf({ attrs }: Tree.Element): Map<string, string> {
  return new Map(attrs.map(({ name, value }) => [name, value]))
}

/** What a `<meta>` is about: Open Graph says it in `property`, all else in `name`, and many pages in either. */
function subjectsOf(element: Tree.Element): string[] {
  const attributes = attributesOf(element)
  return `${attributes.get('property') ?? ''} ${attributes.get('name') ?? ''}`.toLowerCase().split(/\s+/)
}

/** What is read as the same by those who show previews goes too, and what describes the picture that was there. */
function isReplaced(element: Tree.Element, { title, description, image }: HeadWish): boolean {
  if (element.tagName === 'title') return title !== null
  return subjectsOf(element).some(
    (subject) =>
      (title !== null && /^(og|twitter):title$/.test(subject)) ||
      (description !== null && /^((og|twitter):)?description$/.test(subject)) ||
      (image !== null && /^(og|twitter):image(:|$)/.test(subject)),
  )
}

function tagsFor({ title, description, image }: HeadWish, kept: readonly Tree.Element[]): string[] {
  const card = kept.some((element) => subjectsOf(element).includes('twitter:card'))
  return [
    ...(title === null ? [] : [`<title>${escaped(title)}</title>`, meta('property', 'og:title', title)]),
    ...(description === null
      ? []
      : [meta('name', 'description', description), meta('property', 'og:description', description)]),
    ...(image === null ? [] : [meta('property', 'og:image', image)]),
    ...(image === null || card ? [] : [meta('name', 'twitter:card', 'summary_large_image')]),
  ]
}

function meta(kind: 'name' | 'property', subject: string, content: string): string {
  return `<meta ${kind}="${subject}" content="${escaped(content)}">`
}

/** A control character says nothing in a head. */
function escaped(text: string): string {
  return escapeHtml(text.toWellFormed().replace(/\p{Cc}/gu, ' '))
}

/** The same text in markup of any encoding that has ASCII in it. */
function inAscii(text: string): string {
  return text.replace(/\P{ASCII}/gu, (character) => `&#${character.codePointAt(0)};`)
}

/** Where a head begins, whether its tag is written or not. */
function startOfHead({ doctype, html, head }: Opening): number {
  const tag = head.sourceCodeLocation?.startTag ?? html.sourceCodeLocation?.startTag
  return tag?.endOffset ?? (doctype && endOf(doctype)) ?? 0
}

function endOf({ sourceCodeLocation }: Tree.Element | Tree.DocumentType): number {
  return sourceCodeLocation!.endOffset
}

interface Splice {
  at: number
  text: Buffer
  without: { startOffset: number; endOffset: number }[]
}

/** `text` at its place and without the others, which lie apart and in order; all places are counted from the mark on. */
function spliced(bytes: Buffer, mark: number, { at, text, without }: Splice): Buffer {
  const before = without.filter((cut) => cut.startOffset < at)
  const pieces: Buffer[] = []
  let done = 0
  const pass = (from: number, to: number) => {
    pieces.push(bytes.subarray(done, mark + from))
    done = mark + to
  }
  for (const cut of before) pass(cut.startOffset, cut.endOffset)
  pass(at, at)
  pieces.push(text)
  for (const cut of without.slice(before.length)) pass(cut.startOffset, cut.endOffset)
  return Buffer.concat([...pieces, bytes.subarray(done)])
}
