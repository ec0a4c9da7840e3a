import { memoize } from '../../../lib/memoize.ts'
import { MAX_HEADER_CHARACTERS, parseWeights } from '../negotiation.ts'
import { CHINESE } from './languages/chinese.ts'
import { DUTCH } from './languages/dutch.ts'
import { ENGLISH, type VisitorTexts } from './languages/english.ts'
import { FRENCH } from './languages/french.ts'
import { GERMAN } from './languages/german.ts'
import { ITALIAN } from './languages/italian.ts'
import { JAPANESE } from './languages/japanese.ts'
import { POLISH } from './languages/polish.ts'
import { PORTUGUESE } from './languages/portuguese.ts'
import { SPANISH } from './languages/spanish.ts'

/** Primary language subtags (RFC 5646, 2.2.1). */
export type Language = 'en' | 'de' | 'fr' | 'es' | 'it' | 'pt' | 'nl' | 'pl' | 'ja' | 'zh'

export const TEXTS: Readonly<Record<Language, VisitorTexts>> = {
  en: ENGLISH,
  de: GERMAN,
  fr: FRENCH,
  es: SPANISH,
  it: ITALIAN,
  pt: PORTUGUESE,
  nl: DUTCH,
  pl: POLISH,
  ja: JAPANESE,
  zh: CHINESE,
}

const DEFAULT_LANGUAGE = 'en'

/** Browsers send the languages of their settings: a few hundred values cover most visitors. */
const MEMO_BOUNDS = { maxEntries: 500, maxKeyLength: 200 }

/** By weight and primary subtag (RFC 9110, 12.5.4); English if none is available, and beyond 1,000 characters. */
export const negotiateLanguage = memoize((header): Language => {
  if (header.length > MAX_HEADER_CHARACTERS) return DEFAULT_LANGUAGE
  let best: Language = DEFAULT_LANGUAGE
  let highest = 0
  for (const [range, weight] of parseWeights(header)) {
    const subtag = range.split('-', 1)[0]!
    const language = subtag === '*' ? DEFAULT_LANGUAGE : subtag
    if (weight <= highest || !Object.hasOwn(TEXTS, language)) continue
    best = language as Language
    highest = weight
  }
  return best
}, MEMO_BOUNDS)
