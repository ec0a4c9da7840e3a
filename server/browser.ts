/** Browsers by what only they say; those that also say what others do come first. */
const BROWSERS: readonly [name: string, mark: RegExp][] = [
  ['Edge', /\b(Edg|EdgA|EdgiOS)\//],
  ['Opera', /\b(OPR|OPT|Opera)\//],
  ['Vivaldi', /\bVivaldi\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\b(Firefox|FxiOS)\//],
  ['Chrome', /\b(HeadlessChrome|Chrome|CriOS|Chromium)\//],
  ['Safari', /\bVersion\/[\d.]+ .*\bSafari\//],
  ['curl', /^curl\//],
]

const SYSTEMS: readonly [name: string, mark: RegExp][] = [
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMacintosh\b/],
  ['Linux', /\bLinux\b/],
]

const MOST_CHARACTERS = 512

/** What a User-Agent says in words of ours, such as "Firefox on Windows"; null when it is none that we know. */
export function browserOf(userAgent: string | undefined): string | null {
  const said = userAgent?.slice(0, MOST_CHARACTERS) ?? ''
  const [browser, system] = [BROWSERS, SYSTEMS].map((table) => table.find(([, mark]) => mark.test(said))?.[0])
  if (browser === undefined) return system === undefined ? null : `A browser on ${system}`
  return system === undefined ? browser : `${browser} on ${system}`
}
