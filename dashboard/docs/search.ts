import type { DocsSection } from '../../protocol/docs-section.ts'

/** The most results that are shown. */
const MAX_RESULTS = 20

/** Characters of the text around the first word that was found. */
const EXCERPT_LENGTH = 160

/** More mentions of a word do not make a section a better result: a long table mentions every word. */
const MAX_MENTIONS = 3

const STOP_WORDS = new Set(
  'a an and are at be can do does for from how i in is it long me my of on or our the their to what when where which why with your'.split(
    ' ',
  ),
)

export interface Result extends DocsSection {
  /** The part of the text that has the first word. */
  excerpt: string
}

/**
 * The sections that have all words of a text that matter: the one whose title is the text, such as an error code, then guides,
 * operations of the API and errors, each by how well titles and text match. Empty for a text without words.
 */
export function search(entries: readonly DocsSection[], text: string): Result[] {
  const words = wantedWords(text)
  if (words.length === 0) return []
  const pageTitles = new Map(entries.filter(({ id }) => id === '').map(({ page, title }) => [page, title]))
  return entries
    .flatMap((entry) => {
      const matches = words.map((word) => matchWord(word, entry, pageTitles.get(entry.page)))
      if (matches.some(({ score }) => score === 0)) return []
      const isExact = entry.title.toLowerCase() === text.trim().toLowerCase()
      const score = matches.reduce((sum, match) => sum + match.score, 0)
      const at = Math.min(...matches.map((match) => match.at))
      return [{ entry, rank: [isExact ? 0 : 1, kind(entry), -score], at: Number.isFinite(at) ? at : 0 }]
    })
    .sort(({ rank: a }, { rank: b }) => a[0]! - b[0]! || a[1]! - b[1]! || a[2]! - b[2]!)
    .slice(0, MAX_RESULTS)
    .map(({ entry, at }) => ({ ...entry, excerpt: excerpt(entry.text, at) }))
}

/** Guides come first: a reader who searches for a task has no error yet. */
function kind({ page }: DocsSection): number {
  return page === 'errors' ? 2 : page === 'api' ? 1 : 0
}

/** 0 without the word. The beginning of a word counts more than letters inside one, a title more than its text. */
function matchWord(word: string, entry: DocsSection, pageTitle = ''): { score: number; at: number } {
  const stem = word.replace(/^(.{4,}?)(?:ing|ed|es|s|e|y)$/, '$1')
  const isForm = (other: string) => (stem.length < 4 ? other === word : other.startsWith(stem))
  const mentions = splitWords(entry.text).filter(isForm).length
  const score =
    (splitWords(entry.title).some(isForm) ? 2 * MAX_MENTIONS : 0) +
    (splitWords(pageTitle).some(isForm) ? MAX_MENTIONS : 0) +
    Math.min(mentions, MAX_MENTIONS)
  const at = entry.text.toLowerCase().indexOf(stem)
  const isInside = at >= 0 || entry.title.toLowerCase().includes(word)
  return { score: score || (isInside ? 0.1 : 0), at: at < 0 ? Infinity : at }
}

/** The words of a text, without those of a sentence around them, if there are others: "delete account" of "how do I delete my account". */
function wantedWords(text: string): string[] {
  const words = splitWords(text)
  const wanted = words.filter((word) => !STOP_WORDS.has(word))
  return wanted.length > 0 ? wanted : words
}

function splitWords(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []
}

/** The text around a place, cut at spaces. */
function excerpt(text: string, at: number): string {
  const start = at < EXCERPT_LENGTH / 2 ? 0 : text.indexOf(' ', at - EXCERPT_LENGTH / 2) + 1
  const end =
    text.length - start <= EXCERPT_LENGTH ? text.length : text.lastIndexOf(' ', start + EXCERPT_LENGTH)
  return `${start > 0 ? '… ' : ''}${text.slice(start, end)}${end < text.length ? ' …' : ''}`
}
