import type { DefaultTreeAdapterTypes as Tree } from 'parse5'
import { MAX_HEAD_BYTES } from '../../../protocol/api/publish.ts'
import { escapeHtml } from '../../lib/html.ts'
import {
  type DocumentHead,
  detectCharset,
  isAsciiCompatible,
  parseHead,
  parseMetaCharset,
  readAttributes,
} from './document-head.ts'

/** Null leaves the tags of the document. */
export interface HeadTags {
  title: string | null
  description: string | null
  image: string | null
}

/** The bytes of the document from `tailStart` follow `head`. */
type NewHead = ReturnType<typeof splice>

/** Changes no other byte of the document, and only its head; undefined when the encoding is not ASCII-compatible. */
export function injectHeadTags(bytes: Buffer, headTags: HeadTags, contentType: string): NewHead | undefined {
  const mark = bytes.subarray(0, 3).equals(Buffer.from('\uFEFF')) ? 3 : 0
  // One character per byte, so that the parser's positions are byte offsets.
  const opening = parseHead(bytes.toString('latin1', mark, mark + MAX_HEAD_BYTES))
  const declaration = opening.elements.find((element) => parseMetaCharset(readAttributes(element)))
  const declared = declaration && parseMetaCharset(readAttributes(declaration))
  const charset = detectCharset(bytes, contentType, declared)
  if (!isAsciiCompatible(charset)) return undefined
  const inHead = opening.elements.filter((element) => element.parentNode === opening.head)
  const { true: replaced = [], false: kept = [] } = Object.groupBy(
    inHead,
    (element) => `${isReplacedBy(element, headTags)}`,
  )
  // Tags are inserted after the charset declaration, or with it at the start: browsers search for it only there.
  const first = kept.find((element) => element === declaration)
  const tags = [...(declared && !first ? [`<meta charset="${declared}">`] : []), ...buildTags(headTags, kept)]
  const text = tags.map((tag) => `\n${tag}`).join('')
  return splice(bytes, mark, {
    at: first ? endOffset(first) : headOffset(opening),
    text: Buffer.from(charset === 'utf-8' ? text : toAsciiMarkup(text)),
    removals: replaced.map((element) => element.sourceCodeLocation!),
  })
}

/** Open Graph uses `property`, everything else `name`, and many pages either. */
function readSubjects(element: Tree.Element): string[] {
  const attributes = readAttributes(element)
  return `${attributes.get('property') ?? ''} ${attributes.get('name') ?? ''}`.toLowerCase().split(/\s+/)
}

/** Also removes equivalents that previews read, and properties of a replaced image. */
function isReplacedBy(element: Tree.Element, { title, description, image }: HeadTags): boolean {
  if (element.tagName === 'title') return title !== null
  return readSubjects(element).some(
    (subject) =>
      (title !== null && /^(og|twitter):title$/.test(subject)) ||
      (description !== null && /^((og|twitter):)?description$/.test(subject)) ||
      (image !== null && /^(og|twitter):image(:|$)/.test(subject)),
  )
}

function buildTags({ title, description, image }: HeadTags, kept: readonly Tree.Element[]): string[] {
  const card = kept.some((element) => readSubjects(element).includes('twitter:card'))
  return [
    ...(title === null
      ? []
      : [`<title>${escapeContent(title)}</title>`, meta('property', 'og:title', title)]),
    ...(description === null
      ? []
      : [meta('name', 'description', description), meta('property', 'og:description', description)]),
    ...(image === null ? [] : [meta('property', 'og:image', image)]),
    ...(image === null || card ? [] : [meta('name', 'twitter:card', 'summary_large_image')]),
  ]
}

function meta(kind: 'name' | 'property', subject: string, content: string): string {
  return `<meta ${kind}="${subject}" content="${escapeContent(content)}">`
}

function escapeContent(text: string): string {
  return escapeHtml(text.toWellFormed().replace(/\p{Cc}/gu, ' '))
}

/** Character references, valid in any ASCII-compatible encoding. */
function toAsciiMarkup(text: string): string {
  return text.replace(/\P{ASCII}/gu, (character) => `&#${character.codePointAt(0)};`)
}

/** The start of the head, whether its tag is written or implied. */
function headOffset({ doctype, html, head }: DocumentHead): number {
  const tag = head.sourceCodeLocation?.startTag ?? html.sourceCodeLocation?.startTag
  return tag?.endOffset ?? (doctype && endOffset(doctype)) ?? 0
}

function endOffset({ sourceCodeLocation }: Tree.Element | Tree.DocumentType): number {
  return sourceCodeLocation!.endOffset
}

interface SpliceEdit {
  at: number
  text: Buffer
  removals: { startOffset: number; endOffset: number }[]
}

/** Inserts `text` and removes ranges that are disjoint and in order; all offsets are relative to the mark. */
function splice(bytes: Buffer, mark: number, { at, text, removals }: SpliceEdit) {
  const before = removals.filter((cut) => cut.startOffset < at)
  const pieces: Buffer[] = []
  let done = 0
  const pass = (from: number, to: number) => {
    pieces.push(bytes.subarray(done, mark + from))
    done = mark + to
  }
  for (const cut of before) pass(cut.startOffset, cut.endOffset)
  pass(at, at)
  pieces.push(text)
  for (const cut of removals.slice(before.length)) pass(cut.startOffset, cut.endOffset)
  return { head: Buffer.concat(pieces), tailStart: done }
}
