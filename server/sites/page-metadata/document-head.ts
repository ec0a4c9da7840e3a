import { defaultTreeAdapter, Parser, type Token, type DefaultTreeAdapterTypes as Tree } from 'parse5'
import { MAX_TITLE_LENGTH } from '../../../protocol/api/publish.ts'
import { normalizeNfc } from '../../../protocol/manifest/unicode.ts'
import { attempt } from '../../lib/attempt.ts'
import { toPlainLine } from '../../lib/plain-line.ts'

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

/** Far more than any head has. */
const MAX_ELEMENTS = 10_000
const MAX_DEPTH = 100
/** Runs of characters without a space, of spaces, and of NUL: each is a token. */
const MAX_TEXTS = 80_000

const STOP_PARSING = Symbol('enough of the document was read')

class BoundedParser extends Parser<Tree.DefaultTreeAdapterMap> {
  #texts = 0

  override onCharacter(token: Token.CharacterToken): void {
    this.#count()
    super.onCharacter(token)
  }

  override onWhitespaceCharacter(token: Token.CharacterToken): void {
    this.#count()
    super.onWhitespaceCharacter(token)
  }

  override onNullCharacter(token: Token.CharacterToken): void {
    this.#count()
    super.onNullCharacter(token)
  }

  #count(): void {
    if (++this.#texts > MAX_TEXTS) throw STOP_PARSING
  }
}

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
    BoundedParser.parse(source, { treeAdapter, sourceCodeLocationInfo: true })
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

const ASCII_INCOMPATIBLE: ReadonlySet<string | undefined> = new Set(['utf-16le', 'utf-16be', 'iso-2022-jp'])

/** As browsers do (Encoding Standard; HTML, 13.2.3): byte order mark, media type, its own declaration, or undefined. */
export function detectCharset(
  bytes: Buffer,
  contentType: string,
  declared: string | undefined,
): string | undefined {
  const mark = bytes.toString('latin1', 0, 3)
  if (mark.startsWith('\xFE\xFF')) return 'utf-16be'
  if (mark.startsWith('\xFF\xFE')) return 'utf-16le'
  if (mark === '\xEF\xBB\xBF') return 'utf-8'
  return findEncoding(parseCharset(contentType)) ?? declared
}

/** Undefined when a `<meta>` with these attributes declares no known encoding. */
export function parseMetaCharset(attributes: ReadonlyMap<string, string>): string | undefined {
  const isType = attributes.get('http-equiv')?.toLowerCase() === 'content-type'
  const label =
    attributes.get('charset') ?? (isType ? parseCharset(attributes.get('content') ?? '') : undefined)
  const encoding = findEncoding(label)
  // A readable declaration cannot be UTF-16.
  return encoding?.startsWith('utf-16') ? 'utf-8' : encoding
}

export function isAsciiCompatible(charset: string | undefined): boolean {
  return !ASCII_INCOMPATIBLE.has(charset)
}

function parseCharset(contentType: string): string | undefined {
  return /charset\s*=\s*(?:["']\s*)?([^\s;"']+)/i.exec(contentType)?.[1]
}

function findEncoding(label: string | undefined): string | undefined {
  return label === undefined ? undefined : attempt(() => new TextDecoder(label).encoding)
}

export interface DocumentSummary {
  title: string | null
  /** Paths on the site, the largest first. The icons may not exist. */
  icons: string[]
}

/** Of a document. The time to parse a link grows with the square of its length. */
const MAX_ICONS = 20
const MAX_HREF_LENGTH = 600

/** An origin that no link can name by accident. */
const SITE_ORIGIN = 'http://site.invalid'

/** `bytes` are the first ones of the document at `path`. */
export function summarizeDocument(bytes: Buffer, contentType: string, path: string): DocumentSummary {
  const text = new TextDecoder(findCharset(bytes, contentType)).decode(bytes)
  const elements = parseHead(text).head.childNodes.filter((node) => 'tagName' in node)
  const title = elements.find(({ tagName }) => tagName === 'title')
  const base = elements.find(({ tagName }) => tagName === 'base')
  const documentUrl = new URL(path.split('/').map(encodeURIComponent).join('/'), SITE_ORIGIN).href
  const baseUrl = (base && parseHref(base, documentUrl)?.href) ?? documentUrl
  return {
    title: title ? readTitle(title) : null,
    icons: elements
      .filter(isIcon)
      .slice(0, MAX_ICONS)
      .map((element) => ({ element, size: iconSize(element) }))
      .toSorted((a, b) => b.size - a.size)
      .flatMap(({ element }) => sitePath(parseHref(element, baseUrl)) ?? []),
  }
}

/** Undeclared text is UTF-8, as most of it is. */
function findCharset(bytes: Buffer, contentType: string): string {
  const { elements } = parseHead(bytes.toString('latin1', 0, CHARSET_SCAN_BYTES))
  const declared = elements.map((element) => parseMetaCharset(readAttributes(element))).find(Boolean)
  return detectCharset(bytes, contentType, declared) ?? 'utf-8'
}

function readTitle({ childNodes }: Tree.Element): string | null {
  const text = childNodes.map((node) => ('value' in node ? node.value : '')).join('')
  return toPlainLine(text, MAX_TITLE_LENGTH) || null
}

function isIcon(element: Tree.Element): boolean {
  if (element.tagName !== 'link') return false
  const kinds = readAttributes(element).get('rel')?.toLowerCase().split(/\s+/) ?? []
  return kinds.includes('icon') || kinds.includes('apple-touch-icon')
}

/** Width in pixels; an icon without one is small, unless it scales. */
function iconSize(element: Tree.Element): number {
  const attributes = readAttributes(element)
  const [sizes = '', href = '', rel = ''] = ['sizes', 'href', 'rel'].map((name) => attributes.get(name))
  if (sizes.toLowerCase() === 'any' || /\.svg$/i.test(href)) return Number.POSITIVE_INFINITY
  return Number(/^\d{1,4}(?=x)/i.exec(sizes)?.[0] ?? (/apple/i.test(rel) ? 180 : 16))
}

/** Null without a link, or for one that is longer than those to files. */
function parseHref(element: Tree.Element, baseUrl: string): URL | null {
  const href = readAttributes(element).get('href')
  return href && href.length <= MAX_HREF_LENGTH ? URL.parse(href, baseUrl) : null
}

/** Undefined when the link leads elsewhere. */
function sitePath(url: URL | null): string | undefined {
  if (url?.origin !== SITE_ORIGIN) return undefined
  return attempt(() => normalizeNfc(decodeURIComponent(url.pathname.slice(1))))
}
