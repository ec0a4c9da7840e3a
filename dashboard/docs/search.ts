import type { DocsSection } from '../../protocol/docs-section.ts'

/** The most results that are shown. */
const MAX_RESULTS = 20

/** Characters of the text around the first word that was found. */
const EXCERPT_LENGTH = 160

export interface Result extends DocsSection {
  /** The part of the text that has the first word. */
  excerpt: string
}

/**
 * The sections that have all words of a text: those whose title is the text, begins with a word of it or has most of the
 * words first, guides before operations of the API, and then by how early the words occur. Empty for a text without words.
 */
export function search(entries: readonly DocsSection[], text: string): Result[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return []
  return entries
    .flatMap((entry) => {
      const [title, body] = [entry.title.toLowerCase(), entry.text.toLowerCase()]
      const places = words.map((word) => body.indexOf(word))
      const inTitle = words.filter((word) => title.includes(word)).length
      if (!words.every((word, index) => title.includes(word) || places[index]! >= 0)) return []
      const first = Math.max(0, Math.min(...places.map((place) => (place < 0 ? Infinity : place))))
      const at = Number.isFinite(first) ? first : 0
      const exact = title === words.join(' ') ? 2 : words.some((word) => title.startsWith(word)) ? 1 : 0
      const rank = [-exact, -inTitle, entry.page === 'api' ? 1 : 0, at] as const
      return [{ entry, rank, at }]
    })
    .sort(({ rank: a }, { rank: b }) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2] || a[3] - b[3])
    .slice(0, MAX_RESULTS)
    .map(({ entry, at }) => ({ ...entry, excerpt: excerpt(entry.text, at) }))
}

/** The text around a place, cut at spaces. */
function excerpt(text: string, at: number): string {
  const start = at < EXCERPT_LENGTH / 2 ? 0 : text.indexOf(' ', at - EXCERPT_LENGTH / 2) + 1
  const end =
    text.length - start <= EXCERPT_LENGTH ? text.length : text.lastIndexOf(' ', start + EXCERPT_LENGTH)
  return `${start > 0 ? '… ' : ''}${text.slice(start, end)}${end < text.length ? ' …' : ''}`
}
