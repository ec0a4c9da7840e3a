/** Browsers by their distinctive token; those whose User-Agent also contains another browser's token come first. */
const BROWSER_PATTERNS: readonly [name: string, mark: RegExp][] = [
  ['Edge', /\b(Edg|EdgA|EdgiOS)\//],
  ['Opera', /\b(OPR|OPT|Opera)\//],
  ['Vivaldi', /\bVivaldi\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\b(Firefox|FxiOS)\//],
  ['Chrome', /\b(HeadlessChrome|Chrome|CriOS|Chromium)\//],
  ['Safari', /\bVersion\/[\d.]+ .*\bSafari\//],
  ['curl', /^curl\//],
]

const SYSTEM_PATTERNS: readonly [name: string, mark: RegExp][] = [
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMacintosh\b/],
  ['Linux', /\bLinux\b/],
]

const MAX_USER_AGENT_LENGTH = 512

/** For example "Firefox on Windows"; null when it is unknown. */
export function describeUserAgent(userAgent: string | undefined): string | null {
  const header = userAgent?.slice(0, MAX_USER_AGENT_LENGTH) ?? ''
  const [browser, system] = [BROWSER_PATTERNS, SYSTEM_PATTERNS].map(
    (table) => table.find(([, mark]) => mark.test(header))?.[0],
  )
  if (browser === undefined) return system === undefined ? null : `A browser on ${system}`
  return system === undefined ? browser : `${browser} on ${system}`
}
