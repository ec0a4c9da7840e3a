import type { SiteDetails } from '../../client/wire.ts'
import { slipway } from '../api/slipway.ts'
import { headTags } from './head-tags.ts'

/** What a document says of itself to those who show a link to it; null where it says nothing. */
export interface OwnWords {
  title: string | null
  description: string | null
  /** An address, as it stands there. */
  image: string | null
}

export const SILENT: OwnWords = { title: null, description: null, image: null }

/** The document that stands at the root of a site. */
const ROOT = 'index.html'

/** Bytes of it that are read. */
const WITHIN = 256 * 1024

/** Characters of anything it says that are kept. */
const LONGEST = 2000

export function hasRootDocument({ files }: Pick<SiteDetails, 'files'>): boolean {
  return files.some(({ path }) => path === ROOT)
}

/** What the root document says of itself, as messengers read it. One request of the API. */
export async function ownWords(slug: string): Promise<OwnWords> {
  const { contentType, bytes } = await slipway.file(slug, ROOT)
  const document = await opening(bytes())
  return wordsIn(decoded(document, contentType ?? ''))
}

async function opening(bytes: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const read = new Uint8Array(WITHIN)
  let length = 0
  for await (const piece of bytes) {
    const fits = piece.subarray(0, WITHIN - length)
    read.set(fits, length)
    length += fits.length
    if (length === WITHIN) break
  }
  return read.subarray(0, length)
}

function decoded(document: Uint8Array, contentType: string): string {
  const start = new TextDecoder('latin1').decode(document.subarray(0, 1024))
  const label = charsetIn(contentType) ?? charsetIn(start) ?? 'utf-8'
  try {
    return new TextDecoder(label).decode(document)
  } catch {
    return new TextDecoder().decode(document)
  }
}

function charsetIn(text: string): string | undefined {
  return /charset\s*=\s*["']?\s*([\w-]+)/i.exec(text)?.[1]
}

function wordsIn(html: string): OwnWords {
  const { head } = new DOMParser().parseFromString(headTags(html), 'text/html')
  const said = new Map<string, string>()
  for (const meta of head.querySelectorAll('meta')) {
    const subject = (meta.getAttribute('property') ?? meta.getAttribute('name') ?? '').toLowerCase()
    const text = plain(meta.content)
    if (text && !said.has(subject)) said.set(subject, text)
  }
  const title = plain(head.querySelector('title')?.textContent ?? '')
  return {
    title: (said.get('og:title') ?? title) || null,
    description: said.get('og:description') ?? said.get('description') ?? null,
    image: said.get('og:image') ?? said.get('twitter:image') ?? null,
  }
}

function plain(text: string): string {
  return text.slice(0, LONGEST).replace(/\s+/g, ' ').trim()
}
