import { readFileSync } from 'node:fs'

const TOKENS_FILE = new URL('../../../../dashboard/style/tokens.css', import.meta.url)

const USED = new Set(
  [
    'ground',
    'surface',
    'sunken',
    'ink',
    'quiet',
    'line',
    'edge',
    'accent',
    'accent-strong',
    'on-accent',
    'wrong',
  ]
    .concat('radius', 'radius-large')
    .map((name) => `--${name}`),
)

/** The values of the dashboard. The typeface is not loaded: visitors who have it installed see it. */
export const THEME = `
${readTokens(readFileSync(TOKENS_FILE, 'utf8'))}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:1rem/1.5 Inter,system-ui,sans-serif}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
`

/** In the file, those of the dark color scheme are the last rule. */
function readTokens(css: string): string {
  const [light = '', dark = ''] = css.split('@media (prefers-color-scheme: dark)')
  return `:root{color-scheme:light dark;${pickUsed(light)}}
@media (prefers-color-scheme:dark){:root{${pickUsed(dark)}}}`
}

function pickUsed(css: string): string {
  return [...css.matchAll(/^ +(--[\w-]+): (.+);$/gm)]
    .filter(([, name]) => USED.has(name!))
    .map(([, name, value]) => `${name}:${value}`)
    .join(';')
}
