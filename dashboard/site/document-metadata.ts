import { MAX_HEAD_BYTES } from '../../protocol/api/publish.ts'
import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import { truncate } from '../../protocol/format.ts'
import { slipway } from '../api/slipway.ts'
import { extractHeadTags } from './head-tags.ts'

/** A document's own metadata for link previews; null where absent. */
export interface DocumentMetadata {
  title: string | null
  description: string | null
  /** A URL, as in the document. */
  image: string | null
}

export const EMPTY_METADATA: DocumentMetadata = { title: null, description: null, image: null }

/** The root document of a site. */
const ROOT = 'index.html'

/** Maximum length of a value in characters. */
const MAX_TEXT_LENGTH = 2000

export function hasRootDocument({ files }: Pick<SiteDetails, 'files'>): boolean {
  return files.some(({ path }) => path === ROOT)
}

/** The root document's own metadata, as link previews read it. Costs one API request. */
export async function readDocumentMetadata(slug: string): Promise<DocumentMetadata> {
  const { contentType, bytes } = await slipway.file(slug, ROOT)
  const document = await readHead(bytes())
  return extractMetadata(decoded(document, contentType ?? ''))
}

async function readHead(bytes: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const read = new Uint8Array(MAX_HEAD_BYTES)
  let length = 0
  for await (const piece of bytes) {
    const fits = piece.subarray(0, MAX_HEAD_BYTES - length)
    read.set(fits, length)
    length += fits.length
    if (length === MAX_HEAD_BYTES) break
  }
  return read.subarray(0, length)
}

function decoded(document: Uint8Array, contentType: string): string {
  const start = new TextDecoder('latin1').decode(document.subarray(0, 1024))
  const label = findCharset(contentType) ?? findCharset(start) ?? 'utf-8'
  try {
    return new TextDecoder(label).decode(document)
  } catch {
    return new TextDecoder().decode(document)
  }
}

function findCharset(text: string): string | undefined {
  return /charset\s*=\s*(?:["']\s*)?([\w-]+)/i.exec(text)?.[1]
}

function extractMetadata(html: string): DocumentMetadata {
  const { head } = new DOMParser().parseFromString(extractHeadTags(html), 'text/html')
  const values = new Map<string, string>()
  for (const meta of head.querySelectorAll('meta')) {
    const subject = (meta.getAttribute('property') ?? meta.getAttribute('name') ?? '').toLowerCase()
    const text = normalizeText(meta.content)
    if (text && !values.has(subject)) values.set(subject, text)
  }
  const title = normalizeText(head.querySelector('title')?.textContent ?? '')
  return {
    title: (values.get('og:title') ?? title) || null,
    description: values.get('og:description') ?? values.get('description') ?? null,
    image: values.get('og:image') ?? values.get('twitter:image') ?? null,
  }
}

function normalizeText(text: string): string {
  return truncate(text, MAX_TEXT_LENGTH).replace(/\s+/g, ' ').trim()
}
