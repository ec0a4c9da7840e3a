import type { DefaultTreeAdapterTypes as Tree } from 'parse5'
import { MAX_TITLE_LENGTH } from '../../../protocol/api/publish.ts'
import { toPlainLine } from '../../lib/plain-line.ts'
import {
  CHARSET_SCAN_BYTES,
  detectCharset,
  parseHead,
  parseMetaCharset,
  readAttributes,
} from './document-head.ts'

export { MAX_HEAD_BYTES } from './document-head.ts'

export interface DocumentSummary {
  title: string | null
  /** Paths on the site, the largest first. The icons may not exist. */
  icons: string[]
}

/** An origin that no link can name by accident. */
const SITE_ORIGIN = 'http://site.invalid'

/** `bytes` are the first ones of the document at `path`. */
export function summarizeDocument(bytes: Buffer, contentType: string, path: string): DocumentSummary {
  const text = new TextDecoder(findCharset(bytes, contentType)).decode(bytes)
  const elements = parseHead(text).head.childNodes.filter((node) => 'tagName' in node)
  const title = elements.find(({ tagName }) => tagName === 'title')
  const base = elements.find(({ tagName }) => tagName === 'base')
  const documentUrl = new URL(path.split('/').map(encodeURIComponent).join('/'), SITE_ORIGIN).href
  const baseHref = base && readAttributes(base).get('href')
  const baseUrl = URL.parse(baseHref ?? '', documentUrl)?.href ?? documentUrl
  return {
    title: title ? readTitle(title) : null,
    icons: elements
      .filter(isIcon)
      .toSorted((a, b) => iconSize(b) - iconSize(a))
      .flatMap((element) => sitePath(readAttributes(element).get('href'), baseUrl) ?? []),
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
  const { sizes = '', href = '', rel = '' } = Object.fromEntries(readAttributes(element))
  if (sizes.toLowerCase() === 'any' || /\.svg$/i.test(href)) return Number.POSITIVE_INFINITY
  return Number(/^\d{1,4}(?=x)/i.exec(sizes)?.[0] ?? (/apple/i.test(rel) ? 180 : 16))
}

/** Undefined when the link leads elsewhere. */
function sitePath(href: string | undefined, baseUrl: string): string | undefined {
  const url = href ? URL.parse(href, baseUrl) : null
  if (url?.origin !== SITE_ORIGIN) return undefined
  try {
    return decodeURIComponent(url.pathname.slice(1)).normalize()
  } catch {
    return undefined
  }
}
