import { tab } from '../api/browser-storage.ts'

/** A code that was mailed, while it works. */
export interface MailedCode {
  email: string
  /** Milliseconds since 1970, by this machine's clock. */
  until: number
}

/** Where the tab remembers it: a phone may drop the page while its owner reads the mail. */
const NAME = 'slipway.code-sent'

/** The code that this tab had mailed, to this address if one is given. */
export function mailedCode(email?: string): MailedCode | undefined {
  const code = parse(tab.read(NAME))
  return code && code.until > Date.now() && (email === undefined || code.email === email) ? code : undefined
}

export function rememberMailedCode(code: MailedCode | undefined): void {
  tab.write(NAME, code === undefined ? null : JSON.stringify(code))
}

/** The characters of codes: without 0, O, 1 and I. */
const CHARACTER = '[2-9A-HJ-NP-Z]'
const AMONG_WORDS = new RegExp(`(?<![\\w-])${CHARACTER}{4}-${CHARACTER}{4}(?![\\w-])`, 'i')
const WHOLE = new RegExp(`^${CHARACTER}{8}$`, 'i')

/** The code in what was written or pasted, as it was mailed; undefined while there is none. */
export function codeIn(text: string): string | undefined {
  const found = AMONG_WORDS.exec(text)?.[0] ?? text
  const bare = found.replace(/[\s\p{Pd}]/gu, '').toUpperCase()
  return WHOLE.test(bare) ? `${bare.slice(0, 4)}-${bare.slice(4)}` : undefined
}

function parse(text: string | null): MailedCode | undefined {
  try {
    const { email, until } = JSON.parse(text ?? '{}') as Partial<MailedCode>
    return typeof email === 'string' && typeof until === 'number' ? { email, until } : undefined
  } catch {
    return undefined
  }
}
