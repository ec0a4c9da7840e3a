import { browser, tab } from '../api/browser-storage.ts'

/** An emailed code that is still valid. */
export interface MailedCode {
  email: string
  /** Milliseconds since 1970, by this machine's clock. */
  until: number
  /** The server's token of the attempt; it is sent with the code. */
  attempt: string | undefined
}

/** Session storage key: a phone may drop the page while the user reads mail. */
const NAME = 'slipway.code-sent'

/** Local storage key. */
const LINK_NAME = 'slipway.code-requested'

/** The code requested by this tab, for this address if one is given. */
export function mailedCode(email?: string): MailedCode | undefined {
  const code = parse(tab.read(NAME))
  return code && code.until > Date.now() && (email === undefined || code.email === email) ? code : undefined
}

export function rememberMailedCode(code: MailedCode | undefined): void {
  tab.write(NAME, code === undefined ? null : JSON.stringify(code))
  browser.write(LINK_NAME, code === undefined ? null : JSON.stringify({ ...code, page: currentPage() }))
}

/**
 * The code that this browser requested last, in any tab: the link in its email opens a tab of its own. `page` is the
 * one that the user signs in for.
 */
export function requestedCode(): (MailedCode & { page: string | undefined }) | undefined {
  const text = browser.read(LINK_NAME)
  const code = parse(text)
  if (!code || code.until <= Date.now()) return undefined
  const { page } = JSON.parse(text!) as { page?: unknown }
  return { ...code, page: typeof page === 'string' ? page : undefined }
}

/** The code in the fragment of a link from an email. */
export function codeOfLink(hash: string): string | undefined {
  return hash.startsWith('#code=') ? findCode(hash.slice('#code='.length)) : undefined
}

function currentPage(): string {
  const { pathname, search } = location
  return (pathname === '/sign-in' && new URLSearchParams(search).get('then')) || pathname + search
}

/** The characters of codes: without 0, O, 1 and I. */
const CHARACTER = '[2-9A-HJ-NP-Z]'
const AMONG_WORDS = new RegExp(`(?<![\\w-])${CHARACTER}{4}-${CHARACTER}{4}(?![\\w-])`, 'i')
const WHOLE = new RegExp(`^${CHARACTER}{8}$`, 'i')

/** The code in typed or pasted text, normalized; undefined while it is incomplete. */
export function findCode(typed: string): string | undefined {
  const text = typed.normalize('NFKC')
  const found = AMONG_WORDS.exec(text)?.[0] ?? text
  const bare = found.replace(/[\s\p{Pd}]/gu, '').toUpperCase()
  return WHOLE.test(bare) ? `${bare.slice(0, 4)}-${bare.slice(4)}` : undefined
}

function parse(text: string | null): MailedCode | undefined {
  try {
    const { email, until, attempt } = JSON.parse(text ?? '{}') as Partial<MailedCode>
    return typeof email === 'string' && typeof until === 'number' ? { email, until, attempt } : undefined
  } catch {
    return undefined
  }
}
